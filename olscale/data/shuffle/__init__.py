"""Rows in an order other than the file's, within a memory limit.

`ordered_rows` chooses the method. A split that fits is kept in memory (`in_memory`); rows in
ascending order are a `subset` of the file's; others go to the buckets of a scratch file
(`external`, `spill_file`).
"""
