"""The rows of CSV text as exact cells: by Python's csv, or faster where text has no quotes."""

import csv
from collections.abc import Iterator

from olscale.data.formats.cell_form import CURE, WHITESPACE, CellForm, QuoteWatch
from olscale.data.formats.cells import Line
from olscale.data.formats.lines import MAX_CELLS, TextBlocks, TextLines, cells_problem
from olscale.data.formats.table_parser import pays
from olscale.errors import FormatError


def csv_rows(
    text: TextBlocks,
    delimiter: str,
    form: CellForm,
    watch: QuoteWatch,
) -> Iterator[Line]:
    """Yield the rows of `text` with their lines; blank lines are left out.

    `watch` notes cells in quotes that span lines or hold a tab.

    Raises
    ------
    FormatError
        If a row has too many cells, or quotes that are no cell's; names the line.
    """
    yield from _rows_without_quotes(text, delimiter, form)
    source = text.source
    lines = TextLines(text, delimiter)
    number = text.line
    try:
        for row in form.split(lines, delimiter, strict=True):
            if len(row) > MAX_CELLS:
                problem = (
                    f"the row has more than {MAX_CELLS:,} cells, the most that are read"
                )
                raise FormatError(source, problem, lines.number)
            spans = lines.number - number > 1
            tabs = watch.wants_tabs and any("\t" in cell for cell in row)
            if form.quote and (spans or tabs):
                watch.add_row(number + 1, row)
            number = lines.number
            lines.begin_row()
            if row:
                yield number, form.plain(row)
            number = lines.number
    except csv.Error as error:
        problem = _quote_problem(error) if form.quote else cells_problem(error)
        raise FormatError(source, problem, number + 1) from error


def _rows_without_quotes(
    text: TextBlocks, delimiter: str, form: CellForm
) -> Iterator[Line]:
    """Yield the rows of a short text that has only delimiters and newlines to split at, else none.

    The cells are those of Python's csv, in a quarter of the time.
    """
    if delimiter == WHITESPACE or form.escaped or not text.fill() or pays(text):
        return
    block = text.buffer[text.pos : text.stop]
    if (
        not block.isascii()
        or not block.endswith(b"\n")
        or any(mark in block for mark in (b'"', b"\r", b"\0"))
    ):
        return
    lines = block.decode().split("\n")[:-1]
    # Python's csv refuses such cells, and says so.
    if max(map(len, lines)) > csv.field_size_limit():
        return
    place = text.pos
    for line in lines:
        if text.pos != place:  # a compiled loop that is loaded by now has read further
            return
        place += len(line) + 1
        text.pos = place
        text.line += 1
        if line:
            yield text.line, line.split(delimiter)


def _quote_problem(error: csv.Error) -> str:
    """Return what is wrong with quoted cells, and what to do."""
    problem = cells_problem(error)
    if "unexpected end" in str(error):
        problem = "cannot be split into cells: the quote that opens one is not closed"
    if "expected after" in str(error):
        problem += "; a quote within quotes is written twice, or with --escape backslash behind one"
    return f"{problem}; {CURE}"
