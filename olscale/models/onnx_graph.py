"""A graph of ONNX under construction: values that are computed, and arrays that they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ModelError
from olscale.models.final_model import FinalModel

OPSET = 17
IR = 8
"""Versions of 2022, which current runtimes read."""

_INT64 = 7
_STRING = 8
_DOUBLE = 11
"""Numbers of types in ONNX."""

Operand: TypeAlias = "Value | NDArray[Any] | float"
"""What a value is combined with."""


def doubles(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return an array as contiguous float64, the precision of all sums."""
    return np.ascontiguousarray(numbers, dtype=np.float64)


class Graph:
    """Nodes in the order of their computation.

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
                "ONNX needs the package onnx; install it with: pip install onnx"
            ) from None
        self._onnx = onnx
        self._nodes = list[Any]()
        self._arrays = list[Any]()

    def input(self, name: str) -> Value:
        """Return what the program passes under a name."""
        return Value(self, name)

    def add(
        self, kind: str, *inputs: Operand, output: str = "", **attributes: Any
    ) -> Value:
        """Add a node, return its output."""
        names = (output,) if output else self.new_names(1)
        return self.add_several(kind, names, *inputs, **attributes)[0]

    def new_names(self, count: int) -> tuple[str, ...]:
        """Return names for the outputs of the next node."""
        return tuple(f"n{len(self._nodes)}" + "_" * n for n in range(count))

    def add_several(
        self, kind: str, outputs: tuple[str, ...], *inputs: Operand, **attributes: Any
    ) -> list[Value]:
        """Add a node with outputs of these names, return them."""
        names = [self._name(item) for item in inputs]
        node = self._onnx.helper.make_node(kind, names, list(outputs), **attributes)
        self._nodes.append(node)
        return [Value(self, name) for name in outputs]

    def _name(self, item: Operand) -> str:
        if isinstance(item, Value):
            return item.name
        return self._array(np.asarray(item))

    def _array(self, array: NDArray[Any]) -> str:
        name = f"a{len(self._arrays)}"
        if array.dtype.kind == "U":
            texts: Any = [str(text).encode() for text in array.tolist()]
            self._arrays.append(
                self._onnx.helper.make_tensor(name, _STRING, array.shape, texts)
            )
        else:
            contiguous = np.ascontiguousarray(array).reshape(array.shape)
            self._arrays.append(self._onnx.numpy_helper.from_array(contiguous, name))
        return name

    def encode(self, model: FinalModel, outputs: Sequence[str]) -> bytes:
        """Return the graph as a file, from ``X`` to the outputs of these names."""
        helper = self._onnx.helper
        about = model.about
        infos = []
        for name in outputs:
            kind = _DOUBLE
            shape: list[str | None] = ["rows", None]
            if name == "label":
                kind = {"U": _STRING, "i": _INT64, "f": _DOUBLE}[
                    model.classes_.dtype.kind
                ]
                shape = ["rows"]
            infos.append(helper.make_tensor_value_info(name, kind, shape))
        X = helper.make_tensor_value_info("X", _DOUBLE, ["rows", model.n_features_in_])
        graph = helper.make_graph(self._nodes, "olscale", [X], infos, self._arrays)
        opsets = [helper.make_opsetid("", OPSET)]
        proto = helper.make_model(graph, opset_imports=opsets, ir_version=IR)
        proto.producer_name = "olscale"
        proto.producer_version = about.olscale
        noted = {
            "learner": f"{about.learner.name}, version {about.learner.version}",
            "transforms": ", ".join(about.transforms.names),
            "columns": "\n".join(about.columns.names or ()),
            "run": about.run or "",
        }
        helper.set_model_props(
            proto, {name: text for name, text in noted.items() if text}
        )
        data: bytes = proto.SerializeToString()
        return data


class Value:
    """What a node computes, of rows: combined as arrays of NumPy are, by further nodes.

    Reductions are over axis 1, features, unless another one is given, and keep it with length 1
    unless `keeps` is false.
    """

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def __add__(self, other: Operand) -> Value:
        return self.graph.add("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.graph.add("Sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.graph.add("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.add("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.add("Div", self, other)

    def __pow__(self, exponent: float) -> Value:
        return self.graph.add("Pow", self, exponent)

    def __matmul__(self, matrix: Operand) -> Value:
        return self.graph.add("MatMul", self, matrix)

    def __invert__(self) -> Value:
        return self.graph.add("Not", self)

    def apply(self, kind: str) -> Value:
        """Add a function of each number, by its name in ONNX."""
        return self.graph.add(kind, self)

    def is_equal(self, other: Operand) -> Value:
        """Add whether each number is `other`."""
        return self.graph.add("Equal", self, other)

    def is_greater(self, other: Operand) -> Value:
        """Add whether each number is greater than `other`."""
        return self.graph.add("Greater", self, other)

    def choose(self, first: Operand, second: Operand) -> Value:
        """Add `first` where these truths hold, else `second`."""
        return self.graph.add("Where", self, first, second)

    def as_doubles(self) -> Value:
        """Add truths or whole numbers as float64."""
        return self.graph.add("Cast", self, to=_DOUBLE)

    def as_integers(self) -> Value:
        """Add truths or numbers as int64."""
        return self.graph.add("Cast", self, to=_INT64)

    def at_least(self, least: float) -> Value:
        """Add the greater of each number and `least`."""
        return self.graph.add("Max", self, least)

    def at_most(self, most: float) -> Value:
        """Add the lesser of each number and `most`."""
        return self.graph.add("Min", self, most)

    def columns(self, places: NDArray[np.int64]) -> Value:
        """Add the features at these places, or the one at a single place without its axis."""
        return self.graph.add("Gather", self, places, axis=1)

    def concatenate(self, *others: Value) -> Value:
        """Add these features and, behind them, those of others."""
        return self.graph.add("Concat", self, *others, axis=1)

    def append_ones(self) -> Value:
        """Add these features and, behind them, one that is 1."""
        return self.graph.add("Pad", self, np.array([0, 0, 0, 1]), 1.0)

    def reshape(self, *shape: int) -> Value:
        """Add the same numbers in another shape; -1 stands for the number of rows."""
        return self.graph.add("Reshape", self, np.array(shape))

    def add_axis(self, axis: int) -> Value:
        """Add the same numbers with a new axis of length 1."""
        return self.graph.add("Unsqueeze", self, np.array([axis]))

    def sum(self, axis: int = 1, keeps: bool = True) -> Value:
        """Add sums."""
        return self.graph.add("ReduceSum", self, np.array([axis]), keepdims=int(keeps))

    def reduce(self, kind: str, axis: int = 1, keeps: bool = True) -> Value:
        """Add ``ReduceMax``, ``ReduceMin`` or ``ReduceMean``."""
        return self.graph.add(kind, self, axes=[axis], keepdims=int(keeps))

    def place_of(self, kind: str, keeps: bool = False) -> Value:
        """Add where ``ArgMax`` or ``ArgMin`` is, the first among equals."""
        return self.graph.add(
            kind, self, axis=1, keepdims=int(keeps), select_last_index=0
        )

    def square_norms(self) -> Value:
        """Add the squared norm of each row, shape (rows, 1)."""
        return (self * self).sum()

    def unit_rows(self) -> Value:
        """Add rows of length 1; rows of zeros stay as they are."""
        norms = self.square_norms().apply("Sqrt")
        return self / norms.is_equal(0.0).choose(1.0, norms)

    def square_distances(self, points: NDArray[np.float64]) -> Value:
        """Add the squared distance of each row and point, less the squared norm of the row."""
        norms: NDArray[np.float64] = np.square(points).sum(axis=1)[np.newaxis]
        return self @ points.T * -2.0 + norms

    def gaussians(self, points: NDArray[np.float64], gamma: Operand) -> Value:
        """Add ``exp(-gamma |x - s|^2)`` of each row and point."""
        distances = self.square_distances(points) + self.square_norms()
        # Rounding may leave less than 0.
        return (distances.at_least(0.0) * gamma * -1.0).apply("Exp")
