"""Source formats: text, tables, arrays, and scikit-learn's bundled sets.

Every format yields `Batch` objects in the order of its source and holds about one batch in memory
(NPZ and MAT decompress whole arrays). Text may be compressed with gzip, bzip2, xz or zstd and may
be anywhere fsspec reaches.
"""

import io
import re
from pathlib import PurePosixPath

from olscale.data.formats.base import Batch, Format, ReadOptions, split_fragment
from olscale.data.formats.compression import strip_compression
from olscale.data.formats.dialect import text_lines
from olscale.data.formats.lines import why_no_rows
from olscale.data.formats.other_kinds import refuse_other_kinds
from olscale.data.formats.text import open_text
from olscale.errors import FormatError, NoRowsError
from olscale.registry import Registry

__all__ = [
    "ENCODED_FORMATS",
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

# Guessing by content asks them in this order: those with a signature first, the most permissive
# last.
FORMATS: Registry[type[Format]] = Registry(
    "format",
    {
        "sklearn": "olscale.data.formats.sklearn:SklearnFormat",
        "idx": "olscale.data.formats.idx:IdxFormat",
        "npz": "olscale.data.formats.npz:NpzFormat",
        "mat": "olscale.data.formats.mat:MatFormat",
        "parquet": "olscale.data.formats.parquet:ParquetFormat",
        "arff": "olscale.data.formats.arff.format:ArffFormat",
        "jsonl": "olscale.data.formats.jsonl:JsonLinesFormat",
        "vw": "olscale.data.formats.vw:VwFormat",
        "svmlight": "olscale.data.formats.svmlight:SvmlightFormat",
        "tsv": "olscale.data.formats.csv:TsvFormat",
        "csv": "olscale.data.formats.csv:CsvFormat",
    },
)
TEXT_FORMATS = ("arff", "csv", "jsonl", "svmlight", "tsv", "vw")
"""Formats that read a stream from first to last byte; the others need a file of their own."""
TABLE_FORMATS = ("arff", "csv", "jsonl", "parquet", "tsv")
"""Formats that leave columns out themselves, before anything is encoded."""
ENCODED_FORMATS = (*TABLE_FORMATS, "vw")
"""Formats that take codings of features."""

# Text formats that take almost any text.
_PERMISSIVE = ("csv", "tsv")
_PAIRS = re.compile(r"\s*[-+\w.]+(?:\s+\d+:[-+\w.]+)+\s*(?:#.*)?")
_TIMES = re.compile(r"\s*[-+\w.]+(?:\s+\d\d?:\d\d)+\s*")
_HEAD_BYTES = 1 << 16


def format_names() -> tuple[str, ...]:
    """Return the names that ``--format`` takes, sorted."""
    return tuple(sorted(FORMATS))


def known_suffixes() -> frozenset[str]:
    """Return the endings of file names that identify a format."""
    return frozenset(
        suffix for format in FORMATS.load_all() for suffix in format.suffixes
    )


def find_format(
    source: str,
    name: str | None = None,
    stream: io.BufferedReader | None = None,
) -> Format:
    """Return the format called `name`, or guess that of `source`.

    The guess goes by the file name's ending after that of the compression, then by the first
    decompressed bytes.

    Parameters
    ----------
    source : str
        Path, address or ``sklearn:NAME``.
    name : str, optional
        One of `format_names`.
    stream : io.BufferedReader, optional
        The content of a source that cannot be opened by its name; its position, the first byte,
        does not change.

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
    path = source
    if not source.startswith("sklearn:") and stream is None:
        path = split_fragment(source)[0]
    suffix = PurePosixPath(strip_compression(path)).suffix.lower()
    formats = [format() for format in FORMATS.load_all()]
    for format in formats:
        if suffix in format.suffixes:
            _check_suffix(source, path, format, stream)
            return format
    head = b""
    if not source.startswith("sklearn:"):
        head = _head(path, stream)
        if (reason := why_no_rows(head)) is not None:
            raise NoRowsError(source, reason)
    # Text comes last: files that no other reader accepts might pass for a table.
    for format in formats:
        if format.name not in TEXT_FORMATS and format.matches(source, head):
            return format
    refuse_other_kinds(source, head, guessed=True)
    for format in formats:
        if format.name in TEXT_FORMATS and format.matches(source, head):
            return format
    if head.startswith(b"PK\x03\x04"):
        problem = (
            "is a zip archive or a spreadsheet, which is not read; unpack it (or call it "
            ".zip), or save it as CSV"
        )
        raise FormatError(source, problem)
    raise FormatError(
        source,
        f"looks like none of the formats {', '.join(format_names())}; name one with --format",
    )


def _check_suffix(
    source: str,
    path: str,
    format: Format,
    stream: io.BufferedReader | None,
) -> None:
    """Refuse text that is not of the format of its file name; a reader might not notice."""
    if format.name not in TEXT_FORMATS:
        return
    try:
        head = _head(path, stream)
    except FormatError:
        return  # its reader reports the problem
    refuse_other_kinds(source, head, guessed=True)
    if format.name not in _PERMISSIVE:
        return
    for name in TEXT_FORMATS:
        if name not in _PERMISSIVE and _is_text_of(name, source, head):
            raise FormatError(
                source,
                f"is {name} text, though its name says {format.name}; read it with --format "
                f"{name}, "
                f"or with --format {format.name} if it is a table",
            )


def _is_text_of(name: str, source: str, head: bytes) -> bool:
    """Return whether a table that begins with `head` looks like the text format `name`."""
    if name != "svmlight":
        return FORMATS.load(name)().matches(source, head)
    # The format's own guess is too lenient: it takes a table of times for pairs.
    lines = text_lines(head)
    pairs = bool(lines) and all(_PAIRS.fullmatch(line) for line in lines)
    return pairs and not all(_TIMES.fullmatch(line) for line in lines)


def splits_in(source: str, name: str | None = None) -> tuple[str, ...]:
    """Return the splits that a single source contains.

    Parameters
    ----------
    source : str
        Path, address or ``sklearn:NAME``.
    name : str, optional
        Its format; guessed when left out.

    Returns
    -------
    tuple of str
        ``("train", "test")`` when a test split lies in the same source (read it as
        ``SOURCE#test``), else ``("train",)``.
    """
    return find_format(source, name).splits(source)


def _head(path: str, stream: io.BufferedReader | None) -> bytes:
    """Return the first bytes of a file, or of `stream`, whose position does not change."""
    if stream is not None:
        return stream.peek(_HEAD_BYTES)[:_HEAD_BYTES]
    with open_text(path) as opened:
        return opened.read(_HEAD_BYTES)
