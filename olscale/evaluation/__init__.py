"""Experiments, their plans and runs, and the fold that a run is."""
