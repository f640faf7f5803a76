"""The model of a kernel learner and a row to learn, as compiled loops use them, with updates."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.compiled.decorator import inlined
from olscale.compiled.dot import vector_dot
from olscale.compiled.intrinsics import flat
from olscale.compiled.rows_together import RowsTogether
from olscale.compiled.support_vectors import SupportVectors, put
from olscale.learners.contract.learner import FloatArray
from olscale.learners.kernel.kernels import Kernel

LEAST_SCALE = 1e-150
"""Below this, and above its inverse, the scale is multiplied into the coefficients."""


class Model(NamedTuple):
    """The state that a learner's update changes.

    Parameters
    ----------
    support : SupportVectors
    alpha : float64 array of shape (slots, outputs)
        Coefficients, to be multiplied by `scale`.
    scale, offset : float64 array of shape (outputs,)
        The offset is added to the scores.
    memory : float64 array of shape (outputs, numbers)
        Further numbers that the learner keeps.
    matrix : float64 array of shape (slots, slots)
        A matrix over the support vectors, for learners that keep one; else it has no rows.
    kernel : Kernel
    """

    support: SupportVectors
    alpha: FloatArray
    scale: FloatArray
    offset: FloatArray
    memory: FloatArray
    matrix: FloatArray
    kernel: Kernel


class Space(NamedTuple):
    """Arrays that hold what the loop knows of a row, and space for learners.

    Parameters
    ----------
    f : float64 array of shape (outputs,)
        Scores.
    target : float64 array of shape (outputs,)
        +1 or -1; in the max-score form +1 for the class, -1 for the best of the others, and 0. In a
        regression the target.
    margin : float64 array of shape (outputs,)
        ``target f``; in the max-score form, for both classes, the score of the class less that of
        its rival. In a regression ``target - f``.
    wrong : bool array of shape (outputs,)
        Whether the prediction is wrong: a score of 0 predicts +1, equal scores the first class. For
        classes only.
    step : float64 array of shape (outputs,)
        Space for the new coefficients.
    at, value, k, other : array
        Space for the places, the values and the kernel values of another row; `k` is for the
        current row.
    together : RowsTogether
        Space for rows whose products are computed together.
    """

    f: FloatArray
    target: FloatArray
    margin: FloatArray
    wrong: NDArray[np.bool_]
    step: FloatArray
    at: NDArray[np.int32]
    value: FloatArray
    k: FloatArray
    other: FloatArray
    together: RowsTogether


class KernelRow(NamedTuple):
    """A row to learn, with arrays of `Space`.

    Parameters
    ----------
    X : CSR
    i : int
        The row is row `i` of `X`.
    t : int
        Its number in the stream, from 1.
    size, own : float
        Its size and ``k(x, x)``.
    pair : bool
        Whether two outputs move together, as in the max-score form.
    weight : float
        How much the loss of the row counts, 1 where rows have no weights; only rules that `learns`
        registered as weighted use it.
    """

    X: CSR
    i: int
    t: int
    size: float
    own: float
    pair: bool
    f: FloatArray
    target: FloatArray
    margin: FloatArray
    wrong: NDArray[np.bool_]
    step: FloatArray
    at: NDArray[np.int32]
    value: FloatArray
    k: FloatArray
    other: FloatArray
    weight: float


@inlined
def combine(alpha: Any, scale: Any, k: Any, count: int, f: Any) -> None:
    """Set ``f_c = scale_c sum_s alpha_sc k_s``; each output is summed in eight groups of slots."""
    outputs = f.shape[0]
    if outputs == 1:
        # One column is contiguous: vectors of eight sums.
        f[0] = scale[0] * vector_dot(k[:count], flat(alpha))
    else:
        f[:] = 0.0
        for s in range(count):
            for c in range(outputs):
                f[c] += k[s] * alpha[s, c]
        for c in range(outputs):
            f[c] *= scale[c]


@inlined
def add(model: Any, row: Any, slot: int) -> None:
    """Put the row in an empty slot as a support vector with the coefficients `row.step`."""
    put(model.support, slot, row.X, row.i, row.size)
    for c in range(row.step.shape[0]):
        # Coefficients are stored without the scale, which shrinks all at once.
        model.alpha[slot, c] = row.step[c] / model.scale[c]


@inlined
def shrink(model: Any, c: int, factor: float) -> None:
    """Multiply all coefficients of output `c` by `factor`."""
    model.scale[c] *= factor
    # Before the scale under- or overflows.
    if not LEAST_SCALE < abs(model.scale[c]) < 1.0 / LEAST_SCALE:
        for s in range(model.support.counts[0]):
            model.alpha[s, c] *= model.scale[c]
        model.scale[c] = 1.0
