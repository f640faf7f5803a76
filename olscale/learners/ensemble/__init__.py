"""Learners that are mixtures of other learners."""
