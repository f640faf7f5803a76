"""Ingests of small to large text by whole processes, against pyarrow with Parquet.

Small text is read without compiled loops, which take longer to import than it takes to read; larger
text by them.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.processes import children_seconds, run_python

_SIZES = ((2, ">= 0.5"), (36, ">= 1.0"), (360, ">= 1.5"))
"""Megabytes of text, and what the speed should be in those of the peer."""
_ROUNDS = 5
_PEER = "pyarrow.csv on one thread + write_table, a process"
_SCRIPT = """
import sys
import pyarrow
pyarrow.set_cpu_count(1)
from pyarrow.csv import ReadOptions, read_csv
from pyarrow.parquet import write_table
write_table(read_csv(sys.argv[1], ReadOptions(use_threads=False)), sys.argv[2])
"""


def whole_ingests(folder: Path, what: str, text: tuple[str, str], megabytes: float) -> list[Figure]:
    """Return megabytes per processor second of ingests up to so many `megabytes` of text.

    Parameters
    ----------
    folder : Path
        For what is read and written.
    what : str
        What the columns are.
    text : tuple of str
        Header, and rows that are repeated or cut as needed.
    megabytes : float
    """
    figures: list[Figure] = []
    for size, target in _SIZES:
        if size <= megabytes:
            source = folder / f"{size}.csv"
            write_text(source, text, size)
            figures += compare(
                _contestants(source, f"{what}, {size} MB", target),
                "MB/s",
                _ROUNDS,
                children_seconds,
            )
            source.unlink()
    return figures


def write_text(path: Path, text: tuple[str, str], megabytes: float) -> None:
    """Write a header and whole rows, `megabytes` of them."""
    head, rows = text
    remaining = round(megabytes * 1e6) - len(head)
    with path.open("w") as file:
        file.write(head)
        for _ in range(remaining // len(rows)):
            file.write(rows)
        file.write(
            rows[: rows.rindex("\n", 0, max(remaining % len(rows), rows.index("\n") + 1)) + 1]
        )


def _contestants(source: Path, what: str, target: str) -> Sequence[Contestant]:
    folder = source.parent
    megabytes = source.stat().st_size / 1e6
    dest = folder / "whole"
    parquet = folder / "whole.parquet"
    peer = f"{_PEER}, {what}"

    def prepare() -> None:
        shutil.rmtree(dest, ignore_errors=True)

    def by_pyarrow(_: object) -> None:
        run_python(folder, ["-c", _SCRIPT, str(source), str(parquet)])

    def by_ingest(_: object) -> None:
        run_python(folder, ["-m", "olscale", "ingest", str(source), str(dest)])

    return [
        Contestant(peer, by_pyarrow, megabytes, prepare),
        Contestant(
            f"olscale ingest, a process, {what}",
            by_ingest,
            megabytes,
            prepare,
            peer,
            target,
        ),
    ]
