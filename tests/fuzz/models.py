"""Model files: damaged, and changed under a right checksum.

``model`` is in every run of the tests; ``model-of-any-learner`` has a model of every learner and of
transforms that stream, whose loops take minutes to compile, so it runs where it is named.
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from olscale.data.chunk import Chunk
from olscale.data.transforms.pipeline import fit_transforms
from olscale.learners.contract.capability import looks_ahead
from olscale.learners.registry import LEARNERS, learner_class, make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry, TransformsEntry
from olscale.models.file import load_model
from olscale.models.final_model import FinalModel
from olscale.models.skops_format import SKOPS
from olscale.storage.checked_arrays import read_arrays, write_arrays
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import Broken, Files, Target

KINDS: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("pa1", {}, ("standardize", "bias")),
    ("bpas", {"B": 5}, ("minmax",)),
    ("lol", {"k": 3}, ()),
    ("arow", {}, ("nystroem:features=4,gamma=auto,seed=0",)),
    ("sklearn.linear_model:SGDClassifier", {"random_state": 0}, ("standardize",)),
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


STREAMING = (
    "impute:median",
    "impute:mean",
    "running-standardize",
    "ipca:components=2,block=4",
)
SMALL: dict[str, Any] = {
    "B": 5,
    "k": 3,
    "nodes": 4,
    "capacity": 200,
    "block": 4,
    "rank": 2,
}
_CLASSES = ("x", "y", "z")


@cache
def seeds() -> list[Files]:
    return [
        _model(name, params, transforms, _CLASSES) for name, params, transforms in KINDS
    ]


@cache
def seeds_of_any_learner() -> list[Files]:
    models = []
    for number, name in enumerate(LEARNERS):
        kind = learner_class(name)
        if not kind.restorable:
            continue
        params = {key: value for key, value in SMALL.items() if key in kind.domains}
        transforms = (STREAMING[number % len(STREAMING)],)
        # Some rules are of two classes only where they have a loop of their own for these.
        counts = (2, 3) if kind.task == "classification" else (0,)
        for classes in counts:
            models.append(_model(name, params, transforms, _CLASSES[:classes]))
    return models


def _model(
    name: str,
    params: dict[str, Any],
    transforms: tuple[str, ...],
    classes: tuple[str, ...],
) -> Files:
    """Return the file of a model that has learned 150 rows."""
    rng = np.random.default_rng(0)
    learner = make_learner(name, params)
    count = len(classes)
    y = rng.integers(0, count, 150) if count else rng.normal(size=150)
    if learner.task == "novelty":
        y = np.zeros(150, dtype=np.int64)
    rows = Chunk(rng.normal(size=(150, 3)), y, 3)
    pipeline = fit_transforms(transforms, lambda: iter([rows]), 3)
    steps = pipeline.begin()
    trains = np.ones(len(rows), dtype=np.bool_)
    encoded = steps.learn(pipeline.apply(rows), trains)
    learner.begin(pipeline.width, 2 if learner.task == "novelty" else count)
    if looks_ahead(learner):
        learner.prepare(encoded.X)
    learner.learn(encoded.X, rows.y)
    about = About(
        learner=LearnerEntry(
            name=name, version=learner.version, params=learner.resolved_params()
        ),
        transforms=TransformsEntry(names=transforms),
        columns=ColumnsEntry(count=3, kind="dense", names=("a", "b", "c")),
        classes=classes or None,
    )
    file = io.BytesIO()
    FinalModel(about, learner, pipeline.after(steps)).write(file)
    return {"model.olm": file.getvalue()}


def vary(random: Random, files: Files) -> Files:
    """Change arrays, or what the file says of the model, and write it as it would have been written."""
    arrays = dict(read_arrays(io.BytesIO(files["model.olm"])))
    for _ in range(random.randrange(1, 3)):
        name = random.choice(sorted(arrays))
        array = arrays[name]
        if name == SKOPS:
            arrays[name] = _varied_parts(random, array)
        elif name == "model.json":
            arrays[name] = np.frombuffer(
                JSON.mutate(random, array.tobytes(), [array.tobytes()]), dtype=np.uint8
            )
        elif random.random() < 0.3:
            arrays[name] = np.resize(
                array, random.choice(((0,), (3,), (2, 2), (64,), (1, 64, 64)))
            )
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
                    flat[random.randrange(len(flat))] = np.array(
                        random.choice(values)
                    ).astype(array.dtype)
            arrays[name] = changed
    file = io.BytesIO()
    write_arrays(file, arrays.items())
    return {"model.olm": file.getvalue()}


def _varied_parts(
    random: Random, content: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Change a part of an estimator of skops, and write the archive as it would have been written."""
    with zipfile.ZipFile(io.BytesIO(content.tobytes())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(sorted(parts))
    parts[name] = JSON.mutate(random, parts[name], [parts[name]])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part, data in parts.items():
            archive.writestr(zipfile.ZipInfo(part), data)
    return np.frombuffer(out.getvalue(), dtype=np.uint8)


def read_model(folder: Path) -> None:
    """Load, predict and learn on: no array may lead a loop out of the others."""
    model = load_model(folder / "model.olm")
    X = np.random.default_rng(1).normal(size=(20, model.n_features_in_))
    model.predict(X, encoded=True)
    if model.about.classes is not None:
        model.partial_fit(X, np.resize(model.classes_, 20), encoded=True)
        model.decision_function(X, encoded=True)


def read_damaged(folder: Path) -> None:
    """Refuse a file unless all its arrays are those of a file that was written.

    Zip archives say some things twice, and readers look at one of them.
    """
    file = folder / "model.olm"
    load_model(file)
    arrays = _bytes_of(file.read_bytes())
    if all(_bytes_of(valid["model.olm"]) != arrays for valid in seeds()):
        raise Broken("a damaged model was read")


def _bytes_of(file: bytes) -> dict[str, bytes]:
    return {
        name: array.tobytes() for name, array in read_arrays(io.BytesIO(file)).items()
    }


_WORDS = (b"PK\x03\x04", b"model.json", b"learner/", b"<f8")
TARGETS = (
    Target("model", seeds, read_model, _WORDS, vary),
    Target("damaged-model", seeds, read_damaged, _WORDS),
    Target(
        "model-of-any-learner",
        seeds_of_any_learner,
        read_model,
        _WORDS,
        vary,
        takes_minutes=True,
    ),
)
