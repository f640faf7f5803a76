"""Learners of Vowpal Wabbit, which run in this process and are fed without text."""
