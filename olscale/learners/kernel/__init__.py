"""Kernel learners: support vectors with or without a budget, and approximate kernel features."""
