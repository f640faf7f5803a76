"""Learners of the distribution of the features in each class."""
