"""Rows in an order other than the file's, within a limit of memory.

`ordered_rows` chooses the way. Rows that fit are `held` in memory, `packed`; rows in ascending order are picked from the
file; others are `scattered` into `buckets` of a scratch file, by way of `slots` in memory.
"""

from __future__ import annotations

from olscale.data.shuffle.subset import OrderedRows, ordered_rows

__all__ = ["OrderedRows", "ordered_rows"]
