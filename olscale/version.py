"""The version of olscale."""

__version__ = "0.1.0"
