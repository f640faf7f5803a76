"""Models as ONNX, for predictions by programs without Python.

Transforms that are fixed at the end of the stream, and learners that are linear, local, of support
vectors or of random Fourier features, become standard operators, node by node in the model's own
precision, float64. Sums may run in another order there, so scores agree to rounding and not bit for
bit.
"""

from __future__ import annotations

import os

import numpy as np

from olscale.errors import ModelError
from olscale.models.final_model import FinalModel
from olscale.models.onnx_graph import INT64, Graph
from olscale.models.onnx_learners import add_scores
from olscale.models.onnx_transforms import add_transform
from olscale.storage.open import open_output
from olscale.system.paths import path_text


def export_onnx(model: FinalModel, file: str | os.PathLike[str]) -> None:
    """Write a model as ONNX, with the input ``X`` and the outputs ``label`` and ``scores``.

    Raises
    ------
    ModelError
        If a part of the model has no form in ONNX, or the package onnx is missing.
    """
    graph = Graph()
    rows = "X"
    width = model.n_features_in_
    for step in model.pipeline.steps:
        rows = add_transform(graph, step, rows, width)
        width = step.width(width)
    if model.probabilities is not None and model.probabilities.decision is not None:
        raise ModelError(
            "the model decides by a threshold of calibrated probabilities, which is not written as "
            "ONNX; save one of a run without threshold"
        )
    graph.add("Identity", [add_scores(graph, model.learner, rows)], "scores")
    _labels(model, graph)
    data = graph.encoded(model)
    with open_output(path_text(file, "file")) as out:
        out.write(data)


def _labels(model: FinalModel, graph: Graph) -> None:
    classes = model.about.classes
    if classes is None:
        return
    if len(classes) > 2:
        codes = graph.add("ArgMax", ["scores"], axis=1, keepdims=0, select_last_index=0)
    else:
        first = graph.add("Reshape", ["scores", np.array([-1])])
        positive = graph.add("GreaterOrEqual", [first, np.array(0.0)])
        codes = graph.add("Cast", [positive], to=INT64)
        codes = graph.add("Min", [codes, np.array(len(classes) - 1)])
    graph.add("Gather", [np.array(classes), codes], "label", axis=0)
