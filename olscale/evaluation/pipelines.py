"""Declared pipelines: experiments that ship with olscale, by name.

They are in the folder ``pipelines`` of the installed package or of the repository, and take their
datasets from the catalogue, so that they run anywhere. A pipeline that reproduces published tables,
``NAME.toml``, may come with ``NAME-quick.toml``, a shorter version, and ``NAME-causes.toml``, which
tries possible causes of figures that differ. ``nightly.toml`` is not an experiment but a job file
(`olscale jobs`).
"""

import re
from pathlib import Path

import olscale
from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation.experiment import Experiment, load_experiment

_PACKAGE = Path(olscale.__file__).parent
FOLDERS = (_PACKAGE / "pipelines", _PACKAGE.parent / "pipelines")
"""Folders that are searched for pipelines; the first one that has a pipeline wins."""
_DATASETS = re.compile(r"^(\[\[datasets\]\]|datasets = \[)", re.MULTILINE)
"""What an experiment has and a job file has not."""
QUICK = "-quick"
CAUSES = "-causes"


def pipeline_files() -> dict[str, Path]:
    """Return the files of all experiments that ship with olscale, by name, sorted."""
    files = {
        path.stem: path
        for folder in reversed(FOLDERS)
        for path in folder.glob("*.toml")
    }
    return {
        name: files[name]
        for name in sorted(files)
        if _DATASETS.search(files[name].read_text(encoding="utf-8"))
    }


def pipeline_names() -> list[str]:
    """Return the names of the pipelines without those of their variants, sorted."""
    return [name for name in pipeline_files() if not name.endswith((QUICK, CAUSES))]


def experiment_file(path: str) -> Path:
    """Return the file of an experiment: a path, or the name of a pipeline.

    Raises
    ------
    UnknownNameError
        If there is neither such a file nor such a pipeline; the message suggests the nearest name.

    Examples
    --------
    >>> experiment_file("quickstart").name
    'quickstart.toml'
    """
    is_name = Path(path).name == path and not Path(path).suffix
    # A folder of that name, such as that of the data, is no experiment.
    if not is_name or Path(path).is_file():
        return Path(path)
    files = pipeline_files()
    if path not in files:
        raise UnknownNameError("experiment file or pipeline", path, files)
    return files[path]


def load_pipeline(name: str, kind: str = "") -> Experiment:
    """Return the experiment of a pipeline.

    Parameters
    ----------
    name : str
        One of `pipeline_names`.
    kind : {"", "-quick", "-causes"}
        The pipeline itself, or one of its variants.

    Raises
    ------
    UnknownNameError
        If there is no such pipeline; the message suggests the nearest one.
    ExperimentError
        If it has no such variant.
    """
    if name not in pipeline_names():
        raise UnknownNameError("pipeline", name, pipeline_names())
    file = pipeline_files().get(f"{name}{kind}")
    if file is None:
        raise ExperimentError(
            f"pipeline {name} has no {kind.strip('-')} form; leave that out"
        )
    return load_experiment(file)


def has_pipeline(name: str, kind: str) -> bool:
    """Return whether a pipeline has the variant `kind`."""
    return f"{name}{kind}" in pipeline_files()
