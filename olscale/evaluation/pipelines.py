"""Declared pipelines: experiments that ship with olscale, by name.

They are in the folder ``pipelines`` of the installed package or of the repository. A pipeline that
reproduces published tables, ``NAME.toml``, may come with ``NAME-quick.toml``, a shorter version,
and ``NAME-causes.toml``, which tries possible causes of figures that differ. ``nightly.toml`` is
not an experiment but a job file (`olscale jobs`).
"""

from pathlib import Path

import olscale
from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation.experiment import Experiment, load_experiment

_PACKAGE = Path(olscale.__file__).parent
FOLDERS = (_PACKAGE / "pipelines", _PACKAGE.parent / "pipelines")
"""Folders that are searched for pipelines; the first one that has a pipeline wins."""
QUICK = "-quick"
CAUSES = "-causes"


def pipeline_names() -> list[str]:
    """Return the names of the pipelines that reproduce a paper, sorted.

    These take all their datasets from the catalogue, so that they run anywhere.
    """
    files = {path.stem: path for folder in reversed(FOLDERS) for path in folder.glob("*.toml")}
    experiments = [
        name for name in sorted(files) if "[[datasets]]" in files[name].read_text(encoding="utf-8")
    ]
    main = [name for name in experiments if not name.endswith((QUICK, CAUSES))]
    return [
        name for name in main if all(spec.name for spec in load_experiment(files[name]).datasets)
    ]


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
    for folder in FOLDERS:
        if (file := folder / f"{name}{kind}.toml").exists():
            return load_experiment(file)
    raise ExperimentError(f"pipeline {name} has no {kind.strip('-')} form; leave that out")


def has_pipeline(name: str, kind: str) -> bool:
    """Return whether a pipeline has the variant `kind`."""
    return any((folder / f"{name}{kind}.toml").exists() for folder in FOLDERS)
