"""Kernel learners: support vectors with and without a budget, and features that stand for a kernel."""
