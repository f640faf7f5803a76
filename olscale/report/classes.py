"""Errors by class, from confusion matrices."""

from collections.abc import Mapping, Sequence

import numpy as np

from olscale.analysis.curves import ConfusionMatrix
from olscale.measures import figure_of
from olscale.report.marks import caution_marks
from olscale.report.tables import Entry, Table

_MOST = 60
"""Most classes in the columns of a table: those with the most rows."""


def class_table(
    title: str,
    shown: Mapping[str, ConfusionMatrix],
    names: Sequence[str] = (),
    tested: bool = False,
) -> Table:
    """Return learners by classes: the share of a class's rows predicted as another class.

    Parameters
    ----------
    title : str
    shown : mapping of str to ConfusionMatrix
        By label.
    names : sequence of str
        Classes, in the dataset's order; their positions are shown when left out.
    tested : bool
        Whether the rows are those of the test split.
    """
    counts = {label: matrix.mean() for label, matrix in shown.items()}
    size = max(len(matrix) for matrix in counts.values())
    rows = np.zeros(size)
    for matrix in counts.values():
        rows[: len(matrix)] = np.maximum(rows[: len(matrix)], matrix.sum(axis=1))
    classes = sorted(
        np.argsort(-rows, kind="stable")[: min(_MOST, int((rows > 0).sum()))].tolist()
    )
    called = [*names[:size], *map(str, range(len(names), size))]
    errors = {label: _errors(matrix, size) for label, matrix in counts.items()}
    best = np.nanmin(np.array([errors[label] for label in shown])[:, classes], axis=0)
    entries = []
    for label, confusion in shown.items():
        marks = caution_marks([confusion.summary], "error")
        cells = [figure_of("error", float(errors[label][i])) for i in classes]
        # Compared as printed: figures that read the same are all the best.
        least = [
            cell == figure_of("error", float(low))
            for cell, low in zip(cells, best, strict=True)
        ]
        line = [
            Entry(cell, best=is_least, marks=marks)
            for cell, is_least in zip(cells, least, strict=True)
        ]
        entries.append(tuple(line))
    when = "predicted wrongly before the update"
    error = "Error"
    if tested:
        when = "in the test split that the final model predicts wrongly"
        error = "Test error"
    notes = [f"Rows of the class {when}, in percent of them."]
    if len(classes) < int((rows > 0).sum()):
        notes.append(
            f"The {len(classes)} classes of most rows, of {int((rows > 0).sum()):,}."
        )
    columns = tuple(f"{called[i]}" for i in classes)
    return Table(
        f"{error} by class (%), {title}",
        columns,
        tuple(shown),
        tuple(entries),
        tuple(notes),
    )


def _errors(
    matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]], size: int
) -> list[float]:
    of = matrix.sum(axis=1)
    return [
        float(1.0 - matrix[i, i] / of[i]) if i < len(of) and of[i] else float("nan")
        for i in range(size)
    ]
