"""The arrays of a calibrator: their sizes and places, known without importing its compiled loop."""

SLOPE, CURVATURE, LOG_SPREADS, SPREADS, WEIGHTS, ROWS = range(6)
"""Places in the array `numbers`."""

NODES = 64
"""Nodes of the corrections, over the logarithm of the odds."""
