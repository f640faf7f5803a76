"""Pair tiles as nodes of ONNX: the cells of a row are looked up in the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.learners.tiles.pair_tiles import MOST_SINGLES, PairTiles
from olscale.learners.tiles.pair_tiles_loop import BINS, COARSE, EDGE, PAIR_CELLS
from olscale.models.onnx_graph import Value, doubles


def add_pair_tiles(learner: PairTiles, rows: Value, columns: int) -> Value:
    """Add the probabilities of classes, ``2 p - 1`` of two classes."""
    cells = add_cells(learner.state_["pairs"], rows, columns)
    return add_table(learner.state_["table"], cells)


def add_cells(pairs: NDArray[np.int64], rows: Value, columns: int) -> Value:
    """Add the numbers of the cells that each row is in."""
    singles = min(columns, MOST_SINGLES)
    scaled = (rows + EDGE) * (BINS / (2.0 * EDGE))
    bins = scaled.apply("Floor").at_least(0.0).at_most(BINS - 1.0)
    of_features = np.arange(singles, dtype=np.int64)
    cells = bins.columns(of_features) + doubles(BINS * of_features)[np.newaxis]
    if len(pairs):
        starts = doubles(BINS * singles + PAIR_CELLS * np.arange(len(pairs)))[
            np.newaxis
        ]
        first = bins.columns(pairs[:, 0])
        second = bins.columns(pairs[:, 1])
        wide_first = (first * (1.0 / COARSE)).apply("Floor")
        wide_second = (second * (1.0 / COARSE)).apply("Floor")
        fine = first * float(BINS) + second + starts
        coarse = wide_first * float(COARSE) + wide_second + starts + float(BINS * BINS)
        cells = cells.concatenate(fine, coarse)
    return cells.as_integers()


def add_table(table: NDArray[np.float64], cells: Value) -> Value:
    """Add the scores by a table."""
    values = cells.graph.add("Gather", doubles(table), cells, axis=0)
    return add_probabilities(values.sum(axis=1, keeps=False), table.shape[1])


def add_probabilities(sums: Value, outputs: int) -> Value:
    """Add the softmax of sums, of two classes ``2 p - 1`` for the sigmoid p of one sum."""
    if outputs == 1:
        return sums.apply("Sigmoid") * 2.0 - 1.0
    return sums.graph.add("Softmax", sums, axis=1)
