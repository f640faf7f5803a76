"""Predictions of a model on a source, chunk by chunk to CSV or Parquet."""

from __future__ import annotations

import csv
import io
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import rows_of, slice_rows
from olscale.data.formats.cells import NO_LABEL, is_number
from olscale.data.formats.table_columns import Carried, unique_names
from olscale.errors import ModelError
from olscale.learners.contract.usable_rows import why_no_score
from olscale.models.final_model import FinalModel
from olscale.models.source import ModelSource, RowsToPredict
from olscale.printable import csv_cells
from olscale.storage.open import open_output
from olscale.system.paths import path_text


@dataclass(slots=True)
class Predicted:
    """Counts and errors of predictions.

    Attributes
    ----------
    rows : int
    unknown, unknown_indices : int
        Values of text columns, and values at indices of SVMlight text, that the model never met.
    labels, wrong : int
        Rows whose label is one of the model's classes, and those of them with another prediction.
    unlabelled : int
        Rows that lack a label, or one of several targets, if labels were requested.
    squares, known : ndarray of shape (targets,), optional
        Sums of the squared errors of numbers, if their labels were requested, and their counts.
    """

    rows: int = 0
    unknown: int = 0
    unknown_indices: int = 0
    labels: int = 0
    wrong: int = 0
    unlabelled: int = 0
    squares: NDArray[np.float64] | None = None
    known: NDArray[np.int64] | None = None


def predict(
    model: FinalModel,
    source: ModelSource,
    out: str | os.PathLike[str] | None = None,
    scores: bool = False,
    labels: bool = False,
    probabilities: bool = False,
) -> Predicted:
    """Write the predictions of `model` on all rows of `source`.

    Parameters
    ----------
    model : FinalModel
    source : ModelSource
    out : path, optional
        A file that ends in ``.csv`` or ``.parquet``, which appears whole or not at all; standard
        output, as CSV, when left out.
    scores : bool
        Also write the scores: ``score`` for two classes, else a column ``score_CLASS`` for each.
    labels : bool
        Also write the labels of the source, as ``label``, empty where a row has none.
    probabilities : bool
        Also write the probability of each class, as ``probability_CLASS``.

    Returns
    -------
    Predicted

    Raises
    ------
    ModelError
        If the columns of the source are not those of the model, or a row cannot be predicted.
    ParameterError
        If the model has no probabilities, and they are asked for.
    """
    prediction = Predicted()
    tables = _tables(model, source, prediction, scores, labels, probabilities)
    if out is None:
        sys.stdout.flush()
        _write(_Csv(sys.stdout), tables)
    else:
        path = path_text(out, "out")
        kind = next(
            (kind for ending, kind in _KINDS.items() if path.endswith(ending)), None
        )
        if kind is None:
            raise ModelError(
                f"cannot tell the format of {path} by its ending; end it in {' or '.join(_KINDS)}"
            )
        with open_output(path) as file, kind(file) as writer:
            _write(writer, tables)
    prediction.rows = source.rows
    prediction.unknown = source.unknown
    prediction.unknown_indices = source.unknown_indices
    return prediction


def _tables(
    model: FinalModel,
    source: ModelSource,
    done: Predicted,
    scores: bool,
    labels: bool,
    probabilities: bool,
) -> Iterator[dict[str, list[Any]]]:
    classes = model.about.classes
    class_set = set(classes or ())
    targets = model.about.columns.targets
    for rows in source:
        raw_scores = model.scores(rows.X)
        _refuse_unusable(model, rows, raw_scores, source.rows - len(raw_scores))
        table: dict[str, list[Any]] = {}
        if classes is None:
            table |= _by_target("prediction", targets, raw_scores)
        else:
            codes = model.predicted_codes(raw_scores)
            table["prediction"] = [classes[code] for code in codes.tolist()]
        if labels:
            if rows.labels is None:
                raise ModelError("the source has no labels; leave out --labels")
            if classes is None:
                numbers = labels_of(targets, rows)
                table |= {
                    name: [None if math.isnan(number) else number for number in column]
                    for name, column in _by_target("label", targets, numbers).items()
                }
                _add_squares(done, raw_scores - numbers)
            else:
                table["label"] = class_labels(
                    rows.labels, text=isinstance(classes[0], str)
                )
                for label, predicted in zip(
                    table["label"], table["prediction"], strict=True
                ):
                    # A label outside the model's classes is neither right nor wrong: it
                    # counts as nothing.
                    done.unlabelled += label is None
                    done.labels += label in class_set
                    done.wrong += label in class_set and label != predicted
        if scores and classes is not None:
            raw_scores = model.without_margins(raw_scores)
            names = [f"score_{label}" for label in classes]
            if raw_scores.shape[1] == 1:
                names = ["score"]
            table |= {
                name: raw_scores[:, column].tolist()
                for column, name in enumerate(names)
            }
        if probabilities:
            of_classes = model.class_probabilities(rows.X)
            for column, label in enumerate(classes or ()):
                table[f"probability_{label}"] = of_classes[:, column].tolist()
        yield _with_kept(table, rows.kept)


def _with_kept(
    table: dict[str, list[Any]], kept: Mapping[str, Carried]
) -> dict[str, list[Any]]:
    """Return the answers after the columns carried over, renamed where names coincide."""
    # The answers keep their names, since scripts read them; carried columns give way.
    names = unique_names([*table, *kept])[len(table) :]
    cells = [[_as_text(cell) for cell in column] for column in kept.values()]
    return dict(zip(names, cells, strict=True)) | table


def _as_text(cell: float | str | None) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return None if math.isnan(cell) else str(_plain(float(cell)))


def class_labels(labels: Carried, *, text: bool) -> list[Any]:
    """Return labels in the form of classes, as `text` or numbers; None if impossible."""
    return [_class_label(label, text) for label in labels]


def _class_label(label: Any, text: bool) -> Any:
    if isinstance(label, str) and label.strip() in NO_LABEL:
        return None
    if text or label is None:
        return label
    if isinstance(label, str):
        label = float(label) if is_number(label) else math.nan
    label = float(label) if isinstance(label, np.floating) else label
    return None if isinstance(label, float) and math.isnan(label) else _plain(label)


def _add_squares(done: Predicted, errors: NDArray[np.float64]) -> None:
    missing = np.isnan(errors)
    squares = np.where(missing, 0.0, errors * errors)
    sums = squares.sum(axis=0)
    counts = np.count_nonzero(~missing, axis=0)
    if done.squares is not None:
        sums = done.squares + sums
    if done.known is not None:
        counts = done.known + counts
    done.squares = sums
    done.known = counts
    lacks_one = missing.any(axis=1)
    done.unlabelled += int(np.count_nonzero(lacks_one))


def labels_of(targets: tuple[str, ...], rows: RowsToPredict) -> NDArray[np.float64]:
    """Return the labels of numbers, shape (rows, targets), in the order of the model's targets."""
    columns = rows.labels
    if isinstance(columns, list):
        numbers = [_class_label(label, text=False) for label in columns]
        columns = np.array(numbers, dtype=np.float64)
    labels = np.asarray(columns, dtype=np.float64).reshape(rows_of(rows.X), -1)
    if labels.shape[1] == max(1, len(targets)):
        if set(rows.targets) == set(targets):
            if not targets:
                return labels
            order = [rows.targets.index(target) for target in targets]
            return labels[:, order]
        # labels from arrays have no names
        numbered = tuple(f"y{i}" for i in range(len(targets)))
        if numbered in (rows.targets, targets):
            return labels
    available = ", ".join(map(repr, rows.targets)) or "one"
    raise ModelError(
        f"the source has the targets {available}, the model predicts "
        f"{', '.join(map(repr, targets)) or 'one'}; "
        "name the same columns with --label, or leave out --labels"
    )


def _by_target(
    word: str, targets: tuple[str, ...], values: Any
) -> dict[str, list[Any]]:
    """Return values, shape (rows, targets), as columns named by `word` and, if several, target."""
    names = [f"{word}_{target}" for target in targets] or [word]
    return {name: values[:, i].tolist() for i, name in enumerate(names)}


def _plain(label: Any) -> Any:
    """Return a label in the form of a model's classes: whole numbers without a fraction."""
    return (
        int(label)
        # From 2**53 on, a float no longer identifies one whole number.
        if isinstance(label, float) and label.is_integer() and abs(label) < 2**53
        else label
    )


def _refuse_unusable(
    model: FinalModel, rows: RowsToPredict, scores: Any, first: int
) -> None:
    finite = np.isfinite(scores).all(axis=1)
    if not finite.all():
        i = int(np.argmin(finite))
        # Learners explain refusals by transformed rows: a transform may cause an overflow.
        wrong = model.transformed(slice_rows(rows.X, i, i + 1))
        why = (
            why_no_score(model.learner, wrong, 0, model.names)
            or "its score is not finite"
        )
        raise ModelError(f"row {first + i} cannot be predicted: {why}")


class _Writer(Protocol):
    def write(self, table: dict[str, list[Any]]) -> None: ...


def _write(writer: _Writer, tables: Iterator[dict[str, list[Any]]]) -> None:
    for table in tables:
        writer.write(table)


class _Csv:
    def __init__(self, text: Any) -> None:
        self._writer = csv.writer(text, lineterminator="\n")
        self._begun = False

    def write(self, table: dict[str, list[Any]]) -> None:
        if not self._begun:
            self._writer.writerow(csv_cells(table))
            self._begun = True
        self._writer.writerows(zip(*map(csv_cells, table.values()), strict=True))


@contextmanager
def _csv(file: IO[bytes]) -> Iterator[_Csv]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    yield _Csv(text)
    text.flush()
    # Else the wrapper closes the file, which its owner still has to put in place.
    text.detach()


class _Parquet:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.open: Any = None

    def write(self, table: dict[str, list[Any]]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        # The first rows decide the types: Parquet has one schema for all of them.
        if self.open is None:
            self._schema = _schema(pa.table(table).schema)
            self.open = parquet.ParquetWriter(self._file, self._schema)
        for column in self._schema:
            fractions = any(isinstance(cell, float) for cell in table[column.name])
            if pa.types.is_integer(column.type) and fractions:  # which Arrow would cut
                raise ModelError(
                    f"{column.name!r} has a fraction after rows with whole numbers alone, which "
                    "Parquet "
                    "cannot hold; write a .csv"
                )
        self.open.write_table(pa.table(table, schema=self._schema))


def _schema(schema: Any) -> Any:
    """Return the schema of the first rows, with types for columns that are empty there."""
    import pyarrow as pa

    for place, column in enumerate(schema):
        if pa.types.is_null(column.type):
            answer = column.name.replace("label", "prediction", 1)
            is_renamed = answer != column.name and answer in schema.names
            kind = schema.field(answer).type if is_renamed else pa.string()
            schema = schema.set(place, pa.field(column.name, kind))
    return schema


@contextmanager
def _parquet(file: IO[bytes]) -> Iterator[_Parquet]:
    writer = _Parquet(file)
    try:
        yield writer
    finally:
        if writer.open is not None:
            writer.open.close()


_KINDS: dict[str, Callable[[IO[bytes]], AbstractContextManager[_Writer]]] = {
    ".csv": _csv,
    ".parquet": _parquet,
}
