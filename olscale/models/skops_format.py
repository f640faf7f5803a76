"""Estimators of scikit-learn in the format of skops, which runs no code where it is read.

skops writes a tree of the types, parameters and arrays of an estimator, and makes it again from
types that it knows only. What its tree names by addresses in memory, and the time in its archive,
are written alike here: the same estimator gives the same bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import ModelError, one_line
from olscale.learners.contract.foreign.learner import ForeignLearner
from olscale.learners.contract.learner import Learner

SKOPS = "learner/skops"
"""Name of the array of its bytes."""

UPDATES = "learner/updates"
"""Name of the array with the number of rows that the estimator has learned."""

_NOT_INSTALLED = (
    "skops, which saves estimators of scikit-learn without a pickle, is not installed: pip install "
    "skops"
)

# Plain attributes, which skops does not list: the solvers of scikit-learn's networks.
_SOLVERS = "sklearn.neural_network._stochastic_optimizers"
_TRUSTED = [f"{_SOLVERS}.AdamOptimizer", f"{_SOLVERS}.SGDOptimizer"]

_TREE = "schema.json"


def to_skops(learner: Learner) -> dict[str, NDArray[Any]]:
    """Return the arrays of an estimator of scikit-learn.

    Raises
    ------
    ModelError
        If skops is not installed, or the estimator has parts that skops does not know.
    """
    if not isinstance(learner, ForeignLearner) or hasattr(
        learner.estimator, "learn_one"
    ):
        raise ModelError("skops saves estimators of scikit-learn alone")
    skops = _skops()
    try:
        content = skops.dumps(learner.estimator)
        unknown = sorted(
            set(skops.get_untrusted_types(data=content)).difference(_TRUSTED)
        )
    except Exception as fault:
        # parts of an estimator may raise anything where they are read
        raise ModelError(f"skops cannot save it: {one_line(str(fault))}") from None
    if unknown:
        raise ModelError(f"skops does not know its type {unknown[0]}")
    return {
        SKOPS: np.frombuffer(_without_addresses(content), dtype=np.uint8),
        UPDATES: np.array([learner.updates], dtype=np.int64),
    }


def restore_skops(learner: Learner, arrays: dict[str, NDArray[Any]]) -> None:
    """Let a learner that has begun continue with the estimator in `arrays`.

    Raises
    ------
    ModelError
        If skops is not installed.
    ValueError
        If the arrays have no such estimator, or one that names types which skops does not know.
    """
    if set(arrays) != {SKOPS, UPDATES} or not isinstance(learner, ForeignLearner):
        raise ValueError(
            "its header says that it has an estimator of skops, and it has none"
        )
    content = arrays[SKOPS]
    updates = arrays[UPDATES]
    if content.dtype != np.uint8 or content.ndim != 1:
        raise ValueError("its estimator is not written as bytes")
    if updates.dtype != np.int64 or updates.shape != (1,) or updates[0] < 0:
        raise ValueError("it does not say how many rows its estimator has learned")
    skops = _skops()
    data = content.tobytes()
    _check_archive(data)
    # Types beyond those that skops knows are refused by `loads`, before any of them is imported.
    estimator = skops.loads(data, trusted=_TRUSTED)
    # The archive names its own type: another one would continue under the name in the
    # header.
    if type(estimator) is not type(learner.estimator):
        raise ValueError(
            f"its estimator is of class {type(estimator).__name__}, expected "
            f"{type(learner.estimator).__name__}"
        )
    learner.resume(estimator, int(updates[0]))


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ModelError(_NOT_INSTALLED) from None
    return skops.io


def _check_archive(data: bytes) -> None:
    """Refuse an archive that takes more memory than it has bytes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("its estimator is compressed")
    if sum(member.file_size for member in members) > len(data):
        raise ValueError("its estimator has members that are larger than it")


def _without_addresses(content: bytes) -> bytes:
    """Return an archive of skops with numbers in the place of addresses, and without times."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as archive,
        zipfile.ZipFile(out, "w") as renamed,
    ):
        tree = json.loads(archive.read(_TREE))
        files: dict[str, str] = {}
        _number(tree, {}, files)
        for old, new in files.items():
            # A bare ZipInfo has the first date of the format, where a path would take
            # the clock.
            renamed.writestr(zipfile.ZipInfo(new), archive.read(old))
        renamed.writestr(zipfile.ZipInfo(_TREE), json.dumps(tree))
    return out.getvalue()


def _number(node: Any, numbers: dict[int, int], files: dict[str, str]) -> None:
    """Number the parts and files of a tree in their order; `files` gets the new names."""
    if isinstance(node, list):
        for part in node:
            _number(part, numbers, files)
    if not isinstance(node, dict):
        return
    if "__loader__" in node:
        if node["__loader__"] == "JsonNode":
            # Whether equal texts are one object depends on what the process did before.
            node.pop("__id__", None)
        if "__id__" in node:
            node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
        if "file" in node:
            old = node["file"]
            suffix = old.rpartition(".")[2]
            node["file"] = files.setdefault(old, f"{len(files)}.{suffix}")
    for part in node.values():
        _number(part, numbers, files)
