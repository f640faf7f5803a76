"""Learners as nodes of ONNX: the form of each family."""

from __future__ import annotations

import numpy as np

from olscale.errors import ModelError
from olscale.learners.contract.learner import Learner
from olscale.learners.kernel.fogd import FOGD
from olscale.learners.kernel.kernel_learner import SupportVectorLearner
from olscale.learners.local.amm import AMM
from olscale.learners.local.lol import ILOL, LOL
from olscale.learners.local.ollc import OLLC
from olscale.learners.local.pamo import PAMO1
from olscale.learners.local.soft_lol import SoftLOL
from olscale.learners.network.ipca_lda import IPCALDA
from olscale.learners.network.oselm import RandomNodes
from olscale.learners.network.pvm import ProjectionNetwork
from olscale.learners.network.rff_rls import FourierLayer
from olscale.learners.reference.batch_machine import BatchMachine
from olscale.models.onnx_graph import Graph, doubles
from olscale.models.onnx_kernels import add_support_vectors
from olscale.models.onnx_local import add_lol, add_ollc, add_pamo, add_planes, add_soft_lol
from olscale.models.onnx_networks import (
    add_discriminants,
    add_fourier_layer,
    add_nodes,
    add_projection,
)
from olscale.models.onnx_transforms import add_fourier


def add_scores(graph: Graph, learner: Learner, rows: str, columns: int) -> str:
    """Add the scores of transformed `rows` of so many columns, shape (rows, outputs).

    Raises
    ------
    ModelError
        If the learner has no form in ONNX.
    """
    if getattr(learner, "dtype", "float64") == "float32":
        raise ModelError(
            f"learner {learner.name} has dtype=float32, whose sums ONNX would round elsewhere; "
            "take one with dtype=float64"
        )
    if learner.baseline:
        return _constant(graph, learner, rows, columns)
    match learner:
        case AMM():
            return add_planes(graph, learner, rows)
        case SupportVectorLearner():
            return add_support_vectors(graph, learner, rows)
        case FOGD():
            features = add_fourier(graph, rows, learner.frequencies())
            return graph.add("MatMul", [features, doubles(learner.state_["W"].T)])
        case LOL() | ILOL():
            return add_lol(graph, learner, rows)
        case SoftLOL():
            return add_soft_lol(graph, learner, rows)
        case PAMO1():
            return add_pamo(graph, learner, rows)
        case OLLC():
            return add_ollc(graph, learner, rows)
        case RandomNodes():
            return add_nodes(graph, learner, rows)
        case FourierLayer():
            return add_fourier_layer(graph, learner, rows)
        case IPCALDA():
            return add_discriminants(graph, learner, rows)
        case ProjectionNetwork():
            return add_projection(graph, learner, rows)
        case BatchMachine():
            raise ModelError(
                f"learner {learner.name} keeps all rows and trains a machine of scikit-learn on "
                "them where it predicts; skl2onnx writes such machines"
            )
    weights = getattr(learner, "coef_", None)
    if weights is None:
        raise ModelError(
            f"learner {learner.name} is not one of olscale's, and has no weights in coef_; a "
            "library that knows it can write it"
        )
    return graph.add("MatMul", [rows, doubles(np.atleast_2d(weights).T)])


def _constant(graph: Graph, learner: Learner, rows: str, columns: int) -> str:
    """Add the scores of a learner that looks at no feature."""
    scores = learner.scores(np.zeros((1, columns)))
    nothing = graph.add("MatMul", [rows, np.zeros((columns, scores.shape[1]))])
    return graph.add("Add", [nothing, scores])
