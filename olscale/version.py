"""The version of olscale."""

__version__ = "0.3.0"
