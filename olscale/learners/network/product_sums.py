"""Sums of products of features, by BLAS: ``Z'Z`` and ``T'Z`` over rows, in blocks.

BLAS always sees the same shapes on one thread, since rows wait until there are `AT_ONCE` of them,
however many come per call: no bit depends on the split. Another BLAS, or another kind of processor,
may give other bits.
"""

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.learner import FloatArray, State
from olscale.system.blas import one_blas_thread

AT_ONCE = 256


def no_products(width: int, outputs: int) -> State:
    """Return the sums of no rows of `width` features and `outputs` targets, and room for rows."""
    return {
        "products": np.zeros((width, width)),
        "targets": np.zeros((outputs, width)),
        "waiting": np.zeros((AT_ONCE, width)),
        "waiting_targets": np.zeros((AT_ONCE, outputs)),
        "rows": np.zeros(2, dtype=np.int64),  # all rows, and those waiting
    }


def room(sums: State) -> tuple[FloatArray, FloatArray]:
    """Return where the features and targets of the next rows go; `put` counts them."""
    waiting = sums["rows"][1]
    return sums["waiting"][waiting:], sums["waiting_targets"][waiting:]


def put(sums: State, count: int) -> None:
    """Count rows that were written where there is `room`; rows with target NaN add nothing.

    Call it inside `one_blas_thread`: entering that takes long compared to some rows.
    """
    waiting = int(sums["rows"][1])
    targets = sums["waiting_targets"][waiting : waiting + count]
    unknown = np.isnan(targets[:, 0])
    # Rows of zeros keep the shapes of the products, on which their bits depend.
    if left_out := int(np.count_nonzero(unknown)):
        targets[unknown] = 0.0
        sums["waiting"][waiting : waiting + count][unknown] = 0.0
    sums["rows"] += count - left_out, count
    if sums["rows"][1] == AT_ONCE:
        _add(sums)


def end_products(sums: State) -> State:
    """Return the sums including the waiting rows, with the upper half of the products."""
    with one_blas_thread():
        _add(sums)
    return {
        "products": sums["products"],
        "targets": sums["targets"],
        "rows": sums["rows"][:1],
    }


def packed(products: NDArray[np.float64], panel: int) -> FloatArray:
    """Return the upper half of a symmetric matrix in panels of `panel` rows.

    The layout is that of `olscale.compiled.half_matrix`.

    Examples
    --------
    >>> packed(np.array([[1.0, 2.0], [0.0, 3.0]]), panel=2).tolist()
    [1.0, 2.0, 2.0, 3.0]
    """
    panels = []
    for first in range(0, len(products), panel):
        # The tile on the diagonal is kept in full, so its lower part mirrors the upper one.
        lines = products[first : first + panel, first:].copy()
        tile = np.triu(lines[:, :panel])
        lines[:, :panel] = tile + np.triu(tile, 1).T
        panels.append(lines.ravel())
    return np.concatenate(panels)


def _add(sums: State) -> None:
    from scipy.linalg.blas import dgemm, dsyrk

    count = int(sums["rows"][1])
    sums["rows"][1] = 0
    if count:
        # Transposes fit the memory layout of BLAS; targets go first, while the features are in the
        # cache.
        Z = sums["waiting"][:count]
        T = sums["waiting_targets"][:count]
        dgemm(1.0, Z.T, T.T, beta=1.0, c=sums["targets"].T, trans_b=1, overwrite_c=1)
        dsyrk(1.0, Z.T, beta=1.0, c=sums["products"].T, lower=1, overwrite_c=1)
