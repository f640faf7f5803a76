"""How the compiled loops over cells of tables treat a column, for those who call them.

They stand apart from the loops so that they can be known without importing numba.
"""

NUMBER, TARGET, TEXT, SKIP, EMPTY = range(5)
"""Treatments of a column: a number, a required number, text, skipped, and required to be empty."""

MOST_HARD = 4096
"""Numbers per call that may be left to ``float``, in addition to those of its last row."""
