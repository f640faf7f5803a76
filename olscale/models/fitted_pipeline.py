"""A model's transforms with the arrays that they were fitted to, as its file has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from olscale.data.transforms.drop import Drop
from olscale.data.transforms.pipeline import Pipeline, make_transform
from olscale.models.about import About


def fitted_pipeline(about: About, arrays: Mapping[str, NDArray[Any]]) -> Pipeline:
    """Return the transforms of a model with their fitted `arrays`.

    Raises
    ------
    ValueError
        If the arrays are not those of its transforms.
    """
    entry = about.transforms
    columns = about.columns.count
    if entry.dropped is not None and not entry.dropped < columns > 1:
        raise ValueError(f"column {entry.dropped} of {columns} is left out")
    steps = [
        *([] if entry.dropped is None else [Drop(entry.dropped)]),
        *map(make_transform, entry.names),
    ]
    width = columns
    for number, step in enumerate(steps):
        step.projection = entry.projection
        mark = f"transform{number}/"
        step.restore(
            {
                name.removeprefix(mark): a
                for name, a in arrays.items()
                if name.startswith(mark)
            },
            width,
        )
        width = step.width(width)
    return Pipeline(tuple(steps), columns, width)
