"""Learners of support vectors as nodes of ONNX."""

from __future__ import annotations

import numpy as np

from olscale.compiled.support_arrays import dense_vectors
from olscale.learners.kernel.kernel_learner import SupportVectorLearner
from olscale.models.onnx_graph import Graph, doubles


def add_support_vectors(graph: Graph, learner: SupportVectorLearner, rows: str) -> str:
    """Add ``f = sum_s alpha_s k(s, x) + offset``, which is what all of them predict by."""
    state = learner.state_
    count = int(state["counts"][0])
    values = _kernel_values(graph, learner, rows)
    sums = graph.add("MatMul", [values, doubles(state["alpha"][:count] * state["scale"])])
    return graph.add("Add", [sums, state["offset"][np.newaxis]])


def _kernel_values(graph: Graph, learner: SupportVectorLearner, rows: str) -> str:
    state = learner.state_
    vectors = dense_vectors(state)
    gamma = float(state["gamma"][0])
    if learner.kernel == "gaussian":
        return graph.gaussians(rows, vectors, gamma)
    if learner.kernel == "laplacian":
        # Differences of all rows and vectors are held at once: callers pass few rows at a time.
        apart = graph.add("Sub", [graph.add("Unsqueeze", [rows, np.array([1])]), vectors])
        lengths = graph.add("ReduceSum", [graph.add("Abs", [apart]), np.array([2])], keepdims=0)
        return graph.add("Exp", [graph.add("Mul", [lengths, np.array(-gamma)])])
    products = graph.add("MatMul", [rows, vectors.T])
    if learner.kernel == "linear":
        return products
    scaled = graph.add("Mul", [products, np.array(gamma)])
    base = graph.add("Add", [scaled, np.array(float(learner.coef0))])
    return graph.add("Pow", [base, np.array(float(learner.degree))])
