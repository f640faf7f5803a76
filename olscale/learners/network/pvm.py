"""The projection vector machine, trained on all rows at once: the batch reference of ospvm."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.components import components_of
from olscale.compiled.csr import Rows, read_only_csr, rows_of
from olscale.learners.contract.estimator import Classifier
from olscale.learners.contract.learner import FloatArray
from olscale.learners.network.projection_network import Network, ProjectionNetwork, score_rows
from olscale.learners.reference.batch_machine import BatchMachine


class PVM(ProjectionNetwork, BatchMachine, Classifier):
    """Batch reference, not a one-pass learner: the projection vector machine of all rows.

    A network with one hidden layer whose weights are singular vectors. Of n rows x with mean mu the
    matrix ``[x - mu; 1]``, one column per row, is ``U S V'``; the first r columns of U are nodes,
    ``H = g([x - mu; 1]' U_r)`` with the sigmoid ``g(z) = 1 / (1 + e^-z)``, and ``beta = pinv(H) T``
    for targets T of 1 and -1, one column per class, or one for two classes. Scores are
    ``g([x - mu; 1]' U_r) beta``. It keeps every row, and is retrained whenever their number has
    doubled, as `olscale.learners.reference.batch_machine.BatchMachine` describes; the scores of the
    first 64 rows are 0.

    Notes
    -----
    State: all rows, as sparse ones. Training on n rows of d features makes them dense and takes
    ``O(n d min(n, d) + n r^2)``, for each doubling and for the test. Of H, singular values below
    ``max(n, r)`` times the rounding unit of the largest are left out. In each u the largest
    component is positive, the first of several; one node is constant (`projection_network`). While
    that is among the first r, ``g(-z) = 1 - g(z)`` makes scores the same for any signs. Where rows
    are long, as with pixels of 0 to 255, it comes last and g saturates: scale the rows, with the
    transform minmax, say. Directions of equal singular values are LAPACK's choice.

    References
    ----------
    W. Deng, Q. Zheng, S. Lian, L. Chen, Projection vector machine: one-stage learning algorithm
    from high-dimension small-sample data, IJCNN 2010, as section 2.2 of the OSPVM paper has it
    (`olscale.learners.network.ospvm.OSPVM`).

    Examples
    --------
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([0, 1, 2, 3], 5)
    >>> PVM(ratio=1.0).fit(X, y).predict(corners)
    array([0, 1, 2, 3])
    """

    name = "pvm"
    numbers_per_second = 1.4e9

    capacity: int = 10_000

    def _train(self, X: Any, y: NDArray[Any]) -> Network:
        found, z = components_of(X.toarray())
        return self._network(found, z, y)

    def _scores_by(self, count: int, X: Rows) -> FloatArray:
        scores = np.zeros((rows_of(X), self._outputs))
        if len(scores) and count:
            network: Network = self._trained(count)
            score_rows(read_only_csr(X), *network, scores)
        return scores

    def compile(self, X: Rows) -> None:
        """Compile all loops: another learner of this class is trained and scores rows."""
        fresh = type(self)(**self.get_params(deep=False))
        fresh.begin(2, self._classes)
        fresh.learn(np.eye(2), np.zeros(2, dtype=np.int64))
        fresh.scores(np.eye(2))

    def measures(self) -> dict[str, float]:
        """Return the shared measures and `nodes`, those of the network of all rows."""
        seen = int(self.state_["seen"][0])
        return {
            **super().measures(),
            "nodes": float(len(self._trained(seen).offset)) if seen else 0.0,
        }
