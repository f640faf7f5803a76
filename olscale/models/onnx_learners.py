"""Learners as nodes of ONNX: linear, local, of support vectors, of random features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.support_arrays import dense_vectors
from olscale.errors import ModelError
from olscale.learners.contract.learner import Learner
from olscale.learners.kernel.fogd import FOGD
from olscale.learners.kernel.kernel_learner import SupportVectorLearner
from olscale.learners.kernel.nogd import NOGD
from olscale.learners.local.amm import AMM
from olscale.learners.local.lol import ILOL, LOL
from olscale.models.onnx_graph import Graph
from olscale.models.onnx_transforms import add_fourier


def add_scores(graph: Graph, learner: Learner, rows: str) -> str:
    """Add the scores of transformed `rows`, shape (rows, outputs).

    Raises
    ------
    ModelError
        If the learner has no form in ONNX.
    """
    weights = getattr(learner, "coef_", None)
    if isinstance(learner, AMM):
        raise ModelError(
            f"learner {learner.name} has several hyperplanes of each class, of which ONNX would "
            "need the best"
        )
    if weights is not None:
        return graph.add("MatMul", [rows, _doubles(weights.T)])
    match learner:
        case NOGD():
            return _nogd(graph, learner, rows)
        case SupportVectorLearner():
            return _support_vectors(graph, learner, rows)
        case FOGD():
            features = add_fourier(graph, rows, learner.frequencies())
            return graph.add("MatMul", [features, _doubles(learner.state_["W"].T)])
        case LOL() | ILOL() if learner.state_["U"].dtype == np.float64:
            return _local(graph, learner, rows)
    raise ModelError(
        f"learner {learner.name} has no form in ONNX: those with linear weights, support vectors, "
        "random Fourier features or lol's hyperplanes in float64 have one"
    )


def _doubles(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.ascontiguousarray(weights, dtype=np.float64)


def _kernel_values(graph: Graph, learner: SupportVectorLearner, rows: str) -> str:
    state = learner.state_
    vectors = dense_vectors(state)
    gamma = float(state["gamma"][0])
    if learner.kernel == "gaussian":
        return graph.gaussians(rows, vectors, gamma)
    if learner.kernel == "laplacian":
        raise ModelError(
            f"learner {learner.name} has a Laplacian kernel, for which ONNX would hold a "
            "difference of each row and vector at once"
        )
    products = graph.add("MatMul", [rows, vectors.T])
    if learner.kernel == "linear":
        return products
    scaled = graph.add("Mul", [products, np.array(gamma)])
    base = graph.add("Add", [scaled, np.array(float(learner.coef0))])
    return graph.add("Pow", [base, np.array(float(learner.degree))])


def _support_vectors(graph: Graph, learner: SupportVectorLearner, rows: str) -> str:
    state = learner.state_
    count = int(state["counts"][0])
    values = _kernel_values(graph, learner, rows)
    sums = graph.add("MatMul", [values, _doubles(state["alpha"][:count] * state["scale"])])
    return graph.add("Add", [sums, state["offset"][np.newaxis]])


def _nogd(graph: Graph, learner: NOGD, rows: str) -> str:
    raise ModelError(
        f"learner {learner.name} scores by Nystrom features once its budget is full; take the "
        "transform nystroem and ogd, which have a form in ONNX"
    )


def _local(graph: Graph, learner: LOL | ILOL, rows: str) -> str:
    """Add ``f = (W + U[p]) x`` of the nearest prototype p (eq. 14)."""
    state = learner.state_
    prototypes = _doubles(learner.prototypes_)
    count = len(prototypes)
    if not count:
        raise ModelError(f"learner {learner.name} has no prototypes yet: it has learned no row")
    products = graph.add("MatMul", [rows, prototypes.T])
    twice = graph.add("Mul", [products, np.array(-2.0)])
    distances = graph.add("Add", [twice, np.square(prototypes).sum(axis=1)[np.newaxis]])
    nearest = graph.add("ArgMin", [distances], axis=1, keepdims=0, select_last_index=0)
    planes = _doubles(state["U"][:count])
    if len(state["W"]):
        planes = planes + state["W"]
    chosen = graph.add("Gather", [planes, nearest], axis=0)
    as_matrix = graph.add("Unsqueeze", [rows, np.array([1])])
    scores = graph.add("MatMul", [as_matrix, chosen])
    return graph.add("Squeeze", [scores, np.array([1])])
