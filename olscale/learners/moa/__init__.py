"""Learners of MOA and CapyMOA, which run on the Java virtual machine of each process."""
