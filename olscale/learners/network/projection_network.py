"""Networks whose nodes are principal directions: the common part of PVM and OSPVM.

A row, minus the mean of the rows and with a 1 appended, is projected on the first left singular
vectors of all such rows. Each vector is a node ``g(u.[x - mu; 1])`` with the sigmoid g, and least
squares give the weights of the nodes for each class. As the rows are centred, the 1 makes a
separate vector, which is 1 at the 1 and 0 elsewhere, with the singular value sqrt(n): a constant
node. The other nodes are principal components and have no constant part.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.components import Components
from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import exponential
from olscale.compiled.rows import row_scores
from olscale.learners.contract.learner import FloatArray, Learner
from olscale.learners.contract.parameters import Choice, Maybe, Real, Whole, param

_FAR = 708.0
"""Argument beyond which the exponential has no effect."""


class Network(NamedTuple):
    """Scores are ``g(x W + offset) beta``."""

    W: FloatArray
    offset: FloatArray
    beta: FloatArray


@compiled
def _activate(z: FloatArray) -> None:
    for j in range(z.shape[0]):
        z[j] = 1.0 / (1.0 + exponential(min(_FAR, -z[j])))


@compiled
def score_rows(
    X: Rows, W: FloatArray, offset: FloatArray, beta: FloatArray, scores: FloatArray
) -> None:
    """Set the scores of rows."""
    z = np.empty(offset.shape[0])
    for i in range(scores.shape[0]):
        row_scores(X, i, W, z)
        z += offset
        _activate(z)
        scores[i] = 0.0
        for j in range(z.shape[0]):
            for c in range(scores.shape[1]):
                scores[i, c] += z[j] * beta[j, c]


class ProjectionNetwork(Learner):
    """Base of learners with such a network."""

    nodes: int | None = param(
        None,
        Maybe(Whole(1)),
        "Nodes r; there are at most as many as singular values above 1e-10 of the largest.",
    )
    ratio: float = param(
        0.9,
        Real(0.0, 1.0, open_="low"),
        "Without `nodes`: r is the least number whose singular values add up to this part of the "
        "sum of all.",
    )
    ratio_of: str = param(
        "s",
        Choice(("s", "s2")),
        "Whether singular values are added up, or their squares: the formula of the paper is lost.",
    )
    lam: float = param(0.0, Real(0.0), "``beta = (H'H + lam)^-1 H'T``; 0 is the paper's.")

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form: `nodes`, or what determines their number."""
        params = super().resolved_params()
        unused = {"nodes"} if params["nodes"] is None else {"ratio", "ratio_of"}
        return {name: value for name, value in params.items() if name not in unused}

    def _network(self, of: Components, z: FloatArray, y: NDArray[np.int64]) -> Network:
        """Return the network of rows at `z` along components of centred rows or rows with a 1."""
        columns = self._columns
        centred = len(of.mean) == self._columns
        # For centred rows the 1 is a direction of its own, orthogonal to all others.
        s = np.append(of.s, np.sqrt(len(z))) if centred else of.s
        order = np.argsort(-s, kind="stable")[: self._count(np.sort(s)[::-1])]
        constant = order == len(of.s)  # at most one, and none where rows include the 1
        order = order[~constant]
        W, offset, H = (np.zeros((n, len(constant))) for n in (columns, 1, len(z)))
        W[:, ~constant] = of.U[:columns, order]
        H[:, ~constant] = z[:, order]
        offset[0] = 0.0 - of.mean[:columns] @ W if centred else of.U[columns, order]
        offset[:, constant] = 1.0
        H[:, constant] = 1.0
        _activate(H.reshape(-1))
        T = np.where(
            y[:, None] == (np.arange(self._outputs) if self._outputs > 1 else 1), 1.0, -1.0
        )
        return Network(W, offset[0], _least_squares(H, T, float(self.lam)))

    def _count(self, s: FloatArray) -> int:
        """Return the number of nodes."""
        if self.nodes is not None:
            return min(int(self.nodes), len(s))
        sums = np.cumsum(s / s[0] if self.ratio_of == "s" else (s / s[0]) ** 2)
        return 1 + int(np.count_nonzero(sums[:-1] < float(self.ratio) * sums[-1]))


def _least_squares(H: FloatArray, T: FloatArray, lam: float) -> FloatArray:
    """Return ``(H'H + lam)^-1 H'T`` without directions that are rounding.

    With `lam` 0 that is the pseudoinverse times T.
    """
    u, s, v = np.linalg.svd(H, full_matrices=False)
    used = s > max(H.shape) * np.finfo(np.float64).eps * s[0]
    u = u[:, used]
    s = s[used]
    v = v[used]
    beta: FloatArray = np.ascontiguousarray((v.T * (s / (s * s + lam))) @ (u.T @ T))
    return beta
