"""Categories as numbers, as nodes of ONNX: a table of what each category becomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.data.transforms.categories import CategoryTransform
from olscale.models.onnx_graph import DOUBLE, Graph, doubles

_OF_ROW = np.array([1])
"""The axis of what belongs to a row."""


def add_categories(graph: Graph, step: CategoryTransform, rows: str) -> str:
    """Add the numbers of each column's category, one column after the other."""
    values, of_unknown = step.slot_values()
    by_value = step.learned["by_value"]
    missing = len(step.learned["column"])
    blocks: list[str | NDArray[np.float64]] = []
    for number in range(len(by_value)):
        features, slots = step.places_of(number)
        part = graph.add("Gather", [rows, features], axis=1)
        of_missing = doubles(values[missing + number])
        if by_value[number]:
            known = step.learned["values"][step.learned["owners"] == number]
            table = doubles(values[slots])
            blocks.append(_of_value(graph, part, known, table, of_missing, doubles(of_unknown)))
        else:
            blocks.append(_of_features(graph, part, doubles(values[features]), of_missing))
    return graph.add("Concat", [*blocks], axis=1)


def _of_value(
    graph: Graph,
    cells: str,
    known: NDArray[np.float64],
    table: NDArray[np.float64],
    of_missing: NDArray[np.float64],
    of_unknown: NDArray[np.float64],
) -> str:
    """Add what the value of a column of numbers becomes."""
    made = graph.add("MatMul", [cells, np.zeros((1, len(of_unknown)))])
    answer = graph.add("Add", [made, of_unknown])
    if len(known):
        is_value = graph.add("Cast", [graph.add("Equal", [cells, known[np.newaxis]])], to=DOUBLE)
        is_known = graph.add("Greater", [_sum(graph, is_value), np.array(0.0)])
        answer = graph.add("Where", [is_known, graph.add("MatMul", [is_value, table]), answer])
    return graph.add("Where", [graph.add("IsNaN", [cells]), of_missing[np.newaxis], answer])


def _of_features(
    graph: Graph, cells: str, table: NDArray[np.float64], of_missing: NDArray[np.float64]
) -> str:
    """Add the mean of what the features of a column of text become that a row has."""
    is_there = graph.add("Not", [graph.add("Equal", [cells, np.array(0.0)])])
    has = graph.add("Cast", [is_there], to=DOUBLE)
    count = _sum(graph, has)
    has_none = graph.add("Equal", [count, np.array(0.0)])
    divisor = graph.add("Where", [has_none, np.array(1.0), count])
    mean = graph.add("Div", [graph.add("MatMul", [has, table]), divisor])
    return graph.add("Where", [has_none, of_missing[np.newaxis], mean])


def _sum(graph: Graph, rows: str) -> str:
    return graph.add("ReduceSum", [rows, _OF_ROW], keepdims=1)
