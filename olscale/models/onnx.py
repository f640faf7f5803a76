"""Linear models as ONNX, for predictions by programs without Python.

A model qualifies if its learner has ``coef_`` and its transforms are linear (standardize, minmax,
bias, a column left out): ``scores = ((X units) - centre) / scale ... coef_'``, node by node in the
model's own precision, float64. Sums may run in another order there, so scores agree to rounding and
not bit for bit.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.transforms.base import Transform
from olscale.data.transforms.drop import Drop
from olscale.data.transforms.scaling import Bias, MinMax, Standardize
from olscale.errors import ModelError
from olscale.models.final_model import FinalModel
from olscale.storage.open import open_output
from olscale.system.paths import path_text

_OPSET = 17
_IR = 8
"""Versions of 2022, which current runtimes read."""


def export_onnx(model: FinalModel, file: str | os.PathLike[str]) -> None:
    """Write a linear model as ONNX, with the input ``X`` and the outputs ``label`` and ``scores``.

    Raises
    ------
    ModelError
        If the model is not linear, or the package onnx is missing.
    """
    nodes = _Nodes()
    rows = "X"
    width = model.n_features_in_
    for step in model.pipeline.steps:
        rows = nodes.transform(step, rows, width)
        width = step.width(width)
    weights = getattr(model.learner, "coef_", None)
    if weights is None:
        raise ModelError(
            f"learner {model.about.learner.name} is not linear: only linear models are written as "
            "ONNX"
        )
    if model.probabilities is not None and model.probabilities.decision is not None:
        raise ModelError(
            "the model decides by a threshold of calibrated probabilities, which is not written as "
            "ONNX; save one of a run without threshold"
        )
    nodes.add("MatMul", [rows, np.ascontiguousarray(weights.T, dtype=np.float64)], "scores")
    _labels(model, nodes)
    data = nodes.model(model)
    with open_output(path_text(file, "file")) as out:
        out.write(data)


def _labels(model: FinalModel, nodes: _Nodes) -> None:
    classes = model.about.classes
    if classes is None:
        return
    if len(classes) > 2:
        codes = nodes.add("ArgMax", ["scores"], axis=1, keepdims=0, select_last_index=0)
    else:
        first = nodes.add("Reshape", ["scores", np.array([-1])])
        positive = nodes.add("GreaterOrEqual", [first, np.array(0.0)])
        codes = nodes.add("Cast", [positive], to=_INT64)
        codes = nodes.add("Min", [codes, np.array(len(classes) - 1)])
    nodes.add("Gather", [np.array(classes), codes], "label", axis=0)


_INT64 = 7
_STRING = 8
_DOUBLE = 11
"""Numbers of types in ONNX."""


class _Nodes:
    """A graph under construction: nodes, and the arrays that they use."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise ModelError(
                "ONNX needs the package onnx; install it with: pip install olscale[onnx]"
            ) from None
        self._onnx = onnx
        self._nodes = list[Any]()
        self._arrays = list[Any]()

    def add(
        self, kind: str, inputs: list[str | NDArray[Any]], output: str = "", **attributes: Any
    ) -> str:
        """Add a node, return its output."""
        names = [item if isinstance(item, str) else self._array(item) for item in inputs]
        output = output or f"n{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, names, [output], **attributes))
        return output

    def _array(self, array: NDArray[Any]) -> str:
        name = f"a{len(self._arrays)}"
        if array.dtype.kind == "U":
            texts = [str(text).encode() for text in array.tolist()]
            self._arrays.append(self._onnx.helper.make_tensor(name, _STRING, array.shape, texts))
        else:
            self._arrays.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def transform(self, step: Transform, rows: str, columns: int) -> str:
        """Add a transform of `rows`."""
        match step:
            case Standardize() | MinMax():
                state = step.state()
                if "unit" in state:
                    rows = self.add("Mul", [rows, state["unit"]])
                return self.add("Div", [self.add("Sub", [rows, state["centre"]]), state["scale"]])
            case Drop():
                return self.add(
                    "Gather", [rows, np.delete(np.arange(columns), step.column)], axis=1
                )
            case Bias():
                return self.add("Pad", [rows, np.array([0, 0, 0, 1]), np.array(1.0)])
        raise ModelError(
            f"transform {step.name} is not linear: only linear models are written as ONNX"
        )

    def model(self, model: FinalModel) -> bytes:
        """Return the graph as a file."""
        helper = self._onnx.helper
        about = model.about
        outputs = [helper.make_tensor_value_info("scores", _DOUBLE, ["rows", None])]
        if about.classes is not None:
            kind = {"U": _STRING, "i": _INT64, "f": _DOUBLE}[model.classes_.dtype.kind]
            outputs.insert(0, helper.make_tensor_value_info("label", kind, ["rows"]))
        X = helper.make_tensor_value_info("X", _DOUBLE, ["rows", model.n_features_in_])
        graph = helper.make_graph(self._nodes, "olscale", [X], outputs, self._arrays)
        proto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR
        )
        proto.producer_name = "olscale"
        proto.producer_version = about.olscale
        data: bytes = proto.SerializeToString()
        return data
