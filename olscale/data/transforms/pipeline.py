"""Transforms by name, and several of them fitted one after another."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from olscale.compiled.csr import Rows, read_only_rows, values_of
from olscale.data.chunk import Chunk
from olscale.data.transforms.base import Transform, dense_rows
from olscale.data.transforms.drop import Drop
from olscale.data.transforms.known_columns import known_columns
from olscale.data.transforms.missing import Impute, MissingIndicator
from olscale.data.transforms.on_columns import OnColumns, bound_steps, split_choice
from olscale.data.transforms.streaming import StreamingSteps, StreamLabels, go_through
from olscale.errors import ParameterError, UnknownNameError
from olscale.named_parameters import check_once, parse_named, parse_value
from olscale.registry import Registry
from olscale.storage.canonical_json import json_digest

if TYPE_CHECKING:
    from olscale.data.manifest import Manifest

BLOCK_BYTES = 1 << 25
"""Bytes of rows that are transformed at once: a sparse chunk can be a very large dense one.

The C library keeps memory of up to so many bytes for the next block; more of it would be new each
time, and the system clears it page by page.
"""

TRANSFORMS: Registry[type[Transform]] = Registry(
    "transform",
    {
        "standardize": "olscale.data.transforms.scaling:Standardize",
        "minmax": "olscale.data.transforms.scaling:MinMax",
        "unit-norm": "olscale.data.transforms.scaling:UnitNorm",
        "bias": "olscale.data.transforms.scaling:Bias",
        "project": "olscale.data.transforms.projection:RandomProjection",
        "rff": "olscale.data.transforms.fourier:RandomFourier",
        "nystroem": "olscale.data.transforms.nystroem:Nystroem",
        "svd": "olscale.data.transforms.principal:SVD",
        "impute": "olscale.data.transforms.missing:Impute",
        "missing-indicator": "olscale.data.transforms.missing:MissingIndicator",
        "running-standardize": "olscale.data.transforms.scaling:RunningStandardize",
        "ipca": "olscale.data.transforms.principal:IPCA",
        "ordinal-encode": "olscale.data.transforms.encoders:OrdinalEncode",
        "target-encode": "olscale.data.transforms.encoders:TargetEncode",
        "frequency-encode": "olscale.data.transforms.encoders:FrequencyEncode",
    },
)


def make_transform(text: str) -> Transform:
    """Return the transform of ``NAME`` or ``NAME:param=value,param=value``.

    A value without a name is that of the first parameter. With ``@COLUMNS`` at the end it is for
    these columns (`OnColumns`), and is bound to a dataset before it is used.

    Raises
    ------
    UnknownNameError
        If there is no such transform or parameter.
    ParameterError
        If a value is outside its domain, or one is missing.

    Examples
    --------
    >>> make_transform("project:100").width(5000)
    100
    """
    text, columns = split_choice(text)
    if columns:
        return OnColumns(make_transform(text), columns)
    name, pairs = parse_named(text)
    kind = TRANSFORMS.load(name)
    parameters = _parameters(kind)
    if parameters and pairs and pairs[0][1] is None:
        pairs[0] = (next(iter(parameters)), pairs[0][0])
        check_once(text, [key for key, _ in pairs])
    params = {}
    for key, value in pairs:
        if key not in parameters:
            raise UnknownNameError(f"parameter of transform {name}", key, parameters)
        if value is None:
            raise ParameterError(f"transform {text}: {key!r} is not param=value")
        params[key] = parse_value(value)
    for key, default in parameters.items():
        if default is inspect.Parameter.empty and key not in params:
            raise ParameterError(
                f"transform {name}: {key} is missing; expected e.g. {name}:{key}=100"
            )
    return kind(**params)


def canonical_transform(text: str) -> str:
    """Return the canonical text of a transform: all its parameters, in order.

    Raises
    ------
    UnknownNameError, ParameterError
        As `make_transform`.

    Examples
    --------
    >>> canonical_transform("project:100"), canonical_transform("bias")
    ('project:features=100,kind=gaussian,seed=0', 'bias')
    """
    step = make_transform(text)
    if isinstance(step, OnColumns):
        return f"{canonical_transform(split_choice(text)[0])}@{step.text}"
    params = ",".join(f"{key}={getattr(step, key)}" for key in _parameters(type(step)))
    if params:
        return f"{step.name}:{params}"
    return step.name


def split_transforms(text: str) -> list[str]:
    """Return the transforms of a list separated by commas, which also separate parameters.

    Examples
    --------
    >>> split_transforms("unit-norm, project:features=100,kind=sparse, bias")
    ['unit-norm', 'project:features=100,kind=sparse', 'bias']
    >>> split_transforms("impute:mean@a+b, standardize@colour=red")
    ['impute:mean@a+b', 'standardize@colour=red']
    """
    transforms: list[str] = []
    for piece in filter(None, map(str.strip, text.split(","))):
        # Names of columns may hold these characters.
        head = piece.partition("@")[0]
        if transforms and "=" in head and ":" not in head:
            transforms[-1] += f",{piece}"
        else:
            transforms.append(piece)
    return transforms


def bound_transforms(texts: Sequence[str], manifest: Manifest) -> list[Transform]:
    """Return transforms that are not fitted, and know the columns of a dataset.

    Raises
    ------
    UnknownNameError, ParameterError
        As `make_transform`; also if there is no such column.
    """
    steps = [make_transform(text) for text in texts]
    # Names of millions of features are only read for a transform that chooses some.
    if any(isinstance(step, OnColumns) for step in steps):
        return bound_steps(steps, known_columns(manifest))
    return steps


def chosen_columns(texts: Sequence[str], manifest: Manifest) -> str:
    """Return the digest of the columns that transforms choose; empty if none chooses any.

    Raises
    ------
    UnknownNameError, ParameterError
        As `bound_transforms`.
    """
    chosen = [
        step.chosen.tolist()
        for step in bound_transforms(texts, manifest)
        if isinstance(step, OnColumns)
    ]
    if not chosen:
        return ""
    return json_digest(chosen)[:16]


def size_after(
    texts: Sequence[str], columns: int, values: float, manifest: Manifest | None = None
) -> tuple[int, float]:
    """Return the numbers of features and of stored values per row after the transforms.

    They are made of `columns` features and `values` stored values. A step that takes no sparse rows
    makes dense ones, and so does a projection. For other steps every added feature counts as one
    value per row, and every omitted feature as none: there may be fewer values. Transforms that
    choose columns need the `manifest` of the dataset.

    Raises
    ------
    UnknownNameError, ParameterError
        As `bound_transforms`.

    Examples
    --------
    >>> size_after(["bias"], 100, 7.5), size_after(["standardize", "bias"], 100, 7.5)
    ((101, 8.5), (101, 101))
    """
    steps = (
        [make_transform(text) for text in texts]
        if manifest is None
        else bound_transforms(texts, manifest)
    )
    for step in steps:
        columns, values = step.size_after(columns, values)
    return columns, values


def _parameters(step: type[Transform]) -> dict[str, object]:
    """Return the names of a transform's parameters and their defaults."""
    if "__init__" not in vars(step):
        return {}
    return {
        name: parameter.default
        for name, parameter in inspect.signature(step).parameters.items()
    }


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Transforms in order, and the number of features before the first and after the last.

    `steps` are fitted and precede the first that learns from rows as they arrive; `streaming` are
    that step and all later ones.
    """

    steps: tuple[Transform, ...]
    columns: int
    width: int
    streaming: tuple[Transform, ...] = ()

    @property
    def keeps_places(self) -> bool:
        """Whether features keep their places and missing values stay where they are.

        A column that is left out first is an exception.
        """
        return all(
            step.keeps_missing and not step.mixes_features
            for step in (*self.steps, *self.streaming)
        )

    def feature_names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the features after all transforms; none if columns have none."""
        after = list(names)
        if after:
            for step in self.steps:
                after = step.feature_names(after)
        return after

    def apply(self, chunk: Chunk) -> Chunk:
        """Return `chunk` transformed by the steps before the stream."""
        return go_through(self.steps, chunk)

    def block_rows(self, chunk: Chunk) -> int:
        """Return how many rows like those of `chunk` become at most `BLOCK_BYTES`."""
        steps = (*self.steps, *self.streaming)
        columns = chunk.columns
        values = most = values_of(chunk.X) / max(1, len(chunk))
        # A step in between may make wider rows than the last one.
        for step in steps:
            columns, values = step.size_after(columns, values)
            most = max(most, values)
        if steps:
            return _rows_of_block(most)
        return max(1, len(chunk))

    def blocks(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the rows of `chunk`, before the transforms, `block_rows` at a time."""
        return _cut(chunk, self.block_rows(chunk))

    def dense_blocks(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the rows of `chunk`, before the transforms, in blocks that are small when dense."""
        return _cut(chunk, min(self.block_rows(chunk), _rows_of_block(self.width)))

    def size_after(self, columns: int, values: float) -> tuple[int, float]:
        """Return the numbers of features and of stored values per row after the fitted steps."""
        for step in self.steps:
            columns, values = step.size_after(columns, values)
        return columns, values

    def learn(self, chunk: Chunk) -> Chunk:
        """Return the next rows of a stream transformed; `steps` that learn do so from all.

        The label of each row is known before the next one comes.
        """
        labels = StreamLabels(chunk.y, np.zeros(len(chunk), dtype=np.int64))
        return go_through(
            self.steps, chunk, np.ones(len(chunk), dtype=np.bool_), labels
        )

    def after(self, steps: StreamingSteps) -> Pipeline:
        """Return all transforms as they are after the stream of `steps`, as one fitted pipeline."""
        return replace(self, steps=(*self.steps, *steps.steps), streaming=())

    def begin(self) -> StreamingSteps:
        """Return the steps of a stream, before its first row."""
        columns = self.columns
        for step in self.steps:
            columns = step.width(columns)
        return StreamingSteps(self.streaming, columns)


def _rows_of_block(values: float) -> int:
    return max(1, int(BLOCK_BYTES / (8 * max(1.0, values))))


def _cut(chunk: Chunk, rows: int) -> Iterator[Chunk]:
    if rows >= len(chunk):
        yield chunk
        return
    for start in range(0, len(chunk), rows):
        yield chunk[start : start + rows]


def fit_transforms(
    texts: Sequence[str],
    chunks: Callable[[], Iterator[Chunk]],
    columns: int,
    projection: int = 0,
    dropped: int | None = None,
    manifest: Manifest | None = None,
) -> Pipeline:
    """Fit transforms, each on the rows as the previous ones leave them.

    Parameters
    ----------
    texts : sequence of str
        Transforms with their parameters, in order; may be empty.
    chunks : callable
        Starts a pass over the training split.
    columns : int
        Number of features of the split.
    projection : int
        Number of the random projection, where there is one.
    dropped : int, optional
        Column to leave out first, counted from 0.
    manifest : Manifest, optional
        That of the dataset, which transforms need that choose columns.

    Raises
    ------
    UnknownNameError, ParameterError
        As `check_order` and `bound_transforms`.
    DatasetError
        If sparse rows are too wide to be made dense.

    Examples
    --------
    >>> import numpy as np
    >>> split = Chunk(np.array([[1.0], [3.0]]), np.array([0, 1]), 1)
    >>> pipeline = fit_transforms(["standardize", "bias"], lambda: iter([split]), 1)
    >>> pipeline.apply(split).X
    array([[-1.,  1.],
           [ 1.,  1.]])
    """
    check_order(texts)
    pipeline = (
        Pipeline((), columns, columns)
        if dropped is None
        else Pipeline((Drop(dropped),), columns, columns - 1)
    )
    steps = [make_transform(text) for text in texts]
    if any(isinstance(step, OnColumns) for step in steps):
        if manifest is None:
            raise ParameterError(
                f"transforms {', '.join(texts)} choose columns; expected the manifest of a dataset"
            )
        known = known_columns(manifest)
        for first in pipeline.steps:
            known = known.after(first.feature_names(known.names))
        steps = bound_steps(steps, known)
    for step in steps:
        before = pipeline
        step.projection = projection

        # The defaults bind this step and pipeline, since the loop reuses both names.
        def rows(step: Transform = step, before: Pipeline = before) -> Iterator[Rows]:
            for chunk in chunks():
                if step.fits_sparse:
                    for block in before.blocks(chunk):
                        yield read_only_rows(before.apply(block).X)
                    continue
                for block in before.dense_blocks(chunk):
                    X = before.apply(block).X
                    yield read_only_rows(dense_rows(step.name, X, before.width))

        width = step.width(pipeline.width)
        if pipeline.streaming or step.streams:
            pipeline = replace(
                pipeline, width=width, streaming=(*pipeline.streaming, step)
            )
        else:
            step.fit(rows, pipeline.width)
            pipeline = replace(pipeline, width=width, steps=(*pipeline.steps, step))
    return pipeline


def check_order(texts: Sequence[str]) -> None:
    """Refuse transforms that cannot work after the ones before them.

    Raises
    ------
    UnknownNameError
        If there is no such transform or parameter.
    ParameterError
        As `make_transform`; also if one is fitted on rows that a streaming one returns, or if
        missing values are marked after they are filled in, or if one of categories chooses no
        columns.

    Examples
    --------
    >>> check_order(["missing-indicator", "impute:mean", "running-standardize", "bias"])
    """
    streaming = filled = spread = ""
    for text in texts:
        step = make_transform(text)
        if streaming:
            # A transform that asks for rows gets the error, one that needs no fit passes.
            step.fit(partial(_refuse, text, streaming), 1)
        if isinstance(step, OnColumns):
            step = step.inner
        elif step.takes_categories:
            raise ParameterError(
                f"transform {step.name} is for columns whose values are categories; name them: "
                f"{step.name}@COLUMN"
            )
        if isinstance(step, Impute | MissingIndicator):
            if spread:
                raise ParameterError(
                    f"transform {text} comes after {spread}, which makes other values of a "
                    "missing one missing, too; "
                    f"expected it before {spread}"
                )
            if filled and isinstance(step, MissingIndicator):
                raise ParameterError(
                    f"transform {text} comes after {filled}, which leaves no value missing; "
                    f"expected it before {filled}"
                )
        # Errors name the first transform that rules the later one out.
        if step.streams:
            streaming = streaming or text
        if isinstance(step, Impute):
            filled = filled or text
        if not step.keeps_missing:
            spread = spread or text


def _refuse(text: str, streaming: str) -> Iterator[Rows]:
    raise ParameterError(
        f"transform {text} is fitted on all training rows ahead of the stream, but {streaming} "
        "before it learns as rows "
        "come; use running-standardize, which is not, or impute:zero, which learns nothing"
    )
