"""Learners of tables over cells of the feature space."""
