"""Networks as nodes of ONNX: a layer of features, and linear weights on them."""

from __future__ import annotations

import numpy as np

from olscale.errors import ModelError
from olscale.learners.network.fixed_layer import FixedLayer
from olscale.learners.network.ipca_lda import IPCALDA
from olscale.learners.network.oselm import RandomNodes
from olscale.learners.network.pvm import ProjectionNetwork
from olscale.learners.network.rff_rls import FourierLayer
from olscale.models.onnx_graph import Graph, doubles
from olscale.models.onnx_transforms import add_fourier


def add_nodes(graph: Graph, learner: RandomNodes, rows: str) -> str:
    """Add sigmoids or radial nodes, and the weights on them."""
    A = doubles(learner.state_["A"])
    b = doubles(learner.state_["b"])
    if learner.activation == "rbf":
        products = graph.add("Mul", [graph.add("MatMul", [rows, A]), np.array(-2.0)])
        squares = graph.add("Add", [products, graph.square_norms(rows)])
        apart = graph.add("Add", [squares, np.square(A).sum(axis=0)[np.newaxis]])
        distances = graph.add("Max", [apart, np.array(0.0)])
        features = graph.add("Exp", [graph.add("Mul", [distances, -b])])
    else:
        features = graph.add("Sigmoid", [graph.add("Add", [graph.add("MatMul", [rows, A]), b])])
    return _weighted(graph, learner, features)


def add_fourier_layer(graph: Graph, learner: FourierLayer, rows: str) -> str:
    """Add random Fourier features, with the row itself where it is one, and their weights."""
    features = add_fourier(graph, rows, learner.frequencies())
    if learner.linear:
        ones = graph.add("Pad", [features, np.array([0, 0, 0, 1]), np.array(1.0)])
        features = graph.add("Concat", [ones, rows], axis=1)
    return _weighted(graph, learner, features)


def _weighted(graph: Graph, learner: FixedLayer, features: str) -> str:
    state = learner.state_
    W = doubles(state["W"][:, : len(state["variances"])])
    if state["seen"][0] < learner.gathered_rows():
        # Before the first solution W has sums, and scores are 0.
        W = np.zeros_like(W)
    return graph.add("MatMul", [features, doubles(W.T)])


def add_discriminants(graph: Graph, learner: IPCALDA, rows: str) -> str:
    """Add the linear discriminants of all rows so far."""
    model = learner.final_model()
    if model is None:
        raise ModelError(f"learner {learner.name} has learned no row yet")
    scores = graph.add("Add", [graph.add("MatMul", [rows, doubles(model.W)]), model.b])
    if not model.absent.any():
        return scores
    if len(model.b) == 1:
        only = 1.0 if model.absent[0] else -1.0
        return graph.add("Add", [graph.add("Mul", [scores, np.array(0.0)]), np.array(only)])
    # A class that has not come is never predicted.
    present = graph.add("Gather", [scores, np.flatnonzero(~model.absent)], axis=1)
    least = graph.add("ReduceMin", [present], axes=[1], keepdims=1)
    below = graph.add("Sub", [least, np.array(1.0)])
    return graph.add("Where", [model.absent, below, scores])


def add_projection(graph: Graph, learner: ProjectionNetwork, rows: str) -> str:
    """Add a projection vector machine: sigmoids of projections, and the weights on them."""
    network = learner.final_model()
    if network is None:
        raise ModelError(f"learner {learner.name} has learned no row yet")
    projected = graph.add("MatMul", [rows, doubles(network.W)])
    nodes = graph.add("Sigmoid", [graph.add("Add", [projected, network.offset])])
    return graph.add("MatMul", [nodes, doubles(network.beta)])
