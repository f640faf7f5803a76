"""Compiled loops: the decorator, row products and updates, and vector code.

The rows are dense or CSR. This package is a layer below `olscale.data`.
"""
