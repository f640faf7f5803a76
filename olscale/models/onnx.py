"""Models as ONNX, for predictions by programs without Python.

Transforms as they are at the end of the stream, learners, and the calibration of probabilities
become standard operators, node by node in the model's own precision, float64. Sums may run in
another order there, so scores agree to rounding and not bit for bit.
"""

from __future__ import annotations

import os

import numpy as np

from olscale.models.final_model import FinalModel
from olscale.models.onnx_graph import INT64, Graph
from olscale.models.onnx_learners import add_scores
from olscale.models.onnx_probabilities import add_decisions, add_probabilities
from olscale.models.onnx_transforms import add_transform
from olscale.storage.open import open_output
from olscale.system.paths import path_text


def export_onnx(model: FinalModel, file: str | os.PathLike[str]) -> None:
    """Write a model as ONNX, with the input ``X`` and the outputs ``label`` and ``scores``.

    A classifier with calibrated probabilities has these as a third output, ``probabilities``.

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
    graph.add("Identity", [add_scores(graph, model.learner, rows, width)], "scores")
    has_probabilities = add_probabilities(graph, model)
    classes = model.about.classes
    if classes is not None:
        codes = add_decisions(graph, model, has_probabilities) or _likeliest(graph, len(classes))
        graph.add("Gather", [np.array(classes), codes], "label", axis=0)
    data = graph.encoded(model, has_probabilities)
    with open_output(path_text(file, "file")) as out:
        out.write(data)


def _likeliest(graph: Graph, classes: int) -> str:
    """Add the code of the class with the greatest score."""
    if classes > 2:
        return graph.add("ArgMax", ["scores"], axis=1, keepdims=0, select_last_index=0)
    first = graph.add("Reshape", ["scores", np.array([-1])])
    is_second = graph.add("GreaterOrEqual", [first, np.array(0.0)])
    return graph.add("Min", [graph.add("Cast", [is_second], to=INT64), np.array(classes - 1)])
