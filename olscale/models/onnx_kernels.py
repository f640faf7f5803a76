"""Learners of support vectors as nodes of ONNX."""

from __future__ import annotations

import numpy as np

from olscale.compiled.support_arrays import dense_vectors
from olscale.learners.kernel.kernel_learner import SupportVectorLearner
from olscale.models.onnx_graph import Value, doubles


def add_support_vectors(learner: SupportVectorLearner, rows: Value) -> Value:
    """Add ``f = sum_s alpha_s k(s, x) + offset``, which is what all of them predict by."""
    state = learner.state_
    count = int(state["counts"][0])
    alpha = doubles(state["alpha"][:count] * state["scale"])
    return _kernel_values(learner, rows) @ alpha + state["offset"][np.newaxis]


def _kernel_values(learner: SupportVectorLearner, rows: Value) -> Value:
    state = learner.state_
    vectors = dense_vectors(state)
    gamma = float(state["gamma"][0])
    if learner.kernel == "gaussian":
        return rows.gaussians(vectors, gamma)
    if learner.kernel == "laplacian":
        # Differences of all rows and vectors are held at once: callers pass few rows at a time.
        lengths = (rows.add_axis(1) - vectors).apply("Abs").sum(axis=2, keeps=False)
        return (lengths * -gamma).apply("Exp")
    products = rows @ doubles(vectors.T)
    if learner.kernel == "linear":
        return products
    return (products * gamma + float(learner.coef0)) ** float(learner.degree)
