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

_LABEL_TYPES = {"U": _STRING, "i": _INT64, "f": _DOUBLE}
"""Kind of an array of class labels -> their type."""

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
        names = self.new_names(1)
        if output:
            names = (output,)
        [value] = self.add_several(kind, names, *inputs, **attributes)
        return value

    def new_names(self, count: int) -> tuple[str, ...]:
        """Return names for the outputs of the next node."""
        first = f"n{len(self._nodes)}"
        return tuple(first + "_" * n for n in range(count))

    def add_several(
        self, kind: str, outputs: tuple[str, ...], *inputs: Operand, **attributes: Any
    ) -> list[Value]:
        """Add a node with outputs of these names, return them."""
        helper = self._onnx.helper
        names = [self._name(item) for item in inputs]
        node = helper.make_node(kind, names, list(outputs), **attributes)
        self._nodes.append(node)
        return [Value(self, name) for name in outputs]

    def _name(self, item: Operand) -> str:
        if isinstance(item, Value):
            return item.name
        array = np.asarray(item)
        return self._array(array)

    def _array(self, array: NDArray[Any]) -> str:
        name = f"a{len(self._arrays)}"
        shape = array.shape
        if array.dtype.kind == "U":
            helper = self._onnx.helper
            texts: Any = [str(text).encode() for text in array.tolist()]
            tensor = helper.make_tensor(name, _STRING, shape, texts)
        else:
            # A single number would come back with an axis.
            contiguous = np.ascontiguousarray(array).reshape(shape)
            tensor = self._onnx.numpy_helper.from_array(contiguous, name)
        self._arrays.append(tensor)
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
                of_labels = model.classes_.dtype.kind
                kind = _LABEL_TYPES[of_labels]
                shape = ["rows"]
            info = helper.make_tensor_value_info(name, kind, shape)
            infos.append(info)
        rows_shape = ["rows", model.n_features_in_]
        X = helper.make_tensor_value_info("X", _DOUBLE, rows_shape)
        graph = helper.make_graph(self._nodes, "olscale", [X], infos, self._arrays)
        opset = helper.make_opsetid("", OPSET)
        proto = helper.make_model(graph, opset_imports=[opset], ir_version=IR)
        proto.producer_name = "olscale"
        proto.producer_version = about.olscale
        learner = about.learner
        columns = about.columns.names or ()
        noted = {
            "learner": f"{learner.name}, version {learner.version}",
            "transforms": ", ".join(about.transforms.names),
            "columns": "\n".join(columns),
            "run": about.run or "",
        }
        texts = {name: text for name, text in noted.items() if text}
        helper.set_model_props(proto, texts)
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
        pads = np.array([0, 0, 0, 1])  # before rows and columns, then behind them
        return self.graph.add("Pad", self, pads, 1.0)

    def reshape(self, *shape: int) -> Value:
        """Add the same numbers in another shape; -1 stands for the number of rows."""
        lengths = np.array(shape)
        return self.graph.add("Reshape", self, lengths)

    def add_axis(self, axis: int) -> Value:
        """Add the same numbers with a new axis of length 1."""
        axes = np.array([axis])
        return self.graph.add("Unsqueeze", self, axes)

    def sum(self, axis: int = 1, keeps: bool = True) -> Value:
        """Add sums."""
        axes = np.array([axis])
        return self.graph.add("ReduceSum", self, axes, keepdims=int(keeps))

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
        squares = self * self
        return squares.sum()

    def unit_rows(self) -> Value:
        """Add rows of length 1; rows of zeros stay as they are."""
        norms = self.square_norms().apply("Sqrt")
        is_zero = norms.is_equal(0.0)
        divisors = is_zero.choose(1.0, norms)
        return self / divisors

    def square_distances(self, points: NDArray[np.float64]) -> Value:
        """Add the squared distance of each row and point, less the squared norm of the row."""
        squares = np.square(points)
        norms: NDArray[np.float64] = squares.sum(axis=1)[np.newaxis]
        products = self @ points.T
        return products * -2.0 + norms

    def gaussians(self, points: NDArray[np.float64], gamma: Operand) -> Value:
        """Add ``exp(-gamma |x - s|^2)`` of each row and point."""
        partial_distances = self.square_distances(points)
        distances = partial_distances + self.square_norms()
        # Rounding may leave less than 0.
        exponents = distances.at_least(0.0) * gamma * -1.0
        return exponents.apply("Exp")
