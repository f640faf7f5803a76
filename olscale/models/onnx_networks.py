"""Networks as nodes of ONNX: a layer of features, and linear weights on them."""

from __future__ import annotations

import numpy as np

from olscale.errors import ModelError
from olscale.learners.network.fixed_layer import FixedLayer
from olscale.learners.network.ipca_lda import IPCALDA, Discriminants
from olscale.learners.network.oselm import RandomNodes
from olscale.learners.network.pvm import ProjectionNetwork
from olscale.learners.network.rff_rls import FourierLayer
from olscale.models.onnx_graph import Value, doubles
from olscale.models.onnx_transforms import add_fourier_features


def add_nodes(learner: RandomNodes, rows: Value) -> Value:
    """Add sigmoids or radial nodes, and the weights on them."""
    A = doubles(learner.state_["A"])
    b = doubles(learner.state_["b"])
    if learner.activation == "rbf":
        centres = doubles(A.T)
        features = rows.gaussians(centres, b)
    else:
        sums = rows @ A + b
        features = sums.apply("Sigmoid")
    return _weigh(learner, features)


def add_fourier_layer(learner: FourierLayer, rows: Value) -> Value:
    """Add random Fourier features, with the row itself where it is one, and their weights."""
    features = add_fourier_features(rows, learner.frequencies())
    if learner.linear:
        features = features.append_ones().concatenate(rows)
    return _weigh(learner, features)


def _weigh(learner: FixedLayer, features: Value) -> Value:
    state = learner.state_
    nodes = len(state["variances"])
    W = doubles(state["W"][:, :nodes].T)
    # Before the first solution W has sums, and scores are 0.
    if state["seen"][0] < learner.gathered_rows():
        W = np.zeros_like(W)
    return features @ W


def add_discriminants(learner: IPCALDA, rows: Value) -> Value:
    """Add the linear discriminants of all rows so far."""
    model: Discriminants | None = learner.final_model()
    if model is None:
        raise ModelError(f"learner {learner.name} has learned no row yet")
    weights = doubles(model.W)
    scores = rows @ weights + model.b
    if not model.absent.any():
        return scores
    if len(model.b) == 1:
        # The only class that has come is predicted.
        only = 1.0 if model.absent[0] else -1.0
        return scores * 0.0 + only
    present_codes = np.flatnonzero(~model.absent)
    present = scores.columns(present_codes)
    # Below all others: a class that has not come is never predicted.
    below = present.reduce("ReduceMin") - 1.0
    return rows.graph.add("Where", model.absent, below, scores)


def add_projection(learner: ProjectionNetwork, rows: Value) -> Value:
    """Add a projection vector machine: sigmoids of projections, and the weights on them."""
    network = learner.final_model()
    if network is None:
        raise ModelError(f"learner {learner.name} has learned no row yet")
    projections = rows @ doubles(network.W) + network.offset
    nodes = projections.apply("Sigmoid")
    return nodes @ doubles(network.beta)
