"""Datasets made from the catalogue, and the data home, where those that experiments name are kept.

The data home is the folder (or fsspec address) that the environment variable ``OLSCALE_DATASETS`` names, or else
``datasets`` in the user's cache directory for olscale.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from olscale.data.catalogue.downloads import MIRROR, Say, mirrored, obtain
from olscale.data.catalogue.entries import CatalogueEntry, find_entry
from olscale.data.dataset import Dataset, Progress, open_dataset
from olscale.data.generators import generate
from olscale.data.ingest.ingest import ingest
from olscale.data.manifest import MANIFEST
from olscale.errors import DatasetError
from olscale.storage.open import open_storage

HOME = "OLSCALE_DATASETS"
"""Environment variable that names the data home."""

_WAIT = 0.2
"""Seconds between two looks at a dataset that another process is making."""


def data_home() -> str:
    """Return the folder or address where the datasets that experiments name are kept."""
    home = os.environ.get(HOME)
    return open_storage(home).path if home else str(_cache() / "datasets")


def fetch(
    name: str, dest: str | os.PathLike[str], *, say: Say | None = None, progress: Progress | None = None
) -> Dataset:
    """Get the files of the data set `name` and ingest them.

    Parameters
    ----------
    name : str
        Name in the catalogue.
    dest : path
        New directory or prefix, which appears whole or not at all.
    say : callable, optional
        Told of downloads and of files that nobody vouches for.
    progress : callable, optional
        See `olscale.data.ingest.ingest.ingest`.

    Raises
    ------
    UnknownNameError
        If the catalogue has no such name.
    DatasetError
        If the set has no public address, a file cannot be had or has a wrong checksum, or `dest` is taken.
    """
    entry = _obtainable(name)
    if open_storage(dest).exists(MANIFEST):
        raise DatasetError(
            f"{os.fspath(dest)} already is a dataset; choose another directory, or remove this one first"
        )
    if entry.generated:
        return generate(
            entry.generated["generator"], dest, **{k: v for k, v in entry.generated.items() if k != "generator"}
        )
    say = say or _silent
    paths = {file: str(obtain(entry, file, _cache() / "downloads", say)) for file in entry.files}
    train, test = ([paths[file] for file in entry.files if file.role == split] for split in ("train", "test"))
    return ingest(train, dest, test=test, progress=progress, **entry.options)


def locate(name: str, *, say: Say | None = None) -> str:
    """Return the path of the data set `name` in the data home, fetched if it is not there yet.

    Any number of processes may ask for the same set at once: one makes it, the others wait.

    Raises
    ------
    UnknownNameError, DatasetError
        As `fetch`.
    """
    entry = find_entry(name)
    home = open_storage(data_home())
    path = f"{home.path}/{entry.name}"
    try:
        if not home.exists(f"{name}/{MANIFEST}"):
            _obtainable(name)
        while not home.exists(f"{name}/{MANIFEST}"):
            with home.lock(f".{name}.lock") as ours:
                if ours and not home.exists(f"{name}/{MANIFEST}"):
                    if say is not None:
                        say(f"fetching data set {name} into {path}")
                    fetch(name, path, say=say)
            if not ours:
                time.sleep(_WAIT)
    except OSError as error:
        raise DatasetError(
            f"data set {name} cannot be kept in {home} ({error.strerror or error}); set {HOME} to another folder"
        ) from error
    return open_dataset(path).path


def _obtainable(name: str) -> CatalogueEntry:
    entry = find_entry(name)
    if entry.absent is not None:
        raise DatasetError(
            f"data set {name} cannot be fetched: {entry.absent} (see {entry.page}); with a copy of your own run "
            f"`olscale ingest YOUR_FILES {data_home()}/{name}`"
        )
    return entry


def availability(entry: CatalogueEntry) -> str:
    """Return where `entry` can be had: ``"ingested"``, ``"generated"``, ``"mirror"``, ``"download"`` or ``"absent"``."""
    if open_storage(data_home()).exists(f"{entry.name}/{MANIFEST}"):
        return "ingested"
    if entry.absent is not None:
        return "absent"
    if entry.generated:
        return "generated"
    if all(mirrored(file) for file in entry.files):
        return "mirror"
    return "download" if all(file.url or mirrored(file) for file in entry.files) else f"needs {MIRROR}"


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("olscale"))


def _silent(line: str) -> None:
    """Tell nobody."""
