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
    bins_of_one = BINS / (2.0 * EDGE)
    shifted = rows + EDGE
    scaled = shifted * bins_of_one
    floors = scaled.apply("Floor")
    # What lies beyond the edges belongs to the outermost bins.
    inside = floors.at_least(0.0)
    bins = inside.at_most(BINS - 1.0)
    of_features = np.arange(singles, dtype=np.int64)
    first_cells = doubles(BINS * of_features)[np.newaxis]
    cells = bins.columns(of_features) + first_cells
    if len(pairs):
        numbers = np.arange(len(pairs))
        first_of_pairs = BINS * singles + PAIR_CELLS * numbers
        starts = doubles(first_of_pairs)[np.newaxis]
        first = bins.columns(pairs[:, 0])
        second = bins.columns(pairs[:, 1])
        share = 1.0 / COARSE
        share_of_first = first * share
        wide_first = share_of_first.apply("Floor")
        share_of_second = second * share
        wide_second = share_of_second.apply("Floor")
        row_of_fine = first * float(BINS)
        in_fine = row_of_fine + second
        fine = in_fine + starts
        row_of_coarse = wide_first * float(COARSE)
        in_coarse = row_of_coarse + wide_second
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
