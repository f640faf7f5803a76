"""Nodes of a network with weights drawn once: sigmoids of random directions, and radial ones."""

from typing import Any

import numpy as np

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import LEAST, exponential, quotient
from olscale.compiled.rows import row_scores
from olscale.errors import ParameterError
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Choice, Maybe, Real, Whole, param
from olscale.learners.network.fixed_layer import FixedLayer


@compiled
def set_sigmoids(X: Any, A: Any, b: Any, Z: Any) -> None:
    """Set the first columns of `Z` to ``1 / (1 + exp(-(X A + b)))``."""
    nodes = b.shape[0]
    f = np.empty(nodes)
    for i in range(Z.shape[0]):
        row_scores(X, i, A, f)
        z = Z[i]
        for j in range(nodes):
            z[j] = quotient(1.0, 1.0 + exponential(min(-(f[j] + b[j]), -LEAST)))


@compiled
def set_radial(X: Any, A: Any, b: Any, Z: Any) -> None:
    """Set the first columns of `Z` to ``exp(-b_j |x - a_j|^2)``, for the columns a of `A`."""
    columns, nodes = A.shape
    f = np.empty(nodes)
    lengths = np.zeros(nodes)
    for d in range(columns):
        for j in range(nodes):
            lengths[j] += A[d, j] * A[d, j]
    for i in range(Z.shape[0]):
        square = row_scores(X, i, A, f)
        z = Z[i]
        for j in range(nodes):
            z[j] = exponential(-b[j] * max(0.0, (square - 2.0 * f[j]) + lengths[j]))


class RandomNodes(FixedLayer):
    """Base of learners with such nodes, for any task."""

    update_params = ("forget",)

    nodes: int = param(100, Whole(1), "Number of hidden nodes.")
    start: str = param(
        "ridge",
        Choice(("ridge", "boost")),
        "From the first row on, with a penalty; or the paper's: the first `N0` rows are scored 0 "
        "and only added up, then the least-squares solution of them is found, without a penalty.",
    )
    lam: float = param(
        0.01,
        Real(0.0, open_="low"),
        "Ridge penalty of the start. It means nothing with ``start='boost'``.",
    )
    N0: int | None = param(
        None,
        Maybe(Whole(1)),
        "Rows of the boosting phase, at least `nodes`; 100 more than `nodes` if it is not given, "
        "as the paper has it.",
    )
    block: int = param(
        1,
        Whole(1),
        "Rows that are learned together, counted from the first row behind the boosting phase: "
        "those of a block are predicted by the model before it, and so are others while it is not "
        "full.",
    )
    seed: int = param(0, Whole(0), "Number of the hidden layer; each permutation draws another.")
    activation = "sigmoid"
    """Kind of the nodes; a parameter of learners that offer a choice."""

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form."""
        params = super().resolved_params()
        if params["N0"] is not None and params["start"] == "ridge":
            raise ParameterError(
                f"learner {self.name}: N0 was {self.N0}, expected none with start=ridge; use "
                "start=boost"
            )
        if params["N0"] is not None and params["N0"] < params["nodes"]:
            raise ParameterError(
                f"learner {self.name}: N0 was {self.N0}, expected at least {self.nodes}, the "
                "number of nodes: "
                "fewer rows have no solution"
            )
        return params

    def start_rows(self, apart: bool) -> tuple[int, str]:
        if self._gathered():
            return self._gathered(), "take a smaller N0, fewer nodes, or start=ridge"
        return super().start_rows(apart)

    def _gathered(self) -> int:
        if self.start == "ridge":
            return 0
        return int(self.N0 if self.N0 is not None else self.nodes + 100)

    def cheaper(self) -> str:
        """Return how to avoid a large network."""
        return "take fewer nodes, or fewer features: transform project:features=500"

    def _count(self, columns: int) -> int:
        return int(self.nodes)

    def state_bytes(self, columns: int, classes: int) -> int:
        return super().state_bytes(columns, classes) + 8 * int(self.nodes) * (columns + 1)

    def _allocate(self, columns: int, outputs: int) -> State:
        nodes = int(self.nodes)
        rbf = self.activation == "rbf"
        random = self._random()
        A = random.uniform(-1.0, 1.0, (columns, nodes))
        b = random.uniform(0.0 if rbf else -1.0, 1.0, nodes)
        return {**super()._allocate(columns, outputs), "A": A, "b": b}

    def _set_features(self, X: Rows, state: State, Z: FloatArray) -> None:
        (set_radial if self.activation == "rbf" else set_sigmoids)(X, state["A"], state["b"], Z)
