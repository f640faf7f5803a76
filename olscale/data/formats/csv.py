"""CSV and TSV: one row per line, cells separated by a delimiter, optionally a header.

*Delimiter*: the one of comma, tab, semicolon and bar that splits the first lines into equally many
cells; if several do, the one between which most cells are numbers, see
`olscale.data.formats.dialect`; if none does, white space. Always a tab for ``tsv``. A first line
``sep=;`` sets it, as in Excel; `ReadOptions.delimiter` overrides all this.

*Header*: the first row is one when it holds text above a column of numbers, or when it is all text,
without repetition, and none of its cells recurs in its column, or when its numbers count from 0 as
those of pandas do. See
`olscale.data.formats.dialect`. `ReadOptions.header` overrides this. A column without a name is
called as pandas calls it (``Unnamed: 0``), the second ``a`` is called ``a.1``.

*Columns*: a column is text when a cell of the first `SAMPLE_ROWS` rows is neither a number nor
missing, else it is numeric. Missing cells (empty, ``?``, ``NA``, ``nan``, ``null``, ``none``, and
those of `ReadOptions.missing`) are NaN in numeric columns and no value at all in text columns.
Tables with text columns become sparse one-hot rows, see `olscale.data.formats.table_encoder`; all
others are dense. Text that first appears in a numeric column later is an error. Dropped columns are
not examined. A last column without a name that is empty in the first rows results from a delimiter
at the end of each row: it is left out.

*Quotes*: a cell may stand between double quotes, and may then contain anything. The first one that
spans lines, or holds a tab in TSV, is noted with its line, see `olscale.data.formats.cell_form`.
`ReadOptions.quoting` makes quotes plain characters, `ReadOptions.escape` gives a meaning to
backslashes, see `olscale.data.formats.cell_form`.

*Numbers* have a decimal point. If a column holds ``1,5`` an error asks which is meant
(`ReadOptions.decimal`). With a decimal comma a cell with a point is no number: ``31.310`` may well
be thousands.

*Limits*: a line of `olscale.data.formats.lines.MAX_LINE` bytes, a cell of 131,072 characters.

*Label*: `ReadOptions.label`, or else the last column. A table of numbers without a header is the
exception (USPS is published so): when the first column, and no other, holds only whole numbers in
the first `SAMPLE_ROWS` rows, at most `MOST_LABELS` different ones and each twice on average, it is
the label. Labels in a file of their own (`olscale.data.formats.text`) precede everything else.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.cell_form import (
    CURE,
    WHITESPACE,
    CellForm,
    QuoteWatch,
    loose_quote_notes,
    single_quote_notes,
)
from olscale.data.formats.cells import Column, Line, checked_rows, is_missing, is_number
from olscale.data.formats.coding import coded_as_text, parse_codings
from olscale.data.formats.csv_rows import csv_rows
from olscale.data.formats.dialect import (
    MOST_LABELS,
    NO_DELIMITER,
    delimiter_of,
    excel_delimiter,
    fits_number,
    has_decimal_commas,
    is_header,
    label_is_first,
    names_again,
    text_lines,
)
from olscale.data.formats.lines import TextBlocks, why_no_rows
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    label_positions,
    segment_position,
    text_columns,
    unique_names,
)
from olscale.data.formats.table_encoder import TableEncoder
from olscale.data.formats.table_parser import (
    TableParser,
    TextDialect,
    column_of,
    table_text,
)
from olscale.data.formats.text import labels_beside, open_text
from olscale.errors import FormatError, NoRowsError

__all__ = ["MOST_LABELS", "SAMPLE_ROWS", "CsvFormat", "TsvFormat", "read_table"]

SAMPLE_ROWS = 2000
"""Rows that decide which columns hold text, fewer of a table of more than 2,000 columns."""
_SAMPLE_CELLS = 4_000_000


class CsvFormat:
    r"""Tables with any delimiter.

    A cell between double quotes holds anything, and a quote in it is written twice. So a single
    quote at the beginning of free text takes all up to the next one for a cell, other rows
    included; `ingest` notes the first cell in quotes that spans lines. ``--quoting none`` reads
    quotes as any other character, as UCI's SMS Spam Collection has them. ``--escape backslash``
    reads exports of MySQL, Hive and Spark: a backslash takes the meaning of the delimiter,
    quote or line's end behind it, and a cell ``\N`` has no value; the letters of MySQL
    (``\n``, ``\t``, ``\0``, ``\b``, ``\r``, ``\Z``) are read as well.

    A line (and a quoted row over several lines) has at most 64 MiB, a row 4,000,000 cells, a
    cell 131,072 characters.
    """

    name: ClassVar[str] = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    delimiter: ClassVar[str | None] = None

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether the first lines split into equally many cells."""
        lines = text_lines(head)
        return (
            bool(lines)
            and (delimiter := delimiter_of(lines)) is not None
            and self.delimiter in (None, delimiter)
        )

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: a table is a single split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source`; see `read_table`."""
        return read_table(source, options, self.delimiter)


class TsvFormat(CsvFormat):
    """Tables whose cells are separated by tabs."""

    name: ClassVar[str] = "tsv"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tab")
    delimiter: ClassVar[str | None] = "\t"


def read_table(
    source: str, options: ReadOptions, delimiter: str | None = None
) -> Iterator[Batch]:
    """Yield the rows of the table `source` in its order.

    Parameters
    ----------
    source : str
        Text file, compressed or not, in UTF-8.
    options : ReadOptions
        All but `zero_based` are used.
    delimiter : str, optional
        Character between cells (a space means any white space) if `options` name none; detected
        when left out.

    Yields
    ------
    Batch
        Dense float64 rows, or CSR when a column holds text; `Batch.feature_names` names the
        columns.

    Raises
    ------
    FormatError
        Names file and line of a row with another number of cells, text in a numeric column, a
        missing label or text that is not UTF-8 or badly quoted. Names the file when it has no rows.
    UnknownNameError
        When no column has the name `options.label`, or one of `options.drop`.
    """
    with open_text(source, options.stream, options.delimiter) as stream:
        head = stream.peek(1 << 16)
        excel = excel_delimiter(head)
        form = _form_of(options)
        lines = form.whole_lines(text_lines(head))
        chosen = options.delimiter or excel or delimiter
        sniffed = chosen or delimiter_of(lines, form)
        if sniffed is None and not options.labelled and lines:
            # Rows to predict may be of one feature, and then hold no delimiter.
            sniffed = NO_DELIMITER
        if sniffed is None or b"\0" in head:
            raise _no_table(source, head)
        if sniffed == WHITESPACE:
            # Python's csv cannot split at white space of any length, and str.split knows no quotes.
            form = replace(form, quote=None)
        if excel:
            stream.readline()
        text = table_text(source, stream)
        # Errors count the line that names the delimiter.
        text.line = int(excel is not None)
        watch = QuoteWatch(source, sniffed)
        try:
            yield from _batches(text, options, form, sniffed, watch)
        except FormatError as error:
            if watch.span_note is None or CURE in error.problem:
                raise
            # A quote may have merged several rows before it into one.
            problem = f"{error.problem}; {watch.span_note}"
            raise FormatError(error.source, problem, error.line) from error


def _form_of(options: ReadOptions) -> CellForm:
    return CellForm(
        quote=None if options.quoting == "none" else '"',
        escaped=options.escape is not None,
        words=options.missing,
        mark=options.decimal or ".",
    )


def _batches(
    text: TextBlocks,
    options: ReadOptions,
    form: CellForm,
    delimiter: str,
    watch: QuoteWatch,
) -> Iterator[Batch]:
    """Yield the rows of `text`; notes about quotes come with the rows that have them."""
    source = text.source
    rows = checked_rows(
        source, csv_rows(text, delimiter, form, watch), least=1 + options.labelled
    )
    sample = list(itertools.islice(rows, 1))
    if sample:
        fit = max(2, _SAMPLE_CELLS // len(sample[0][1]))
        sample += itertools.islice(rows, min(SAMPLE_ROWS, fit))
    # Before words for "no value" are cleared: a column may be called NA.
    names = [cell.strip() for _, row in sample[:1] for cell in row]
    sample = [(line, form.cleared(row)) for line, row in sample]
    has_labels_file = options.stream is None and labels_beside(source) is not None
    decimal = options.decimal or "."
    header = options.header
    if header is not False:
        _refuse_names_again(source, sample)
    if header is None:
        # With another delimiter 1,5 is a number, which the check below asks about, and not a name.
        marks = (
            [decimal, ","]
            if options.decimal is None and delimiter != ","
            else [decimal]
        )
        first_rows = [row for _, row in sample]
        header = not has_labels_file and is_header(first_rows, _fits(*marks))
        if len(sample) == 1 and not any(map(fits_number, sample[0][1])):
            raise NoRowsError(
                source, "no rows below the line that names the columns", 1
            )
    body = sample[1:] if header else sample
    if not body:
        raise NoRowsError(source, "no rows")
    columns, empty, first = _columns(
        text,
        names if header else [],
        body,
        options,
        has_labels_file=has_labels_file,
        commas=delimiter != ",",
    )
    notes = single_quote_notes(
        source, columns.names[: columns.width], [row for _, row in body]
    )
    if options.quoting is None:
        first_cells = [names, *(row for _, row in body)]
        notes = (*notes, *loose_quote_notes(source, delimiter, first_cells))
    columns.delimiter = delimiter
    columns.header = header
    columns.quoting = options.quoting
    columns.escape = options.escape
    columns.missing = form.words
    label_name: int | None = columns.label
    if header or columns.label >= columns.width:
        label_name = None
    encoder = TableEncoder(
        source,
        columns,
        label_name=label_name,
        decimal=decimal,
        empty=empty,
        codings=parse_codings(options.encode),
        before=options.table,
    )
    dialect = TextDialect(
        delimiter,
        form.quote,
        decimal,
        escaped=form.escaped,
        words=form.words,
        numbers=form.numbers,
    )
    cleared = ((line, form.cleared(row)) for line, row in rows)
    parser = TableParser(text, cleared, encoder, dialect, form.cell, watch=watch)
    for batch in parser.batches(options.chunk_rows, first, [line for line, _ in body]):
        batch_notes = (*notes, *watch.take_notes())
        yield replace(
            batch, label=None if has_labels_file else batch.label, notes=batch_notes
        )
        notes = ()


def _refuse_names_again(source: str, sample: Sequence[Line]) -> None:
    place = names_again([row for _, row in sample])
    if place is not None:
        raise FormatError(
            source,
            f"the row repeats the names of the columns in line {sample[0][0]}; take it out, or "
            "give --no-header if both rows are data",
            sample[place][0],
        )


def _no_table(source: str, head: bytes) -> FormatError:
    """Return the error for a text whose first bytes are no rows."""
    if (reason := why_no_rows(head)) is not None:
        return NoRowsError(source, reason)
    if (nul := head.find(b"\0")) >= 0:
        return FormatError(
            source,
            "holds a NUL byte, expected UTF-8 text; is it a table, and whole?",
            head.count(b"\n", 0, nul) + 1,
        )
    problem = (
        "its lines do not split into equally many cells, at least a feature and a label; "
        "--delimiter if they do"
    )
    return FormatError(source, problem, 1)


def _columns(
    blocks: TextBlocks,
    named: Sequence[str],
    body: Sequence[Line],
    options: ReadOptions,
    *,
    has_labels_file: bool,
    commas: bool,
) -> tuple[TableColumns, int | None, list[Column]]:
    """Return the columns of a table whose first rows are `body`.

    Also returns the position of a column that is always empty, and the cells; columns whose cells
    are all plain numbers come as arrays.
    """
    source = blocks.source
    cells = list(zip(*(row for _, row in body), strict=True))
    width = len(cells)
    names = (
        unique_names(named) if named else [f"x{position}" for position in range(width)]
    )
    added = options.added_columns(names)
    names += [constant.name for constant in added]
    dropped = options.positions_to_drop(source, names, width)
    last = width - 1
    empty = None
    # Only with several rows: a last cell that is empty once may well be a missing label.
    if (
        not has_labels_file
        and len(body) > 1
        and not (named and named[last])
        and not any(cell.strip() for cell in cells[last])
    ):
        empty = last
        dropped = dropped | {last}
    dropped, carried, as_written, weights = options.set_aside(
        source, names, dropped, width
    )
    # The column that a delimiter at the end of each row makes has nothing to carry.
    carried = tuple(position for position in carried if position != empty)
    mark = options.decimal or "."
    fits = _fits(mark)
    segments = segment_position(source, names, options.segments)
    read = [
        position not in dropped or position in (segments, weights)
        for position in range(width)
    ]
    numbers = [
        column_of(column_cells, blocks, mark) if is_read else None
        for is_read, column_cells in zip(read, cells, strict=True)
    ]
    text = [
        is_read and parsed is None and not all(map(fits, set(column)))
        for is_read, parsed, column in zip(read, numbers, cells, strict=True)
    ]
    text = [*coded_as_text(names[:width], text, parse_codings(options.encode))]
    if commas and options.decimal is None:
        _refuse_commas(
            source,
            names,
            body,
            [position for position, is_text in enumerate(text) if is_text],
        )
    text = [is_text or position in as_written for position, is_text in enumerate(text)]
    chosen = options.label
    if (
        chosen is None
        and options.labelled
        and 0 not in dropped
        and (has_labels_file or (not named and not any(text) and label_is_first(cells)))
    ):
        chosen = 0
    labels: tuple[int, ...] = (UNLABELLED,)
    if options.labelled:
        labels = label_positions(source, names, chosen, dropped, width, options.table)
    if len(labels) > 1 and not named:
        raise FormatError(
            source,
            "several labels must have names; give the table a line that names its columns",
            1,
        )
    text += [constant.text for constant in added]
    text_or_not = text_columns(names, text, labels, options.table)
    first: list[Column] = [
        column if parsed is None or is_text else parsed
        for column, parsed, is_text in zip(
            cells, numbers, text_or_not[:width], strict=True
        )
    ]
    columns = TableColumns(
        tuple(names),
        labels[0],
        text_or_not,
        dropped,
        segments,
        more=labels[1:],
        constants=tuple(constant.value for constant in added),
        carried=carried,
        weights=weights,
    )
    return columns, empty, first


def _fits(*marks: str) -> Callable[[str], bool]:
    """Return a function that says whether a cell may be a number with one of `marks`."""
    if marks == (".",):
        return fits_number
    return lambda cell: is_missing(cell) or any(is_number(cell, mark) for mark in marks)


def _refuse_commas(
    source: str,
    names: Sequence[str],
    body: Sequence[Line],
    text: Iterable[int],
) -> None:
    for position in text:
        if has_decimal_commas([row[position] for _, row in body]):
            line, cell = next(
                (line, row[position]) for line, row in body if "," in row[position]
            )
            raise FormatError(
                source,
                f"column {names[position]!r} is {cell.strip()[:40]!r}: a number with a decimal "
                "comma is read with "
                "--decimal , and as text with --decimal .",
                line,
            )
