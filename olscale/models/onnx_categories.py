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
        missing = first_missing + number
        of_missing = doubles(values[[missing]])
        if by_value[number]:
            is_own = step.learned["owners"] == number
            known = step.learned["values"][is_own]
            table = doubles(values[slots])
            answer = _of_value(part, known, table, doubles(of_unknown))
            is_missing = part.apply("IsNaN")
            block = is_missing.choose(of_missing, answer)
        else:
            table = doubles(values[features])
            block = _of_features(part, table, of_missing)
        blocks.append(block)
    return blocks[0].concatenate(*blocks[1:])


def _of_value(
    cells: Value,
    known: NDArray[np.float64],
    table: NDArray[np.float64],
    of_unknown: NDArray[np.float64],
) -> Value:
    """Add what the value of a column of numbers becomes."""
    if not len(known):
        zeros = np.zeros((1, len(of_unknown)))
        return cells @ zeros + of_unknown
    is_value = cells.is_equal(known[np.newaxis]).as_doubles()
    is_known = is_value.sum().is_greater(0.0)
    of_known = is_value @ table
    return is_known.choose(of_known, of_unknown[np.newaxis])


def _of_features(
    cells: Value, table: NDArray[np.float64], of_missing: NDArray[np.float64]
) -> Value:
    """Add the mean of what the features of a column of text become that a row has."""
    has = (~cells.is_equal(0.0)).as_doubles()
    count = has.sum()
    sums = has @ table
    mean = sums / count.at_least(1.0)
    has_none = count.is_equal(0.0)
    return has_none.choose(of_missing, mean)
