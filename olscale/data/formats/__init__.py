"""Source formats: LIBSVM/SVMlight text, CSV, ARFF, IDX, NPZ, MAT, Parquet and scikit-learn's bundled sets.

Every format yields `Batch` objects in the order of its source and keeps no more than about one batch in memory (NPZ and
MAT decompress whole arrays). Text may be compressed with gzip, bzip2, xz or zstd and may be anywhere fsspec reaches.
"""

import io
from pathlib import PurePosixPath

from olscale.data.formats.base import Batch, Format, ReadOptions, split_fragment
from olscale.data.formats.compression import strip_compression
from olscale.data.formats.text import open_text
from olscale.errors import FormatError, NoRowsError
from olscale.registry import Registry

__all__ = [
    "FORMATS",
    "TABLE_FORMATS",
    "TEXT_FORMATS",
    "Batch",
    "Format",
    "ReadOptions",
    "find_format",
    "format_names",
    "known_suffixes",
    "splits_in",
]

# Guessing by content asks them in this order: those with a signature first, the most permissive last.
FORMATS: Registry[type[Format]] = Registry(
    "format",
    {
        "sklearn": "olscale.data.formats.sklearn:SklearnFormat",
        "idx": "olscale.data.formats.idx:IdxFormat",
        "npz": "olscale.data.formats.npz:NpzFormat",
        "mat": "olscale.data.formats.mat:MatFormat",
        "parquet": "olscale.data.formats.parquet:ParquetFormat",
        "arff": "olscale.data.formats.arff.format:ArffFormat",
        "svmlight": "olscale.data.formats.svmlight:SvmlightFormat",
        "tsv": "olscale.data.formats.csv:TsvFormat",
        "csv": "olscale.data.formats.csv:CsvFormat",
    },
)
TEXT_FORMATS = ("arff", "csv", "svmlight", "tsv")
"""Formats that read a stream from its first byte to its last; the others need a file of their own."""
TABLE_FORMATS = ("arff", "csv", "parquet", "tsv")
"""Formats that leave columns out themselves, before anything is encoded."""

_HEAD_BYTES = 1 << 16


def format_names() -> tuple[str, ...]:
    """Return the names that ``--format`` takes, sorted."""
    return tuple(sorted(FORMATS))


def known_suffixes() -> frozenset[str]:
    """Return the endings of file names that tell their format."""
    return frozenset(suffix for format in FORMATS.load_all() for suffix in format.suffixes)


def find_format(source: str, name: str | None = None, stream: io.BufferedReader | None = None) -> Format:
    """Return the format called `name`, or guess that of `source`.

    The guess goes by the file name's ending after that of the compression, then by the first decompressed bytes.

    Parameters
    ----------
    source : str
        Path, address or ``sklearn:NAME``.
    name : str, optional
        One of `format_names`.
    stream : io.BufferedReader, optional
        The content of a source that cannot be opened by its name, at its first byte, where it is left.

    Raises
    ------
    UnknownNameError
        When no format is called `name`.
    FormatError
        When `source` cannot be opened or looks like no format.

    Examples
    --------
    >>> find_format("sklearn:digits").name
    'sklearn'
    >>> find_format("rows.txt", "svmlight").name
    'svmlight'
    """
    if name is not None:
        return FORMATS.load(name)()
    path = source if source.startswith("sklearn:") or stream is not None else split_fragment(source)[0]
    suffix = PurePosixPath(strip_compression(path)).suffix.lower()
    formats = [format() for format in FORMATS.load_all()]
    for format in formats:
        if suffix in format.suffixes:
            return format
    head = b""
    if not source.startswith("sklearn:"):
        head = _head(path) if stream is None else stream.peek(_HEAD_BYTES)[:_HEAD_BYTES]
        if not head.strip():
            raise NoRowsError(source, f"no rows: the file {'has empty lines only' if head else 'is empty'}")
    for format in formats:
        if format.matches(source, head):
            return format
    if head.startswith(b"PK\x03\x04"):
        problem = "is a zip archive or a spreadsheet, which is not read; unpack it (or call it .zip), or save it as CSV"
        raise FormatError(source, problem)
    raise FormatError(source, f"looks like none of the formats {', '.join(format_names())}; name one with --format")


def splits_in(source: str, name: str | None = None) -> tuple[str, ...]:
    """Return the splits that one source itself holds.

    Parameters
    ----------
    source : str
        Path, address or ``sklearn:NAME``.
    name : str, optional
        Its format; guessed when left out.

    Returns
    -------
    tuple of str
        ``("train", "test")`` when a test split lies in the same source (read it as ``SOURCE#test``), else
        ``("train",)``.
    """
    return find_format(source, name).splits(source)


def _head(path: str) -> bytes:
    with open_text(path) as stream:
        return stream.read(_HEAD_BYTES)
