"""``python -m olscale`` and the ``olscale`` command."""

from olscale.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
