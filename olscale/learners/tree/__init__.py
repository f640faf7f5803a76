"""Learners that cut the space of features into leaves."""
