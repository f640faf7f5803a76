"""Source formats: LIBSVM/SVMlight text, CSV, ARFF, IDX, NPZ, MAT, Parquet and scikit-learn's bundled sets.

Every format yields `Batch` objects in the order of its source and keeps no more than about one batch in memory (NPZ and
MAT decompress whole arrays). Text may be compressed with gzip, bzip2, xz or zstd and may be anywhere fsspec reaches.
"""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import PurePosixPath
from typing import cast

from olscale.data.formats.base import Batch, Format, ReadOptions, split_fragment
from olscale.data.formats.compression import strip_compression
from olscale.data.formats.text import open_text
from olscale.errors import FormatError, UnknownNameError

__all__ = [
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
_REGISTRY = {
    "sklearn": "sklearn:SklearnFormat",
    "idx": "idx:IdxFormat",
    "npz": "npz:NpzFormat",
    "mat": "mat:MatFormat",
    "parquet": "parquet:ParquetFormat",
    "arff": "arff:ArffFormat",
    "svmlight": "svmlight:SvmlightFormat",
    "tsv": "csv:TsvFormat",
    "csv": "csv:CsvFormat",
}
TEXT_FORMATS = ("arff", "csv", "svmlight", "tsv")
"""Formats that read a stream from its first byte to its last; the others need a file of their own."""
TABLE_FORMATS = ("arff", "csv", "parquet", "tsv")
"""Formats that leave columns out themselves, before anything is encoded."""

_HEAD_BYTES = 1 << 16


def format_names() -> tuple[str, ...]:
    """Return the names that ``--format`` takes, sorted."""
    return tuple(sorted(_REGISTRY))


def known_suffixes() -> frozenset[str]:
    """Return the endings of file names that tell their format."""
    return frozenset(suffix for name in _REGISTRY for suffix in _load(name).suffixes)


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
        if name not in _REGISTRY:
            raise UnknownNameError("format", name, _REGISTRY)
        return _load(name)
    path = source if source.startswith("sklearn:") or stream is not None else split_fragment(source)[0]
    suffix = PurePosixPath(strip_compression(path)).suffix.lower()
    formats = [_load(known) for known in _REGISTRY]
    for format in formats:
        if suffix in format.suffixes:
            return format
    head = b""
    if not source.startswith("sklearn:"):
        head = _head(path) if stream is None else stream.peek(_HEAD_BYTES)[:_HEAD_BYTES]
        if not head.strip():
            raise FormatError(source, "no rows: the file is empty")
    for format in formats:
        if format.matches(source, head):
            return format
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


def _load(name: str) -> Format:
    module, _, attribute = _REGISTRY[name].partition(":")
    return cast(Format, getattr(import_module(f"{__name__}.{module}"), attribute)())
