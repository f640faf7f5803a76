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
from olscale.data.transforms.scaling import (
    Bias,
    MinMax,
    RunningStandardize,
    Standardize,
    UnitNorm,
)
from olscale.errors import ModelError
from olscale.models.onnx_categories import add_categories
from olscale.models.onnx_graph import Value

_MOST_NUMBERS = 1 << 27
"""Largest matrix that is written, 1 GB: a file of ONNX has at most 2 GB."""


def add_transform(step: Transform, rows: Value, columns: int) -> Value:
    """Add a transform of `rows`, which have so many columns.

    Raises
    ------
    ModelError
        If it has no form in ONNX, or one that is too large.
    """
    match step:
        case Standardize() | MinMax():
            state = step.state()
            if "unit" in state:
                rows = rows * state["unit"]
            centred = rows - state["centre"]
            return centred / state["scale"]
        case RunningStandardize():
            return _running(step, rows)
        case Drop():
            remaining = np.delete(np.arange(columns), step.column)
            return rows.columns(remaining)
        case Bias():
            return rows.append_ones()
        case Impute():
            is_missing = rows.apply("IsNaN")
            fill_values = _fill_values(step, columns)
            return is_missing.choose(fill_values, rows)
        case MissingIndicator():
            indicators = rows.apply("IsNaN").as_doubles()
            return rows.concatenate(indicators)
        case UnitNorm():
            return rows.unit_rows()
        case RandomProjection() | SVD() | IPCA():
            return _linear(step, rows, columns)
        case RandomFourier():
            _check_size(step, columns, step.features // 2)
            return add_fourier_features(rows, step.frequencies(columns))
        case Nystroem():
            vectors, gamma, matrix = step.kernel_matrix(columns)
            _check_size(step, columns, len(vectors))
            kernel_values = rows.gaussians(vectors, gamma)
            return kernel_values @ matrix
        case OnColumns():
            return _on_columns(step, rows, columns)
        case CategoryTransform():
            return add_categories(step, rows)
    raise ModelError(
        f"transform {step.name} is not one of olscale's; a library that knows it can write it"
    )


def _on_columns(step: OnColumns, rows: Value, columns: int) -> Value:
    """Add a transform of some columns: it makes its own, and places put them where they belong."""
    if not len(step.chosen):
        return rows
    chosen = rows.columns(step.chosen)
    transformed = add_transform(step.inner, chosen, len(step.chosen))
    places = step.places(columns)
    return rows.concatenate(transformed).columns(places)


def _running(step: RunningStandardize, rows: Value) -> Value:
    learned = step.learned
    squares = learned["squares"]
    varies = squares > 0.0
    if np.isinf(squares).any():
        raise ModelError(
            f"transform {step.name} has a variance beyond the range of numbers, by which every "
            "row is refused"
        )
    scale = np.ones(len(varies))
    variances = squares[varies] / learned["count"][varies]
    scale[varies] = np.sqrt(variances)
    centred = rows - learned["mean"]
    scaled = centred / scale
    # Missing values stay missing: they are multiplied, not replaced.
    return scaled * varies.astype(np.float64)


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


def _linear(step: Transform, rows: Value, columns: int) -> Value:
    """Add a transform that is a matrix and an offset: what it makes of unit vectors and of 0."""
    features = step.width(columns)
    _check_size(step, columns, features)
    zeros = np.zeros((1, columns))
    offset = to_dense(step.apply(zeros, columns), features)
    unit_vectors = np.eye(columns)
    images = to_dense(step.apply(unit_vectors, columns), features)
    matrix = images - offset
    return rows @ matrix + offset


def add_fourier_features(rows: Value, frequencies: NDArray[np.float64]) -> Value:
    """Add the cosines, then the sines, of `rows` times `frequencies`, of length 1 in all."""
    angles = rows @ frequencies
    cosines = angles.apply("Cos")
    sines = angles.apply("Sin")
    waves = cosines.concatenate(sines)
    scale = float(1.0 / np.sqrt(frequencies.shape[1]))
    return waves * scale
