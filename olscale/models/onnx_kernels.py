"""Learners of support vectors as nodes of ONNX."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from olscale.compiled.support_arrays import dense_vectors
from olscale.learners.kernel.kernel_learner import SupportVectorLearner
from olscale.learners.kernel.replay_learner import ReplayLearner
from olscale.learners.kernel.replay_machine import MACHINES
from olscale.learners.kernel.replay_svm import ReplaySVM
from olscale.models.onnx_graph import Value, doubles
from olscale.models.onnx_local import add_soft_lol


def add_support_vectors(learner: SupportVectorLearner, rows: Value) -> Value:
    """Add ``f = sum_s alpha_s k(s, x) + offset``, which is what all of them predict by."""
    state = learner.state_
    count = int(state["counts"][0])
    coefficients = state["alpha"][:count] * state["scale"]
    alpha = doubles(coefficients)
    values = _kernel_values(learner, rows)
    offset = state["offset"][np.newaxis]
    return values @ alpha + offset


def add_replay_svm(learner: ReplaySVM, rows: Value) -> Value:
    """Add the mixture of the machines, their means, the linear expert and the local one."""
    state = learner.state_
    unit = rows.append_ones().unit_rows()
    if state["gamma"][0] == 0.0:
        return unit @ doubles(state["W"])
    scores = unit @ doubles(learner.linear_coefficients())
    trust = state["trust"]
    for machine, values in add_kernels(learner, rows):
        now, mean = learner.coefficients(machine)
        of_now = trust[machine] * now
        of_mean = trust[MACHINES + machine] * mean
        weighted = doubles((of_now + of_mean).T)
        scores = scores + values @ weighted
    local = learner.local()
    if local is not None:
        local_trust = float(trust[-1])
        scores = scores + add_soft_lol(local, rows) * local_trust
    return scores


def add_kernels(learner: ReplayLearner, rows: Value) -> Iterator[tuple[int, Value]]:
    """Add the kernel values of all kept rows, for each machine that runs, with its number."""
    state = learner.state_
    vectors = dense_vectors(state)
    gamma = float(state["gamma"][0])
    values = rows.gaussians(vectors, gamma)
    running = np.flatnonzero(state["alive"])
    last = int(running[-1])
    for machine in range(last + 1):
        if machine > 0:
            values = values * values
        if state["alive"][machine]:
            yield machine, values


def _kernel_values(learner: SupportVectorLearner, rows: Value) -> Value:
    state = learner.state_
    vectors = dense_vectors(state)
    gamma = float(state["gamma"][0])
    if learner.kernel == "gaussian":
        return rows.gaussians(vectors, gamma)
    if learner.kernel == "laplacian":
        # Differences of all rows and vectors are held at once: callers pass few rows at a time.
        differences = rows.add_axis(1) - vectors
        absolute = differences.apply("Abs")
        lengths = absolute.sum(axis=2, keeps=False)
        exponents = lengths * -gamma
        return exponents.apply("Exp")
    products = rows @ doubles(vectors.T)
    if learner.kernel == "linear":
        return products
    sums = products * gamma + float(learner.coef0)
    return sums ** float(learner.degree)
