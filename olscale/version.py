"""The version of olscale."""

__version__ = "0.2.0"
