"""The command ``python -m tests.chaos``; see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos import run_chaos


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description="Kill processes of evaluations at random; exit 1 where it shows.",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        help="how long processes are hit (default: 10)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="which processes are hit when"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="olscale-chaos-") as folder:
        report = run_chaos(60 * given.minutes, Path(folder), given.seed)
    print("\n".join(report.lines()))
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
