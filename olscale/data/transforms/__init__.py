"""Transforms of rows: fitted on the training split only, applied per chunk, part of the run id.

A transform is one class and one line in `olscale.data.transforms.pipeline`; the parameters of its
constructor are its parameters in experiments.
"""
