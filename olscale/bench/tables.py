"""Tables: whole ingests, from text files to datasets, against pyarrow and pandas with Parquet.

An ingest parses, hashes the source and the rows, and writes chunks with checksums; the peers parse
and write. Processes of their own, start included, read text of several sizes, by compiled loops
whose bare machine code they load without numba.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.other_learners import missing
from olscale.bench.processes import children_seconds, run_python
from olscale.data.ingest.ingest import ingest

MEGABYTES = 500
_NARROW_ROW = 165
_CELLS = 1_000_000  # that differ: more than a compressor or a dictionary looks back
_ROUNDS = 3
_PYARROW = "pyarrow.csv on one thread + write_table"
_PANDAS = "pandas C engine on one thread + to_parquet"
_WORDS = (
    ("tcp", "udp", "icmp"),
    ("http", "smtp", "private", "ecr_i", "domain_u", "other"),
    ("SF", "S0", "REJ", "RSTR"),
)


def text_of_numbers(columns: int, rows: int, seed: int = 0) -> tuple[str, str]:
    r"""Return a header and rows of `columns` columns: doubles as Python writes them, and a class.

    Examples
    --------
    >>> head, rows = text_of_numbers(3, 100)
    >>> head, rows.splitlines()[0]
    ('x0,x1,class\n', '0.1257302210933933,-0.1321048632913019,0')
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns - 1)).tolist()
    names = [*(f"x{i}" for i in range(columns - 1)), "class"]
    return _lines([",".join(names)]), _lines(
        [",".join([*map(repr, row), str(i % 2)]) for i, row in enumerate(X)]
    )


def text_like_kdd99(rows: int, seed: int = 0) -> tuple[str, str]:
    """Return a header and rows like the KDD Cup's of 1999: counts, rates, categories, gaps."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        # Most counts and rates of such rows are 0.
        amounts = rng.pareto(0.5, 22) % 50_000 * (rng.random(22) < 0.3)
        counts = [str(int(value)) for value in amounts]
        shares = rng.random(15).round(2) * (rng.random(15) < 0.5)
        rates = [f"{value:.2f}" for value in shares]
        words = [str(rng.choice(choices)) for choices in _WORDS]
        cells = [
            "" if absent else cell
            for cell, absent in zip(
                words + counts + rates, rng.random(40) < 0.01, strict=True
            )
        ]
        lines.append(
            ",".join([*cells, f"{rng.choice(['normal', 'smurf', 'neptune', 'back'])}."])
        )
    names = [*(f"x{i}" for i in range(40)), "class"]
    return _lines([",".join(names)]), _lines(lines)


def arff_text(head: str) -> str:
    r"""Return the declarations of a table of numbers whose header in CSV is `head`.

    Examples
    --------
    >>> print(arff_text("x0,class\n"), end="")
    @relation rows
    @attribute x0 numeric
    @attribute class numeric
    @data
    """
    names = head.strip().split(",")
    return _lines(
        ["@relation rows", *(f"@attribute {name} numeric" for name in names), "@data"]
    )


def figures(rows: int | None = None) -> list[Figure]:
    """Return the speed of ingests of 500 MB, or of as much as `rows` rows of nine columns."""
    megabytes = MEGABYTES if rows is None else rows * _NARROW_ROW / 1e6
    results = missing(_PANDAS, "pandas")
    with_pandas = not results
    with (
        tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder,
        _one_thread_of_arrow(),
    ):
        for what, text, target in (
            ("9 columns", text_of_numbers(9, _CELLS // 9), ">= 0.8"),
            ("257 columns", text_of_numbers(257, _CELLS // 257), ">= 0.8"),
            ("like kdd99", text_like_kdd99(_CELLS // 41), ">= 0.5"),
        ):
            with_arff = what == "9 columns"
            results += _table(
                what,
                Path(folder),
                text,
                megabytes,
                target,
                arff=with_arff,
                pandas=with_pandas,
            )
            if what != "257 columns":
                results += whole_ingests(Path(folder), what, text, megabytes)
    return results


@contextmanager
def _one_thread_of_arrow() -> Iterator[None]:
    """Keep to one thread what Arrow does for pandas, and for our own ingest."""
    before = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        yield
    finally:
        pa.set_cpu_count(before)


def _table(
    what: str,
    folder: Path,
    text: tuple[str, str],
    megabytes: float,
    target: str,
    *,
    arff: bool,
    pandas: bool,
) -> list[Figure]:
    head, rows = text
    source, dest, parquet = (
        folder / f"rows{suffix}" for suffix in (".csv", "", ".parquet")
    )
    _write(source, head, rows, megabytes)
    size = source.stat().st_size / 1e6

    def contestant(
        name: str,
        run: Callable[..., object],
        *paths: Path,
        peer: str = "",
        target: str = "",
    ) -> Contestant:
        return Contestant(
            f"{name}, {what}",
            lambda _: run(*paths),
            size,
            prepare,
            f"{peer}, {what}" * bool(peer),
            target,
        )

    # Ingest refuses a destination that exists.
    def prepare() -> None:
        shutil.rmtree(dest, ignore_errors=True)

    contestants = [
        contestant(_PYARROW, _by_pyarrow, source, parquet),
        contestant("ingest CSV", ingest, source, dest, peer=_PYARROW, target=target),
    ]
    if pandas:
        contestants += [
            contestant(_PANDAS, _by_pandas, source, parquet),
            contestant(
                "ingest CSV beside pandas",
                ingest,
                source,
                dest,
                peer=_PANDAS,
                target=">= 1.0",
            ),
        ]
    if arff:
        arff_file = folder / "rows.arff"
        _write(arff_file, arff_text(head), rows, megabytes)
        contestants.append(
            contestant(
                "ingest ARFF",
                ingest,
                arff_file,
                dest,
                peer="ingest CSV",
                target=">= 0.67",
            )
        )
    results = compare(contestants, "MB/s", _ROUNDS, perf_counter)
    small = folder / "small.csv"
    small.write_text(head + rows[: rows.index("\n", len(rows) // 2) + 1])
    # What a process takes for a small table is code and buffers.
    peak = _peak(source, dest) - _peak(small, dest)
    results.append(
        Figure(
            f"memory of the ingest, {what}",
            peak,
            "MB",
            note=f"beyond that of a small table; {size:.0f} MB of text",
        )
    )
    # The next table needs the space.
    for path in folder.glob("rows.*"):
        path.unlink()
    return results


def _by_pyarrow(source: Path, parquet: Path) -> None:
    from pyarrow.csv import ReadOptions, read_csv
    from pyarrow.parquet import write_table

    write_table(read_csv(source, ReadOptions(use_threads=False)), parquet)


def _by_pandas(source: Path, parquet: Path) -> None:
    import pandas

    pandas.read_csv(source, engine="c").to_parquet(parquet)


def _peak(source: Path, dest: Path) -> float:
    """Return the most resident megabytes of a process that ingests `source` (Linux)."""
    # A fresh process: peaks never fall, so this one's would hide it.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_ingest_and_tell, source, dest).result()


def _ingest_and_tell(source: Path, dest: Path) -> float:
    shutil.rmtree(dest, ignore_errors=True)
    ingest(source, dest)
    # Not what getrusage says: that is no less than the parent had.
    lines = Path("/proc/self/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(kilobytes) / 1e3


def _write(path: Path, head: str, rows: str, megabytes: float) -> None:
    """Write `head`, and `rows` over and over."""
    with path.open("w") as file:
        file.write(head)
        for _ in range(max(1, round(megabytes * 1e6 / len(rows)))):
            file.write(rows)


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


_SIZES = ((2, ">= 0.5"), (36, ">= 1.0"), (360, ">= 1.5"))
"""Megabytes of text, and what the speed should be in those of the peer."""
_PROCESS_ROUNDS = 5
_PROCESS_PEER = "pyarrow.csv on one thread + write_table, a process"
_SCRIPT = """
import sys
import pyarrow
pyarrow.set_cpu_count(1)
from pyarrow.csv import ReadOptions, read_csv
from pyarrow.parquet import write_table
write_table(read_csv(sys.argv[1], ReadOptions(use_threads=False)), sys.argv[2])
"""


def whole_ingests(
    folder: Path, what: str, text: tuple[str, str], megabytes: float
) -> list[Figure]:
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
                _process_contestants(source, f"{what}, {size} MB", target),
                "MB/s",
                _PROCESS_ROUNDS,
                children_seconds,
            )
            # Files of 360 MB must not add up.
            source.unlink()
    return figures


def write_text(path: Path, text: tuple[str, str], megabytes: float) -> None:
    """Write a header and whole rows, `megabytes` of them."""
    head, rows = text
    # By bytes, not rows: sizes are what the targets speak of.
    remaining = round(megabytes * 1e6) - len(head)
    with path.open("w") as file:
        file.write(head)
        for _ in range(remaining // len(rows)):
            file.write(rows)
        # The last part ends with a whole row, and has at least one.
        least = rows.index("\n") + 1
        end = rows.rindex("\n", 0, max(remaining % len(rows), least))
        file.write(rows[: end + 1])


def _process_contestants(source: Path, what: str, target: str) -> Sequence[Contestant]:
    folder = source.parent
    megabytes = source.stat().st_size / 1e6
    dest = folder / "whole"
    parquet = folder / "whole.parquet"
    peer = f"{_PROCESS_PEER}, {what}"

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
