"""Text sources: a file, a member of an archive, or a pair of files of features and labels.

UCI publishes some sets as ``dexter_train.data`` (rows without labels, as a table or as
``index:value`` pairs) and ``dexter_train.labels`` (a label per line). Such a pair is read as one
text with the label before each row, as the table and SVMlight formats expect.
"""

import codecs
import io
from collections.abc import Iterator
from typing import Any

from olscale.data.formats.compression import open_source, strip_compression
from olscale.data.formats.lines import MAX_LINE, too_long
from olscale.data.formats.other_kinds import refuse_other_kinds
from olscale.errors import FormatError
from olscale.storage.clients import split_url

_FEATURES = ".data"
_LABELS = ".labels"
_HEAD_BYTES = 1 << 12
# Of fewer bytes a share of zeros says nothing.
_FEW_BYTES = 8


def labels_beside(source: str) -> str | None:
    """Return the file of labels that belongs to `source`, a file of features, or None."""
    for candidate in labels_names(source):
        fs, path = split_url(candidate)
        if fs.isfile(path):
            return candidate
    return None


def labels_names(source: str) -> list[str]:
    """Return the possible names of the file of labels of `source`; none for other endings.

    Examples
    --------
    >>> labels_names("arcene_train.data.gz")
    ['arcene_train.labels.gz', 'arcene_train.labels']
    """
    plain = strip_compression(source)
    if not plain.endswith(_FEATURES):
        return []
    stem = plain.removesuffix(_FEATURES)
    names = [
        f"{stem}{_LABELS}{source[len(plain) :]}",
        f"{stem}{_LABELS}",
        f"{stem}{_LABELS}.gz",
    ]
    return [*dict.fromkeys(names)]


def open_text(
    source: str,
    stream: io.BufferedReader | None = None,
    delimiter: str | None = None,
) -> io.BufferedReader:
    """Open text to read it from its first byte to its last.

    Parameters
    ----------
    source : str
        Local path or fsspec address; with `stream` only a name.
    stream : io.BufferedReader, optional
        The text itself.
    delimiter : str, optional
        For a table: the character between a label from the other file and its row; detected when
        left out.

    Returns
    -------
    io.BufferedReader
        The decompressed text; each row begins with its label if that comes from a file next to
        `source`.

    Raises
    ------
    FormatError
        When there is no such file, its text is UTF-16, or it begins as no rows do; while reading,
        when it is damaged or the numbers of rows and labels differ.
    """
    if stream is not None:
        return _checked(source, stream)
    opened = _checked(source, open_source(source))
    labels = labels_beside(source)
    if labels is None:
        return opened
    return io.BufferedReader(_Labelled(source, opened, labels, delimiter), 1 << 20)


def _checked(source: str, text: io.BufferedReader) -> io.BufferedReader:
    """Return `text`, unless it does not begin like text of rows."""
    head = text.peek(_HEAD_BYTES)
    try:
        _refuse_wide(source, head)
        refuse_other_kinds(source, head, guessed=False)
    except FormatError:
        text.close()
        raise
    return text


def _refuse_wide(source: str, head: bytes) -> None:
    """Refuse UTF-16, which spreadsheets write when asked for Unicode."""
    marked = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    halves = head[0::2], head[1::2]
    # Without a mark nearly every other byte is zero, and none in between.
    zeros = sorted(half.count(0) for half in halves)
    if marked or (
        len(head) > _FEW_BYTES and zeros[0] == 0 and zeros[1] > 0.9 * len(halves[1])
    ):
        # Its mark begins with that of UTF-16.
        name = "UTF-32" if head.startswith(codecs.BOM_UTF32_LE) else "UTF-16"
        cure = f"write it anew: iconv -f {name} -t UTF-8 FILE > NEW"
        raise FormatError(source, f"is {name} text, expected UTF-8; {cure}")


class _Labelled(io.RawIOBase):
    """The rows of one file, each preceded by its label from another file."""

    def __init__(
        self,
        source: str,
        rows: io.BufferedReader,
        labels: str,
        delimiter: str | None,
    ) -> None:
        self._rows = rows
        self._labels = open_source(labels)
        self._lines = _joined(
            source, rows, labels, self._labels, (delimiter or "").encode()
        )
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        # As much as fits: code that peeks at a text needs its first lines, not its first line.
        filled = 0
        while filled < len(buffer):
            if not self._rest:
                self._rest = next(self._lines, b"")
            part = self._rest[: len(buffer) - filled]
            if not part:
                break
            buffer[filled : filled + len(part)] = part
            filled += len(part)
            self._rest = self._rest[len(part) :]
        return filled

    def close(self) -> None:
        if not self.closed:
            self._rows.close()
            self._labels.close()
        super().close()


def _joined(
    source: str,
    rows: io.BufferedReader,
    labels: str,
    of: io.BufferedReader,
    separator: bytes,
) -> Iterator[bytes]:
    label_lines = (line.strip() for line in _lines(labels, of) if line.strip())
    pairs = False
    count = 0
    for row in _lines(source, rows):
        text = row.strip()
        if text and not separator:
            separator = next(
                (mark for mark in (b",", b"\t", b";") if mark in text), b" "
            )
            pairs = b":" in text
        # A blank line between pairs is a row of zeros.
        label: bytes | None = b""
        if text or pairs:
            label = next(label_lines, None)
        if label is None and text:
            raise FormatError(
                labels,
                f"ends after {count} labels but {source} goes on; expected a label for each row",
            )
        count += bool(label)
        # A blank line stays blank: errors count lines.
        yield label + separator + text + b"\n" if label else b"\n"
    if next(label_lines, None) is not None:
        raise FormatError(
            source,
            f"ends after {count} rows but {labels} goes on; expected a row for each label",
        )


def _lines(source: str, stream: io.BufferedReader) -> Iterator[bytes]:
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise too_long(source, number)
        yield line


def is_unicode(text: str) -> bool:
    r"""Return whether UTF-8 can write a text; it cannot write half of a surrogate pair.

    Examples
    --------
    >>> is_unicode("a"), is_unicode("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
