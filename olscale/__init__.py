"""olscale: evaluate single-pass learners at scale on Dask."""

__version__ = "0.1.0"
