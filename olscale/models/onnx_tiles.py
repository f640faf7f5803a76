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
    first_cells = doubles(BINS * of_features)[np.newaxis]
    cells = bins.columns(of_features) + first_cells
    if len(pairs):
        numbers = np.arange(len(pairs))
        first_of_pairs = BINS * singles + PAIR_CELLS * numbers
        starts = doubles(first_of_pairs)[np.newaxis]
        first = bins.columns(pairs[:, 0])
        second = bins.columns(pairs[:, 1])
        wide_first = (first * (1.0 / COARSE)).apply("Floor")
        wide_second = (second * (1.0 / COARSE)).apply("Floor")
        in_fine = first * float(BINS) + second
        fine = in_fine + starts
        in_coarse = wide_first * float(COARSE) + wide_second
        # The coarse cells of a pair follow its fine ones.
        coarse = in_coarse + starts + float(BINS * BINS)
        cells = cells.concatenate(fine, coarse)
    return cells.as_integers()


def add_table(table: NDArray[np.float64], cells: Value) -> Value:
    """Add the scores by a table."""
    values = cells.graph.add("Gather", doubles(table), cells, axis=0)
    sums = values.sum(axis=1, keeps=False)
    outputs = table.shape[1]
    return add_probabilities(sums, outputs)


def add_probabilities(sums: Value, outputs: int) -> Value:
    """Add the softmax of sums, of two classes ``2 p - 1`` for the sigmoid p of one sum."""
    if outputs == 1:
        of_second = sums.apply("Sigmoid")
        return of_second * 2.0 - 1.0
    return sums.graph.add("Softmax", sums, axis=1)
