"""Categories as numbers, as nodes of ONNX: a table of what each category becomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.data.transforms.categories import CategoryTransform
from olscale.models.onnx_graph import Value, doubles


def add_categories(step: CategoryTransform, rows: Value) -> Value:
    """Add the numbers of each column's category, one column after the other."""
    values, of_unknown = step.slot_values()
    by_value = step.learned["by_value"]
    first_missing = len(step.learned["column"])
    blocks = []
    for number in range(len(by_value)):
        features, slots = step.places_of(number)
        part = rows.columns(features)
        of_missing = doubles(values[[first_missing + number]])
        if by_value[number]:
            known = step.learned["values"][step.learned["owners"] == number]
            answer = _of_value(part, known, doubles(values[slots]), doubles(of_unknown))
            blocks.append(part.apply("IsNaN").choose(of_missing, answer))
        else:
            blocks.append(_of_features(part, doubles(values[features]), of_missing))
    return blocks[0].concatenate(*blocks[1:])


def _of_value(
    cells: Value,
    known: NDArray[np.float64],
    table: NDArray[np.float64],
    of_unknown: NDArray[np.float64],
) -> Value:
    """Add what the value of a column of numbers becomes."""
    if not len(known):
        return cells @ np.zeros((1, len(of_unknown))) + of_unknown
    is_value = cells.is_equal(known[np.newaxis]).as_doubles()
    return (
        is_value.sum().is_greater(0.0).choose(is_value @ table, of_unknown[np.newaxis])
    )


def _of_features(
    cells: Value, table: NDArray[np.float64], of_missing: NDArray[np.float64]
) -> Value:
    """Add the mean of what the features of a column of text become that a row has."""
    has = (~cells.is_equal(0.0)).as_doubles()
    count = has.sum()
    mean = has @ table / count.at_least(1.0)
    return count.is_equal(0.0).choose(of_missing, mean)
