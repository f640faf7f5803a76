"""Model files: one archive of plain arrays under one checksum; nothing in it is code, unasked.

An ``.npz`` as `olscale.storage.checked_arrays` writes it, uncompressed: ``model.json`` (`About`, as
bytes), ``learner/NAME``, ``transformN/NAME`` and, of runs with probabilities,
``probabilities/NAME``. The learner of another library is in the format of skops, which runs no
code, or, where the user allows it, a pickle, which the header marks: it is read on request. A
file may come from anywhere. Its content is checked before use, it takes no more memory than it has
bytes (except arrays of zeros, which take none), and it names no code to import: a user's own
learner is looked up only if the caller names it too.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import ModelError
from olscale.learners.adapter_version import own_version
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import expect_targets, show_margins
from olscale.learners.contract.class_weights import name_classes
from olscale.learners.contract.learner import Learner
from olscale.learners.registry import LEARNERS, is_learner, learner_class, make_learner
from olscale.models.about import About
from olscale.models.final_model import FinalModel
from olscale.models.fitted_pipeline import fitted_pipeline
from olscale.models.pickled import PICKLE, from_pickle
from olscale.models.skops_format import restore_skops
from olscale.models.write import ABOUT
from olscale.storage.checked_arrays import LaterFormatError, read_arrays
from olscale.storage.open import open_storage
from olscale.system.paths import path_text

PROBABILITIES = "probabilities"
"""Arrays of probabilities of classes, in files of runs that needed them."""

FORMAT = 3
"""The latest format of model files: 3 with an estimator of skops, 1 without history and pickle."""

_MOST_ABOUT = 1 << 28


def read_about(file: str | os.PathLike[str]) -> About:
    """Return the description in a model file; the whole file is read and checked.

    Raises
    ------
    ModelError
        If it is no model file, or damaged.
    """
    with _refusing(path_text(file, "model file")):
        return _read(path_text(file, "model file"))[0]


def load_model(
    file: str | os.PathLike[str],
    learner: str | None = None,
    *,
    allow_pickle: bool = False,
) -> FinalModel:
    """Read the final model of a run.

    Parameters
    ----------
    file : path
        Written by ``olscale models save`` or `FinalModel.save`; a path or an address that fsspec
        knows.
    learner : str, optional
        ``module:Class`` of a learner of your own, where the model is one's: the file must name it
        too. It is imported, so name what you trust.
    allow_pickle : bool
        Whether the learner may be a pickle, as of an estimator from elsewhere. Reading it runs
        code that the author of the file chose, so say it of files that you trust.

    Returns
    -------
    FinalModel

    Raises
    ------
    ModelError
        If it is no model file, is damaged, is of a later version, its learner is not there, or is
        a pickle that is not allowed.
    """
    with _refusing(path_text(file, "model file")):
        about, arrays = _read(path_text(file, "model file"))
        pipeline = fitted_pipeline(about, arrays)
        steps = {f"transform{number}" for number in range(len(pipeline.steps))}
        # Arrays that nothing reads would be a place to hide content under a valid
        # checksum.
        if odd := {name.partition("/")[0] for name in arrays} - {
            "learner",
            PROBABILITIES,
            *steps,
        }:
            raise ValueError(
                f"it has arrays of {', '.join(sorted(odd))}, which the model has not"
            )
        final = FinalModel(
            about, _learner(about, arrays, pipeline, learner, allow_pickle), pipeline
        )
        mark = f"{PROBABILITIES}/"
        known = {
            name.removeprefix(mark): a
            for name, a in arrays.items()
            if name.startswith(mark)
        }
        if known:
            final.probabilities = ClassProbabilities.from_state(
                known, len(about.classes or ())
            )
            # Only now: a learner has to have begun before it can append columns.
            final.probabilities.columns = show_margins(final.learner)
        return final


def _learner(
    about: About,
    arrays: dict[str, NDArray[Any]],
    pipeline: Pipeline,
    named: str | None,
    allow_pickle: bool,
) -> Learner:
    """Return the learner of a model file with what it has learned."""
    if about.pickled:
        return _unpickled(about, arrays, allow_pickle)
    learner = _make(about, named)
    if about.columns.targets:
        expect_targets(learner, len(about.columns.targets))
    name_classes(learner, about.classes or ())
    # Weights of classes are given by label, and a learner resolves them when it begins.
    learner.begin(pipeline.width, len(about.classes or ()), about.learner.entropy)
    learned = {
        name: array for name, array in arrays.items() if name.startswith("learner/")
    }
    if about.skops:
        restore_skops(learner, learned)
    else:
        learner.restore(
            {name.removeprefix("learner/"): a for name, a in learned.items()}
        )
    return learner


def _unpickled(
    about: About, arrays: dict[str, NDArray[Any]], allow_pickle: bool
) -> Learner:
    name = about.learner.name
    if not allow_pickle:
        raise ModelError(
            f"the learner {name} in the file is a pickle, which runs code where it is read; "
            "--allow-pickle, allow_pickle=True in Python, reads it if you trust who wrote it"
        )
    content = arrays.get(PICKLE)
    # The header is checked first, and no other file is looked at for a pickle: a file
    # that hides one is never unpickled.
    if content is None or content.dtype != np.uint8 or content.ndim != 1:
        raise ValueError("its header says that it has a pickle, and it has none")
    learner = from_pickle(content, name)
    _check_version(about, learner)
    return learner


def _check_version(about: About, learner: Learner) -> None:
    version = about.learner.version
    is_same = learner.version == version
    if not learner.restorable:
        # Runs whose metrics ask a model for more have the adapter's version next to its own.
        is_same = own_version(str(learner.version)) == own_version(str(version))
    if not is_same:
        raise ValueError(_other_version(about, learner))


def _other_version(about: About, learner: Learner) -> str:
    entry = about.learner
    return (
        f"it was learned by version {entry.version} of {entry.name}, here is version "
        f"{learner.version}, which gives other "
        "numbers; learn it anew, or install the olscale that wrote it"
    )


def _make(about: About, named: str | None) -> Learner:
    entry = about.learner
    name = entry.name
    is_known = name in LEARNERS or name == named
    if not is_known and not (about.skops and _is_of_scikit_learn(name)):
        raise ModelError(
            f"the model is not read unasked: its learner {name!r} is none of olscale's; if you "
            "know and trust it, name it too: --learner NAME, load_model(FILE, NAME) in Python"
        )
    if not about.skops and not is_learner(learner_class(name)):
        raise ValueError(f"its learner {name!r} does not keep the learner contract")
    learner = make_learner(name, entry.params)
    _check_version(about, learner)
    return learner


def _is_of_scikit_learn(name: str) -> bool:
    """Return whether a name is that of an estimator of scikit-learn, not of what its modules use.

    Its estimators do nothing but keep their parameters where they are made.
    """
    if not name.startswith("sklearn."):
        return False
    from sklearn.base import BaseEstimator

    target = learner_class(name)
    return (
        isinstance(target, type)
        and issubclass(target, BaseEstimator)
        and target.__module__.startswith("sklearn.")
    )


def _read(file: str) -> tuple[About, dict[str, NDArray[Any]]]:
    folder, slash, name = file.rpartition("/")
    with open_storage(folder + slash or ".").ranges(name) as stream:
        # Before any array is read: compressed members could be far larger than the
        # file.
        _check_members(stream)
        arrays = read_arrays(stream)
    data = arrays.pop(ABOUT, None)
    if (
        data is None
        or data.dtype != np.uint8
        or data.ndim != 1
        or len(data) > _MOST_ABOUT
    ):
        raise ValueError("it has no model.json")
    text = data.tobytes()
    version = json.loads(text).get("format")
    # Looked up before validation, which would call a later header damaged.
    if isinstance(version, int) and version > FORMAT:
        raise LaterFormatError(
            f"its format is {version}, of a later version of olscale; this one reads up to {FORMAT}"
        )
    return About.model_validate_json(text), arrays


def _check_members(stream: IO[bytes]) -> None:
    """Refuse an archive that promises more bytes than the file has."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its members are larger than the file")
    stream.seek(0)


@contextmanager
def _refusing(file: str) -> Iterator[None]:
    """Turn every failure that a damaged file causes into one line."""
    try:
        yield
    except ModelError:
        raise
    except FileNotFoundError:
        raise ModelError(
            f"{file} does not exist; expected a model, as olscale models save writes it"
        ) from None
    except IsADirectoryError:
        raise ModelError(
            f"{file} is a folder, expected a model file; olscale models save writes that of a run "
            "in a store"
        ) from None
    except LaterFormatError as fault:
        raise ModelError(f"{file} cannot be read: {fault}") from None
    except OSError as fault:
        raise ModelError(f"{file} cannot be read: {fault.strerror or fault}") from fault
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ModelError(
            f"{file} is no model file or is damaged: model.json at {where}: {first['msg']}"
        ) from None
    except MemoryError:
        raise ModelError(
            f"{file} cannot be loaded: the model that it describes does not fit the memory"
        ) from None
    except Exception as fault:
        # zipfile and NumPy raise nearly anything at damaged bytes
        raise ModelError(
            f"{file} is no model file or is damaged: {fault or type(fault).__name__}"
        ) from fault
