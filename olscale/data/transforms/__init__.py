"""Transforms of rows: fitted on the training split only, applied chunk by chunk, named in the run's id.

A transform is one class and one line in `olscale.data.transforms.pipeline`; the parameters of its
constructor are those it has in experiments.
"""
