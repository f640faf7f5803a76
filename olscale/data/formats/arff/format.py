"""Reading ARFF files; `olscale.data.formats.arff` describes the rules."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.arff.declarations import Attribute, declarations
from olscale.data.formats.arff.rows import WEIGHTS, Allowed, ArffRows
from olscale.data.formats.arff.sparse_parser import SparseParser
from olscale.data.formats.base import Batch, ReadOptions
from olscale.data.formats.cells import TypedCells
from olscale.data.formats.coding import AsNumber, coded_as_text, parse_codings
from olscale.data.formats.lines import TextBlocks, TextLines
from olscale.data.formats.table_columns import (
    UNLABELLED,
    TableColumns,
    label_positions,
    segment_position,
    unique_names,
)
from olscale.data.formats.table_encoder import TableEncoder
from olscale.data.formats.table_parser import TableParser, table_text
from olscale.data.formats.text import open_text
from olscale.errors import FormatError, NoRowsError


class ArffFormat:
    """Attribute-relation files.

    Files are read as Weka and liac-arff read them, cell for cell: both quotes hold a cell, a
    backslash in them begins an escape, `%` outside of them a comment. Only `?` without quotes,
    and nothing between two commas, is a missing value: ``'?'``, `NA` and `none` are words.

    Sparse rows (``{0 1.5, 7 red}``) stay sparse; what they leave out is 0 or the first declared
    value, and a left-out string is missing. Where at least a quarter of the numbers is not
    zero, and no column is text, they are stored dense.

    The weight in braces behind a row (``1.5,red,{3}``) is that of the row with ``--weights
    instance``, 1 where there is none; else it is not used, and a note says so.
    """

    name: ClassVar[str] = "arff"
    suffixes: ClassVar[tuple[str, ...]] = (".arff",)

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether the first line that is no comment declares a relation or an attribute."""
        lines = (
            line.strip().lower()
            for line in head.removeprefix(b"\xef\xbb\xbf").splitlines()
        )
        first = next(
            (line for line in lines if line and not line.startswith(b"%")), b""
        )
        return first.startswith((b"@relation", b"@attribute"))

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: an ARFF file is one split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of `source` in its order.

        Raises
        ------
        FormatError
            Names file and line of a malformed declaration, two declared values with the same
            meaning, a row with another number of cells, a cell that is no number or not among the
            declared values, a missing label. Names the file when it has no rows.
        """
        with open_text(source, options.stream) as stream:
            yield from _Reader(table_text(source, stream), options).batches()


class ArffDialect:
    """Cells of dense rows of ARFF, for `TableParser`."""

    decimal = "."
    numbers = ()

    def __init__(self, has_loop: bool) -> None:
        self.has_loop = has_loop

    def loop(self) -> Callable[..., tuple[int, int, int, int, bool]]:
        """Return the loop over such rows."""
        from olscale.data.formats.arff._rows_loop import parse_dense_rows

        return parse_dense_rows

    def form(self, quoted: NDArray[np.int64]) -> tuple[Any, ...]:
        """Return the arguments of the loop before the kinds of the columns."""
        return ()


class _Reader:
    """Reads one file."""

    def __init__(self, text: TextBlocks, options: ReadOptions) -> None:
        self._text = text
        self._options = options
        self._lines = TextLines(text, ",")
        self._source = text.source
        self._attributes, self._labels = declarations(self._source, self._lines)
        self._codings = parse_codings(options.encode)
        # An attribute of that name is a column of weights as in other tables.
        self._has_weights = options.weights == WEIGHTS and all(
            attribute.name != WEIGHTS for attribute in self._attributes
        )
        if self._has_weights:
            self._options = replace(options, weights=None)
        self._is_sparse = self._find_sparse()
        self._columns = self._make_columns()

    def batches(self) -> Iterator[Batch]:
        """Yield the rows; the last batch has a note if rows have weights."""
        columns = self._columns
        options = self._options
        used = {
            i: a
            for i, a in enumerate(self._attributes)
            if a.values and i not in columns.dropped
        }
        for i, attribute in used.items():
            attribute.check(self._source, as_numbers=not columns.text[i])
        words = {i: a.values for i, a in used.items() if columns.text[i]}
        encoder = self._make_encoder(words)
        allowed = Allowed(
            self._source,
            self._attributes,
            {i: frozenset(values) for i, values in words.items()},
            {i: a.numbers for i, a in used.items() if not columns.text[i]},
        )
        rows = ArffRows(self._lines, allowed, keeps_weights=self._has_weights)
        # The loop knows no weights; rows with one would not be plain to it anyway.
        has_loop = not self._has_weights
        if columns.sparse:
            sparse = SparseParser(
                self._text, rows.listed(), encoder, allowed, has_loop=has_loop
            )
            batches = sparse.batches(options.chunk_rows)
        else:
            dense = TableParser(
                self._text,
                rows.dense(),
                encoder,
                ArffDialect(has_loop),
                allowed.read,
                allowed.numbers,
            )
            batches = dense.batches(options.chunk_rows)
        # One batch is held back: a note that counts all rows comes with the last.
        last: Batch | None = None
        for batch in batches:
            if last is not None:
                yield last
            last = replace(batch, regression=self._is_regression())
            if self._has_weights:
                last = replace(last, weights=rows.take_weights(len(batch)))
        if last is None:
            raise NoRowsError(self._source, "no rows")
        if rows.weighted and not self._has_weights:
            note = (
                f"{self._source}: {rows.weighted:,} rows have a weight in braces, which is not "
                f"used without --weights {WEIGHTS}"
            )
            last = replace(last, notes=(*last.notes, note))
        if self._labels and options.label is None and options.labelled:
            place = "first" if self._labels > 0 else "last"
            note = (
                f"{self._source}: by -C in its relation MEKA takes the {place} "
                f"{abs(self._labels)} attributes for labels of a row; --label says which one is "
                f"read, else {columns.names[columns.label]!r}"
            )
            last = replace(last, notes=(*last.notes, note))
        yield last

    def _make_columns(self) -> TableColumns:
        source = self._source
        options = self._options
        width = len(self._attributes)
        if width < 1 + options.labelled:
            problem = f"{width} attributes declared, expected features and a label"
            raise FormatError(source, problem, self._lines.number)
        names = unique_names(attribute.name for attribute in self._attributes)
        added = options.added_columns(names)
        names += [constant.name for constant in added]
        dropped = options.positions_to_drop(source, names, width)
        dropped, carried, as_written, weights = options.set_aside(
            source, names, dropped, width
        )
        labels: tuple[int, ...] = (UNLABELLED,)
        if options.labelled:
            labels = label_positions(
                source, names, options.label, dropped, width, options.table
            )
        columns = TableColumns(
            tuple(names),
            labels[0],
            (False,) * len(names),
            dropped,
            segment_position(source, names, options.segments),
            more=labels[1:],
            constants=tuple(constant.value for constant in added),
            carried=carried,
            weights=weights,
            sparse=self._is_sparse,
        )
        features = frozenset(columns.features)
        numbers = self._known_numbers(columns, features)
        text = [
            self._is_text(attribute, i in features) and i not in numbers
            for i, attribute in enumerate(self._attributes)
        ]
        text += [constant.text for constant in added]
        coded = coded_as_text(names, text, self._codings)
        columns.text = tuple(
            is_text or i in as_written for i, is_text in enumerate(coded)
        )
        self._check_asked_numbers(columns)
        return columns

    def _known_numbers(
        self, columns: TableColumns, features: frozenset[int]
    ) -> set[int]:
        """Return the features that become numbers by default although they declare values."""
        before = self._options.table
        was_text = (
            {} if before is None else dict(zip(before.names, before.text, strict=True))
        )
        positions = set[int]()
        for i, attribute in enumerate(self._attributes):
            name = columns.names[i]
            # A feature for a 0 that sparse rows leave out would be set in nearly all of them.
            is_flag = (
                self._is_sparse
                and attribute.values == ("0", "1")
                and name not in self._codings
            )
            if (
                i in features
                and attribute.numbers
                and not was_text.get(name, not is_flag)
            ):
                positions.add(i)
        return positions

    def _check_asked_numbers(self, columns: TableColumns) -> None:
        """Refuse declared words that ``--encode`` says are numbers."""
        for name, attribute in zip(columns.names, self._attributes, strict=False):
            is_asked = isinstance(self._codings.get(name), AsNumber)
            if is_asked and attribute.values and not attribute.numbers:
                word = next(
                    value
                    for value in attribute.values
                    if not attribute.is_number(value)
                )
                problem = (
                    f"attribute {name!r} declares {word[:40]!r}, expected numbers alone for "
                    f"--encode {name}=number"
                )
                raise FormatError(self._source, problem, attribute.line)

    def _is_text(self, attribute: Attribute, is_feature: bool) -> bool:
        if attribute.kind == "numeric":
            return False
        # The digits of classes and segments are numbers, as in other tables.
        return is_feature or not attribute.numbers

    def _make_encoder(self, words: Mapping[int, Sequence[str]]) -> TableEncoder:
        names = self._columns.names
        return TableEncoder(
            self._source,
            self._columns,
            {i: values for i, values in words.items() if names[i] not in self._codings},
            codings=self._codings,
            before=self._options.table,
            rules=TypedCells(),
        )

    def _find_sparse(self) -> bool:
        """Return whether the rows become sparse: as in the previous source or the first row."""
        before = self._options.table
        if before is not None and before.sparse is not None:
            return before.sparse
        while line := self._text.peek_line():
            text = line.strip()
            if text and not text.startswith(b"%"):
                return text.startswith(b"{")
            next(self._lines)
            self._lines.begin_row()
        return False

    def _is_regression(self) -> bool | None:
        """Return whether the label is declared a number (True) or as classes (False), or None."""
        kinds = {self._attributes[label].kind for label in self._columns.labels}
        is_number = {"numeric": True, "nominal": False}
        if len(kinds) == 1:
            return is_number.get(kinds.pop())
        return None
