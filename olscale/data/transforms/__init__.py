"""Transforms of rows: fitted on the training split only, applied chunk by chunk, named in the run's id.

A transform is one class and one line in `olscale.data.transforms.pipeline`; the parameters of its constructor are those it
has in experiments.
"""

from olscale.data.transforms.base import Transform
from olscale.data.transforms.pipeline import (
    Pipeline,
    canonical_transform,
    fit_transforms,
    has_projection,
    make_transform,
    size_after,
    split_transforms,
    transform_names,
    width_after,
)
from olscale.data.transforms.projection import RandomProjection

__all__ = [
    "Pipeline",
    "RandomProjection",
    "Transform",
    "canonical_transform",
    "fit_transforms",
    "has_projection",
    "make_transform",
    "size_after",
    "split_transforms",
    "transform_names",
    "width_after",
]
