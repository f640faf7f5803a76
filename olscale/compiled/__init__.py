"""Compiled loops: the decorator, products and updates on dense or CSR rows, and vector code. Below `olscale.data`."""
