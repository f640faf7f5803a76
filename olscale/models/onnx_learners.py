"""Learners as nodes of ONNX: the form of each family."""

from __future__ import annotations

import numpy as np

from olscale.errors import ModelError
from olscale.learners.bayes.multinomial_naive_bayes import MultinomialNaiveBayes
from olscale.learners.bayes.naive_bayes import NaiveBayes
from olscale.learners.contract.learner import Learner
from olscale.learners.ensemble.drift_ensemble import DriftEnsemble
from olscale.learners.kernel.fogd import FOGD
from olscale.learners.kernel.kernel_learner import SupportVectorLearner
from olscale.learners.kernel.replay_svm import ReplaySVM
from olscale.learners.local.amm import AMM
from olscale.learners.local.lol import ILOL, LOL
from olscale.learners.local.ollc import OLLC
from olscale.learners.local.pamo import PAMO1
from olscale.learners.local.soft_lol import SoftLOL
from olscale.learners.neighbour.knn_window import KNNWindow
from olscale.learners.network.ipca_lda import IPCALDA
from olscale.learners.network.oselm import RandomNodes
from olscale.learners.network.pvm import ProjectionNetwork
from olscale.learners.network.rff_rls import FourierLayer
from olscale.learners.reference.batch_machine import BatchMachine
from olscale.learners.tiles.pair_tiles import PairTiles
from olscale.learners.tree.adaptive_forest import AdaptiveRandomForest
from olscale.learners.tree.adaptive_forest_r import AdaptiveRandomForestR
from olscale.learners.tree.fimt_dd import FIMTDD
from olscale.learners.tree.hoeffding_tree import HoeffdingTree
from olscale.models import onnx_distributions, onnx_local, onnx_networks
from olscale.models.onnx_ensemble import add_drift_ensemble
from olscale.models.onnx_forest import add_forest, add_regression_forest
from olscale.models.onnx_graph import Value, doubles
from olscale.models.onnx_kernels import add_replay_svm, add_support_vectors
from olscale.models.onnx_tiles import add_pair_tiles
from olscale.models.onnx_transforms import add_fourier_features
from olscale.models.onnx_trees import add_regression_tree, add_tree


def add_scores(learner: Learner, rows: Value, columns: int) -> Value:
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
        # It looks at no feature.
        scores = learner.scores(np.zeros((1, columns)))
        return rows @ np.zeros((columns, scores.shape[1])) + scores
    match learner:
        case AMM():
            return onnx_local.add_amm(learner, rows)
        case SupportVectorLearner():
            return add_support_vectors(learner, rows)
        case ReplaySVM():
            return add_replay_svm(learner, rows)
        case FOGD():
            features = add_fourier_features(rows, learner.frequencies())
            return features @ doubles(learner.state_["W"].T)
        case LOL() | ILOL():
            return onnx_local.add_lol(learner, rows)
        case SoftLOL():
            return onnx_local.add_soft_lol(learner, rows)
        case PAMO1():
            return onnx_local.add_pamo(learner, rows)
        case OLLC():
            return onnx_local.add_ollc(learner, rows)
        case KNNWindow():
            return onnx_distributions.add_neighbours(learner, rows)
        case NaiveBayes():
            return onnx_distributions.add_naive_bayes(learner, rows)
        case MultinomialNaiveBayes():
            return onnx_distributions.add_multinomial(learner, rows)
        case PairTiles():
            return add_pair_tiles(learner, rows, columns)
        case DriftEnsemble():
            return add_drift_ensemble(learner, rows, columns)
        case AdaptiveRandomForest():
            return add_forest(learner, rows)
        case AdaptiveRandomForestR():
            return add_regression_forest(learner, rows)
        case HoeffdingTree():
            return add_tree(learner, rows)
        case FIMTDD():
            return add_regression_tree(learner, rows)
        case RandomNodes():
            return onnx_networks.add_nodes(learner, rows)
        case FourierLayer():
            return onnx_networks.add_fourier_layer(learner, rows)
        case IPCALDA():
            return onnx_networks.add_discriminants(learner, rows)
        case ProjectionNetwork():
            return onnx_networks.add_projection(learner, rows)
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
    return rows @ doubles(np.atleast_2d(weights).T)
