"""Models as ONNX, for predictions by programs without Python.

Transforms as they are at the end of the stream, learners, and the calibration of probabilities
become standard operators, node by node in the model's own precision, float64. Sums may run in
another order there, so scores agree to rounding and not bit for bit.
"""

from __future__ import annotations

import os

import numpy as np

from olscale.models.final_model import FinalModel
from olscale.models.onnx_graph import Graph, Value
from olscale.models.onnx_learners import add_scores
from olscale.models.onnx_probabilities import add_decisions, add_probabilities
from olscale.models.onnx_transforms import add_transform
from olscale.storage.open import open_output
from olscale.system.paths import path_text


def export_onnx(model: FinalModel, file: str | os.PathLike[str]) -> list[str]:
    """Write a model as ONNX, with the input ``X`` and the outputs ``label`` and ``scores``.

    A classifier with probabilities, its own or calibrated, has these as a third output,
    ``probabilities``; a regression or novelty detection has ``scores`` alone. Returns the names of
    the outputs.

    Raises
    ------
    ModelError
        If a part of the model has no form in ONNX, or the package onnx is missing.
    """
    graph = Graph()
    rows = graph.input("X")
    width = model.n_features_in_
    for step in model.pipeline.steps:
        rows = add_transform(step, rows, width)
        width = step.width(width)
    scores = add_scores(model.learner, rows, width)
    # An output needs a name of its own, and the scores may be those of an inner node
    # that others read.
    graph.add("Identity", scores, output="scores")
    probabilities = add_probabilities(model, scores)
    if probabilities is not None:
        graph.add("Identity", probabilities, output="probabilities")
    classes = model.about.classes
    if classes is not None:
        codes = add_decisions(model, probabilities)
        if codes is None:
            codes = _likeliest(scores, len(classes))
        labels = np.array(classes)
        graph.add("Gather", labels, codes, output="label", axis=0)
    outputs = ["scores"]
    if classes is not None:
        outputs.insert(0, "label")
    if probabilities is not None:
        outputs.append("probabilities")
    data = graph.encode(model, outputs)
    with open_output(path_text(file, "file")) as out:
        out.write(data)
    return outputs


def _likeliest(scores: Value, classes: int) -> Value:
    """Add the code of the class with the greatest score."""
    if classes > 2:
        return scores.place_of("ArgMax")
    graph = scores.graph
    of_rows = scores.reshape(-1)
    is_second = graph.add("GreaterOrEqual", of_rows, 0.0)
    # A model of a single class has no second one.
    last_code = np.array(classes - 1)
    return graph.add("Min", is_second.as_integers(), last_code)
