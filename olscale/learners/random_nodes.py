"""Nodes of a network whose weights are drawn once and stay: sigmoids of random directions, and radial ones."""

from typing import Any, ClassVar

import numpy as np

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import LEAST, exponential, quotient
from olscale.compiled.rows import row_scores
from olscale.errors import ParameterError
from olscale.learners.contract.learner import FloatArray, State
from olscale.learners.contract.parameters import Choice, Domain, Maybe, Whole
from olscale.learners.fixed_layer import FixedLayer


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
    f, lengths = np.empty(nodes), np.zeros(nodes)
    for d in range(columns):
        for j in range(nodes):
            lengths[j] += A[d, j] * A[d, j]
    for i in range(Z.shape[0]):
        square = row_scores(X, i, A, f)
        z = Z[i]
        for j in range(nodes):
            z[j] = exponential(-b[j] * max(0.0, (square - 2.0 * f[j]) + lengths[j]))


class RandomNodes(FixedLayer):
    """Base of learners with such nodes, whatever their task; for parameters see `olscale.learners.oselm.OSELM`."""

    update_params = ("forget",)
    domains: ClassVar[dict[str, Domain]] = {
        "nodes": Whole(1),
        "activation": Choice(("sigmoid", "rbf")),
        "start": Choice(("ridge", "boost")),
        "N0": Maybe(Whole(1)),
        **FixedLayer.shared_domains,
        "seed": Whole(0),
    }

    def __init__(
        self,
        nodes: int = 100,
        activation: str = "sigmoid",
        start: str = "ridge",
        lam: float = 0.01,
        N0: int | None = None,
        forget: float = 1.0,
        block: int = 1,
        seed: int = 0,
    ) -> None:
        self.nodes = nodes
        self.activation = activation
        self.start = start
        self.lam = lam
        self.N0 = N0
        self.forget = forget
        self.block = block
        self.seed = seed

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
        """Return the ways around a large network."""
        return "take fewer nodes, or fewer features: transform project:features=500"

    def _count(self, columns: int) -> int:
        return int(self.nodes)

    def state_bytes(self, columns: int, classes: int) -> int:
        return super().state_bytes(columns, classes) + 8 * int(self.nodes) * (columns + 1)

    def _allocate(self, columns: int, outputs: int) -> State:
        nodes, rbf, random = int(self.nodes), self.activation == "rbf", self._random()
        A = random.uniform(-1.0, 1.0, (columns, nodes))
        b = random.uniform(0.0 if rbf else -1.0, 1.0, nodes)
        return {**super()._allocate(columns, outputs), "A": A, "b": b}

    def _set_features(self, X: Rows, state: State, Z: FloatArray) -> None:
        (set_radial if self.activation == "rbf" else set_sigmoids)(X, state["A"], state["b"], Z)
