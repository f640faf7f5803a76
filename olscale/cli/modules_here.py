"""Modules of the working directory."""

import sys
from pathlib import Path


def find_modules_here() -> None:
    """Let ``module:Class`` name a module in the working directory, as ``python -m`` does."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
