"""Learners that keep rows and predict by the nearest of them."""
