"""Model files: damaged, and changed under a right checksum."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import fit_transforms
from olscale.learners.registry import make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry, TransformsEntry
from olscale.models.file import load_model
from olscale.models.final_model import FinalModel
from olscale.storage.checked_arrays import read_arrays, write_arrays
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import Files, Target

KINDS: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("pa1", {}, ("standardize", "bias")),
    ("bpas", {"B": 5}, ("minmax",)),
    ("lol", {"k": 3}, ()),
    ("arow", {}, ("nystroem:features=4,gamma=auto,seed=0",)),
)
JSON = Mutator(
    (
        b"null",
        b"1e9",
        b"999999999",
        b"-1",
        b"[]",
        b'"rff:features=4"',
        b'"os:system"',
        b'"text"',
        b"sparse",
        b"{",
    )
)


@cache
def seeds() -> list[Files]:
    rng = np.random.default_rng(0)
    rows = Chunk(rng.normal(size=(60, 3)), rng.integers(0, 3, 60), 3)
    found = []
    for name, params, transforms in KINDS:
        pipeline = fit_transforms(transforms, lambda: iter([rows]), 3)
        learner = make_learner(name, params)
        learner.begin(pipeline.width, 3)
        learner.learn(pipeline.apply(rows).X, rows.y)
        about = About(
            learner=LearnerEntry(
                name=name, version=learner.version, params=learner.resolved_params()
            ),
            transforms=TransformsEntry(names=transforms),
            columns=ColumnsEntry(count=3, kind="dense", names=("a", "b", "c")),
            classes=("x", "y", "z"),
        )
        file = io.BytesIO()
        FinalModel(about, learner, pipeline).write(file)
        found.append({"model.olm": file.getvalue()})
    return found


def vary(random: Random, files: Files) -> Files:
    """Change arrays, or what the file says of the model, and write it as it would have been written."""
    arrays = dict(read_arrays(io.BytesIO(files["model.olm"])))
    for _ in range(random.randrange(1, 3)):
        name = random.choice(sorted(arrays))
        array = arrays[name]
        if name == "model.json":
            arrays[name] = np.frombuffer(
                JSON.mutate(random, array.tobytes(), [array.tobytes()]), dtype=np.uint8
            )
        elif random.random() < 0.3:
            arrays[name] = np.resize(array, random.choice(((0,), (3,), (2, 2), (64,), (1, 64, 64))))
        else:
            changed = np.array(array)
            flat = changed.reshape(-1)
            for _ in range(min(len(flat), 4)):
                values = (
                    (-1, 0, 1, 63, 64, 2**31 - 1, 2**62)
                    if array.dtype.kind in "iu"
                    else (np.nan, np.inf, 1e300, -1.0)
                )
                with np.errstate(all="ignore"):
                    flat[random.randrange(len(flat))] = np.array(random.choice(values)).astype(
                        array.dtype
                    )
            arrays[name] = changed
    file = io.BytesIO()
    write_arrays(file, arrays.items())
    return {"model.olm": file.getvalue()}


def read_model(folder: Path) -> None:
    """Load, predict and learn on: no array may lead a loop out of the others."""
    model = load_model(folder / "model.olm")
    X = np.random.default_rng(1).normal(size=(20, model.n_features_in_))
    model.predict(X, encoded=True)
    if model.about.classes is not None:
        model.partial_fit(X, np.resize(model.classes_, 20), encoded=True)
        model.decision_function(X, encoded=True)


TARGETS = (
    Target("model", seeds, read_model, (b"PK\x03\x04", b"model.json", b"learner/", b"<f8"), vary),
)
