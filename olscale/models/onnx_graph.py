"""A graph of ONNX under construction: nodes, and the arrays that they use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ModelError
from olscale.models.final_model import FinalModel

OPSET = 17
IR = 8
"""Versions of 2022, which current runtimes read."""

INT64 = 7
STRING = 8
DOUBLE = 11
"""Numbers of types in ONNX."""


def doubles(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return an array as contiguous float64, the precision of all sums."""
    return np.ascontiguousarray(numbers, dtype=np.float64)


class Graph:
    """Nodes in the order of their computation.

    Values are named by the texts that `add` returns; an input may also be an array.

    Raises
    ------
    ModelError
        If the package onnx is missing.
    """

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

    def add_two(
        self, kind: str, inputs: list[str | NDArray[Any]], **attributes: Any
    ) -> tuple[str, str]:
        """Add a node of two outputs, return these."""
        names = [item if isinstance(item, str) else self._array(item) for item in inputs]
        outputs = (f"n{len(self._nodes)}", f"n{len(self._nodes)}second")
        self._nodes.append(self._onnx.helper.make_node(kind, names, list(outputs), **attributes))
        return outputs

    def _array(self, array: NDArray[Any]) -> str:
        name = f"a{len(self._arrays)}"
        if array.dtype.kind == "U":
            texts: Any = [str(text).encode() for text in array.tolist()]
            self._arrays.append(self._onnx.helper.make_tensor(name, STRING, array.shape, texts))
        else:
            contiguous = np.ascontiguousarray(array).reshape(array.shape)
            self._arrays.append(self._onnx.numpy_helper.from_array(contiguous, name))
        return name

    def square_norms(self, rows: str) -> str:
        """Add the squared norm of each of `rows`, shape (rows, 1)."""
        squares = self.add("Mul", [rows, rows])
        return self.add("ReduceSum", [squares, np.array([1])], keepdims=1)

    def gaussians(self, rows: str, vectors: NDArray[np.float64], gamma: float) -> str:
        """Add ``exp(-gamma |x - s|^2)`` of each of `rows` and of `vectors`."""
        products = self.add("MatMul", [rows, vectors.T])
        twice = self.add("Mul", [products, np.array(-2.0)])
        ends = np.square(vectors).sum(axis=1)[np.newaxis]
        apart = self.add("Add", [self.add("Add", [twice, self.square_norms(rows)]), ends])
        distances = self.add("Max", [apart, np.array(0.0)])  # rounding may leave less than 0
        return self.add("Exp", [self.add("Mul", [distances, np.array(-gamma)])])

    def encoded(self, model: FinalModel, has_probabilities: bool) -> bytes:
        """Return the graph as a file, from ``X`` to all outputs."""
        helper = self._onnx.helper
        about = model.about
        outputs = [helper.make_tensor_value_info("scores", DOUBLE, ["rows", None])]
        if about.classes is not None:
            kind = {"U": STRING, "i": INT64, "f": DOUBLE}[model.classes_.dtype.kind]
            outputs.insert(0, helper.make_tensor_value_info("label", kind, ["rows"]))
        if has_probabilities:
            outputs.append(helper.make_tensor_value_info("probabilities", DOUBLE, ["rows", None]))
        X = helper.make_tensor_value_info("X", DOUBLE, ["rows", model.n_features_in_])
        graph = helper.make_graph(self._nodes, "olscale", [X], outputs, self._arrays)
        proto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR
        )
        proto.producer_name = "olscale"
        proto.producer_version = about.olscale
        noted = {
            "learner": f"{about.learner.name}, version {about.learner.version}",
            "transforms": ", ".join(about.transforms.names),
            "columns": "\n".join(about.columns.names or ()),
            "run": about.run or "",
        }
        helper.set_model_props(proto, {name: text for name, text in noted.items() if text})
        data: bytes = proto.SerializeToString()
        return data
