"""Transforms as nodes of ONNX, as they were at the end of the stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import to_dense
from olscale.data.transforms.base import Transform
from olscale.data.transforms.categories import CategoryTransform
from olscale.data.transforms.drop import Drop
from olscale.data.transforms.fourier import RandomFourier
from olscale.data.transforms.missing import Impute, MissingIndicator
from olscale.data.transforms.nystroem import Nystroem
from olscale.data.transforms.on_columns import OnColumns
from olscale.data.transforms.principal import IPCA, SVD
from olscale.data.transforms.projection import RandomProjection
from olscale.data.transforms.scaling import Bias, MinMax, RunningStandardize, Standardize, UnitNorm
from olscale.errors import ModelError
from olscale.models.onnx_categories import add_categories
from olscale.models.onnx_graph import DOUBLE, Graph

_MOST_NUMBERS = 1 << 27
"""Largest matrix that is written, 1 GB: a file of ONNX has at most 2 GB."""


def add_transform(graph: Graph, step: Transform, rows: str, columns: int) -> str:
    """Add a transform of `rows`, which have so many columns; return the transformed rows.

    Raises
    ------
    ModelError
        If it has no form in ONNX, or one that is too large.
    """
    match step:
        case Standardize() | MinMax():
            state = step.state()
            if "unit" in state:
                rows = graph.add("Mul", [rows, state["unit"]])
            return graph.add("Div", [graph.add("Sub", [rows, state["centre"]]), state["scale"]])
        case RunningStandardize():
            return _running(graph, step, rows)
        case Drop():
            kept = np.delete(np.arange(columns), step.column)
            return graph.add("Gather", [rows, kept], axis=1)
        case Bias():
            return graph.add("Pad", [rows, np.array([0, 0, 0, 1]), np.array(1.0)])
        case Impute():
            absent = graph.add("IsNaN", [rows])
            return graph.add("Where", [absent, _fill_values(step, columns), rows])
        case MissingIndicator():
            absent = graph.add("Cast", [graph.add("IsNaN", [rows])], to=DOUBLE)
            return graph.add("Concat", [rows, absent], axis=1)
        case UnitNorm():
            norms = graph.add("Sqrt", [graph.square_norms(rows)])
            empty = graph.add("Equal", [norms, np.array(0.0)])
            return graph.add("Div", [rows, graph.add("Where", [empty, np.array(1.0), norms])])
        case RandomProjection() | SVD() | IPCA():
            return _linear(graph, step, rows, columns)
        case RandomFourier():
            return _fourier(graph, step, rows, columns)
        case Nystroem():
            return _nystroem(graph, step, rows, columns)
        case OnColumns():
            return _on_columns(graph, step, rows, columns)
        case CategoryTransform():
            return add_categories(graph, step, rows)
    raise ModelError(f"transform {step.name} has no form in ONNX")


def _on_columns(graph: Graph, step: OnColumns, rows: str, columns: int) -> str:
    """Add a transform of some columns: it makes its own, and places put them where they belong."""
    if not len(step.chosen):
        return rows
    part = graph.add("Gather", [rows, step.chosen], axis=1)
    made = add_transform(graph, step.inner, part, len(step.chosen))
    together = graph.add("Concat", [rows, made], axis=1)
    return graph.add("Gather", [together, step.places(columns)], axis=1)


def _running(graph: Graph, step: RunningStandardize, rows: str) -> str:
    learned = step.learned
    varies = learned["squares"] > 0.0
    if np.isinf(learned["squares"]).any():
        raise ModelError(
            f"transform {step.name} has a variance beyond the range of numbers, by which every "
            "row is refused"
        )
    scale = np.ones(len(varies))
    scale[varies] = np.sqrt(learned["squares"][varies] / learned["count"][varies])
    scaled = graph.add("Div", [graph.add("Sub", [rows, learned["mean"]]), scale])
    # Missing values stay missing: they are multiplied, not replaced.
    return graph.add("Mul", [scaled, varies.astype(np.float64)])


def _fill_values(step: Impute, columns: int) -> NDArray[np.float64]:
    """Return what a missing value of each column becomes."""
    row = np.full((1, columns), np.nan)
    filled = step.apply(row, columns)
    return to_dense(filled, columns)


def _check_size(step: Transform, columns: int, features: int) -> None:
    if columns * features > _MOST_NUMBERS:
        raise ModelError(
            f"transform {step.name} is a matrix of {columns:,} x {features:,} numbers, and a "
            "file of ONNX holds 2 GB"
        )


def _linear(graph: Graph, step: Transform, rows: str, columns: int) -> str:
    """Add a transform that is a matrix and an offset: what it makes of unit vectors and of 0."""
    features = step.width(columns)
    _check_size(step, columns, features)
    offset = to_dense(step.apply(np.zeros((1, columns)), columns), features)
    matrix = to_dense(step.apply(np.eye(columns), columns), features) - offset
    return graph.add("Add", [graph.add("MatMul", [rows, matrix]), offset])


def _fourier(graph: Graph, step: RandomFourier, rows: str, columns: int) -> str:
    _check_size(step, columns, step.features // 2)
    frequencies = step.frequencies(columns)
    return add_fourier(graph, rows, frequencies)


def add_fourier(graph: Graph, rows: str, frequencies: NDArray[np.float64]) -> str:
    """Add the cosines, then the sines, of `rows` times `frequencies`, of length 1 in all."""
    angles = graph.add("MatMul", [rows, frequencies])
    waves = graph.add("Concat", [_wave(graph, "Cos", angles), _wave(graph, "Sin", angles)], axis=1)
    return graph.add("Mul", [waves, np.array(1.0 / np.sqrt(frequencies.shape[1]))])


def _wave(graph: Graph, kind: str, angles: str) -> str:
    return graph.add(kind, [angles])


def _nystroem(graph: Graph, step: Nystroem, rows: str, columns: int) -> str:
    vectors, gamma, matrix = step.kernel_matrix(columns)
    _check_size(step, columns, len(vectors))
    return graph.add("MatMul", [graph.gaussians(rows, vectors, gamma), matrix])
