"""Text in blocks of whole lines, read only up to a limit of bytes per line.

Compiled loops parse a block in place; code that needs lines as Python strings iterates over the
same blocks. Both move one cursor, so that they can take turns.
"""

import io
from collections.abc import Iterator

from olscale.errors import FormatError

MAX_LINE = 64 << 20
"""Bytes of a line, or of a row of several lines: ten times the longest row of known data sets."""

MAX_CELLS = 4_000_000
"""Cells of a row of a table: as text in memory each takes twenty times its size in a file."""

BLOCK_BYTES = 1 << 20
"""Bytes of text parsed at a time."""

ROOM_BYTES = 32
"""Bytes after the text of a block, which compiled loops read in one step.

See `olscale.compiled.byte_words`.
"""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def why_no_rows(head: bytes) -> str | None:
    r"""Return why a text that begins with `head` has no rows, or None where it may have some.

    Examples
    --------
    >>> why_no_rows(b""), why_no_rows(b"\n\n"), why_no_rows(b"1,2")
    ('no rows: the file is empty', 'no rows: the file has empty lines only', None)
    """
    text = head.removeprefix(_BYTE_ORDER_MARK)
    if text.strip():
        return None
    return f"no rows: the file {'has empty lines only' if text else 'is empty'}"


def too_long(source: str, line: int) -> FormatError:
    """Return the error for a line beyond the limit."""
    return FormatError(
        source,
        f"the line is longer than {MAX_LINE >> 20} MiB, the most that is read; is a line break "
        "missing?",
        line,
    )


def cells_problem(error: Exception) -> str:
    """Return why Python's csv cannot split a line."""
    if "field limit" in str(error):
        return (
            "a cell is longer than 131,072 characters, the most that is read; is a quote not "
            "closed?"
        )
    return f"cannot be split into cells ({error})"


class TextBlocks:
    """The text of a stream, a block of whole lines at a time.

    Parameters
    ----------
    source : str
        Named in errors.
    stream : io.BufferedReader
    block_bytes : int, optional
        Bytes per block, `BLOCK_BYTES` when left out, more if a line is longer.
    returns : bool
        Whether a carriage return alone ends a line too.

    Attributes
    ----------
    buffer : bytearray
        Reused for every block.
    pos, stop : int
        The next byte, and the end of the whole lines, in `buffer`.
    line : int
        Lines before `pos`; code that moves `pos` must update it.
    ended : bool
        Whether all that is left of the text is in `buffer`.
    """

    def __init__(
        self,
        source: str,
        stream: io.BufferedReader,
        block_bytes: int | None = None,
        *,
        returns: bool = False,
    ) -> None:
        self.buffer = bytearray((block_bytes or BLOCK_BYTES) + ROOM_BYTES)
        self.pos = self.stop = self.line = 0
        self.source = source
        self._stream = stream
        self._returns = returns
        self._filled = 0
        self._begun = False
        self.ended = False
        self._newline = -1
        self._plain: bool | None = None

    def fill(self) -> bool:
        """Read on if no whole line is left; return whether there is one now.

        A last line without an end gets one: ``buffer[stop - 1]`` is a newline (or, with `returns`,
        a return).
        """
        while self.pos >= self.stop:
            if self.ended:
                return False
            # The begin of a line whose end is still to come.
            self.buffer[: self._filled - self.pos] = self.buffer[
                self.pos : self._filled
            ]
            self._filled -= self.pos
            self.pos = self.stop = 0
            self._plain = None
            self._newline = -1
            self._read()
        return True

    def is_plain(self) -> bool:
        """Return whether the lines from `pos` on are UTF-8 text that ends in a newline."""
        if self._plain is None:
            block = self.buffer[self.pos : self.stop]
            # Most text is ASCII, which is found out faster than text is decoded.
            self._plain = block.endswith(b"\n") and (block.isascii() or _is_text(block))
        return self._plain

    def _read(self) -> None:
        if self._filled == len(self.buffer) - ROOM_BYTES:
            if self._filled > MAX_LINE:
                raise too_long(self.source, self.line + 1)
            # For a line longer than the buffer. A new buffer, since a parser may still use the old
            # one.
            self.buffer = self.buffer + bytearray(min(len(self.buffer), MAX_LINE + 1))
        with memoryview(self.buffer) as view:
            while self._filled < len(view) - ROOM_BYTES:
                got = self._stream.readinto(view[self._filled : -ROOM_BYTES])
                self._filled += got
                if not got:
                    self.ended = True
                    break
        if not self._begun and self.buffer.startswith(_BYTE_ORDER_MARK):
            self.pos = len(_BYTE_ORDER_MARK)
        self._begun = True
        if self.ended:
            self.stop = self._filled
            if self.stop > self.pos and self.buffer[self.stop - 1] != ord("\n"):
                self.buffer[self.stop] = ord("\n")
                self.stop += 1
            return
        self.stop = self.buffer.rfind(b"\n", self.pos, self._filled) + 1
        # not the last byte, which may be half of a line end
        if not self.stop and self._returns:
            self.stop = self.buffer.rfind(b"\r", self.pos, self._filled - 1) + 1

    def peek_line(self) -> bytes:
        """Return the next line as `next_line` does, without consuming it."""
        if not self.fill():
            return b""
        pos = self.pos
        before = self.line
        line = self.next_line()
        self.pos = pos
        self.line = before
        return line

    def next_line(self) -> bytes:
        """Return the next line with its end; lines end in newlines, returns or both.

        Returns nothing after the last line.
        """
        if not self.fill():
            return b""
        end = self.stop
        if self.buffer[self.stop - 1] == ord("\n"):
            # Kept, since a search per line would look for the same newline, far ahead, if lines end
            # in returns.
            if self._newline < self.pos:
                self._newline = self.buffer.index(b"\n", self.pos)
            end = self._newline + 1
        back = self.buffer.find(b"\r", self.pos, end) + 1
        if back and not (back == end - 1 and self.buffer[back] == ord("\n")):
            end = back
        line = bytes(self.buffer[self.pos : min(end, self._filled)])
        self.pos = end
        self.line += 1
        if len(line) > MAX_LINE:
            raise too_long(self.source, self.line)
        return line


def _is_text(block: bytearray) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


class TextLines:
    """Iterates over the lines of `text`, rows of a table.

    Parameters
    ----------
    text : TextBlocks
    delimiter : str, optional
        Between the cells of a row.
    """

    def __init__(self, text: TextBlocks, delimiter: str | None = None) -> None:
        self._text = text
        self._delimiter = delimiter
        self._row = 0

    @property
    def number(self) -> int:
        """Lines read so far."""
        return self._text.line

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        text = self._text
        raw = text.next_line()
        if not raw:
            raise StopIteration
        self._row += len(raw)
        # A quoted cell continues on the next line, so an endless row need not have a long line.
        if self._row > MAX_LINE:
            raise too_long(text.source, text.line)
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            cure = (
                "if it is Latin-1, write it anew: iconv -f LATIN1 -t UTF-8 FILE > NEW"
            )
            raise FormatError(
                text.source,
                f"is not UTF-8 text ({error.reason}); {cure}",
                text.line,
            ) from error
        if (
            len(line) > MAX_CELLS
            and self._delimiter
            and line.count(self._delimiter) >= MAX_CELLS
        ):
            raise FormatError(
                text.source,
                f"the row has more than {MAX_CELLS:,} cells, the most that are read",
                text.line,
            )
        return line

    def begin_row(self) -> None:
        """Mark the next line as the first of a row."""
        self._row = 0
