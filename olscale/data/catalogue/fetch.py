"""Datasets made from the catalogue, and the data home, where named datasets are kept.

The data home is the folder (or fsspec address) that the environment variable ``OLSCALE_DATASETS``
names, or else ``datasets`` in the user's cache directory for olscale.

``OLSCALE_DATA`` names a mirror of the files, a folder laid out as ``<set>/<file>``. Files that it
lacks are downloaded from their public addresses into ``downloads`` below that cache and kept there.
A file appears under its name only when it is complete.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from olscale.data.catalogue.entries import (
    CatalogueEntry,
    CatalogueFile,
    find_entry,
    seeded_name,
)
from olscale.data.dataset import Dataset, Progress, open_dataset
from olscale.data.generators import generate
from olscale.data.ingest.ingest import ingest
from olscale.data.ingest.sources import natural_key, sha256_and_size
from olscale.data.manifest import MANIFEST, MARKER
from olscale.errors import DatasetError
from olscale.storage.open import open_storage
from olscale.system.paths import path_text

MIRROR = "OLSCALE_DATA"
"""Environment variable that names the mirror."""

Say = Callable[[str], None]
"""A function that shows a line to the user."""

# Seconds to wait for a connection and between two pieces of a file.
_TIMEOUT = (20, 60)

HOME = "OLSCALE_DATASETS"
"""Environment variable that names the data home."""

# Seconds between two checks of a dataset that another process is making.
_WAIT = 0.2


_SCRATCH: ContextVar[str | None] = ContextVar("scratch", default=None)
"""Folder of datasets that the data home lacks, while nothing may be written there."""


@contextmanager
def unchanged_home() -> Iterator[None]:
    """Make datasets that the data home lacks in a folder that is removed in the end.

    What would have to be downloaded is refused.
    """
    with tempfile.TemporaryDirectory(prefix="olscale-datasets-") as folder:
        token = _SCRATCH.set(folder)
        try:
            yield
        finally:
            _SCRATCH.reset(token)


def data_home() -> str:
    """Return the folder or address where the datasets that experiments name are kept."""
    home = os.environ.get(HOME)
    if home:
        return open_storage(home).path
    return str(_cache() / "datasets")


def fetch(
    name: str,
    dest: str | os.PathLike[str],
    *,
    seed: int | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Get the files of the data set `name` and ingest them.

    Parameters
    ----------
    name : str
        Name in the catalogue.
    dest : path
        New directory or prefix, written completely or not at all.
    seed : int, optional
        Seed of a generated set, in place of the catalogue's.
    say : callable, optional
        Called with messages about downloads and about files whose checksum is not published.
    progress : callable, optional
        See `olscale.data.ingest.ingest.ingest`.

    Raises
    ------
    UnknownNameError
        If the catalogue has no such name.
    DatasetError
        If the set has no public address, a file is unavailable or has a wrong checksum, or `dest`
        is taken; or if a set that is not generated gets a seed.
    """
    entry = _obtainable(name)
    if seed is not None and not entry.generated:
        raise DatasetError(
            f"data set {name} got seed = {seed}, but only generated sets have a seed; leave it out"
        )
    path = path_text(dest, "dest")
    # Before anything is downloaded, which may take long.
    if open_storage(path).exists(MANIFEST):
        raise DatasetError(
            f"{path} already is a dataset; choose another directory, or remove this one first"
        )
    if entry.generated:
        options = dict(entry.generated)
        if seed is not None:
            options["seed"] = seed
        return generate(options.pop("generator"), dest, **options)
    if entry.bundled:
        return ingest([entry.bundled], dest, progress=progress, **entry.options)
    tell: Say = say or (lambda line: None)
    paths = {
        file: str(_obtain(entry, file, _cache() / "downloads", tell))
        for file in entry.files
    }
    train, test = (
        [paths[file] for file in entry.files if file.role == split]
        for split in ("train", "test")
    )
    return ingest(train, dest, test=test, progress=progress, **entry.options)


def locate(name: str, *, seed: int | None = None, say: Say | None = None) -> str:
    """Return the path of the data set `name` in the data home, fetched if it is missing.

    Any number of processes may ask for the same set at once: one makes it, the others wait.
    With a seed it has the name that `olscale.data.catalogue.entries.seeded_name` gives.

    Raises
    ------
    UnknownNameError, DatasetError
        As `fetch`.
    """

    def make(path: str) -> None:
        if say is not None:
            say(f"fetching data set {own_name} into {path}")
        fetch(name, path, seed=seed, say=say)

    own_name = seeded_name(name, seed)
    if "/" in name:
        raise DatasetError(
            f"{name!r} is no name of the catalogue but a path; in an experiment write "
            f'path = "{name}" in place of name'
        )
    find_entry(name)
    if not open_storage(data_home()).exists(f"{own_name}/{MANIFEST}"):
        _obtainable(name)
    return _kept(own_name, make)


def locate_sample(path: str, rows: int, *, say: Say | None = None) -> str:
    """Return the path of a dataset with at most `rows` rows of each split of that at `path`.

    A dataset that has no more rows is returned itself. Samples are kept in the data home;
    `olscale.data.catalogue.sample.sample` draws them.
    """
    from olscale.data.catalogue.sample import sample

    dataset = open_dataset(path)
    if all(dataset.rows(split) <= rows for split in dataset.splits):
        return path

    def make(dest: str) -> None:
        if say is not None:
            say(f"drawing {rows:,} rows of each split of {dataset.name} into {dest}")
        sample(dataset, dest, rows)

    return _kept(f"samples/{dataset.fingerprint[:12]}/{dataset.name}-{rows}", make)


def locate_held_out(path: str, test_share: float, *, say: Say | None = None) -> str:
    """Return the path of the dataset at `path` with a share of its rows held out as a test split.

    It is kept in the data home; `olscale.data.catalogue.sample.hold_out` draws the rows.
    """
    from olscale.data.catalogue.sample import hold_out

    dataset = open_dataset(path)

    def make(dest: str) -> None:
        if say is not None:
            say(f"holding out {test_share:g} of the rows of {dataset.name} in {dest}")
        hold_out(dataset, dest, test_share)

    return _kept(
        f"samples/{dataset.fingerprint[:12]}/{dataset.name}-tested-{test_share:g}", make
    )


def _kept(name: str, make: Callable[[str], object]) -> str:
    """Return the path of the dataset `name` of the data home, made if it is missing.

    One process makes it; other processes wait.
    """
    home = open_storage(data_home())
    scratch = _SCRATCH.get()
    if scratch is not None and not home.exists(f"{name}/{MANIFEST}"):
        home = open_storage(scratch)
    path = f"{home.path}/{name}"
    try:
        while not home.exists(f"{name}/{MANIFEST}"):
            with home.lock(f".{name.replace('/', '-')}.lock") as is_locked:
                # Another process may have made it between the check and the lock.
                if is_locked and not home.exists(f"{name}/{MANIFEST}"):
                    make(path)
            if not is_locked:
                time.sleep(_WAIT)
    except OSError as error:
        raise DatasetError(
            f"data set {name} cannot be kept in {home} ({error.strerror or error}); set {HOME} to "
            "another folder"
        ) from error
    return open_dataset(path).path


def _obtainable(name: str) -> CatalogueEntry:
    entry = find_entry(name)
    if entry.absent is not None:
        raise DatasetError(
            f"data set {name} cannot be fetched: {entry.absent} (see {entry.page}); with a copy "
            "of your own run "
            f"`olscale ingest YOUR_FILES {data_home()}/{name}`"
        )
    return entry


def availability(entry: CatalogueEntry) -> str:
    """Return how `entry` is available.

    One of ``"ingested"``, ``"generated"``, ``"bundled"``, ``"mirror"``, ``"download"`` and
    ``"absent"``.
    """
    if open_storage(data_home()).exists(f"{entry.name}/{MANIFEST}"):
        return "ingested"
    if entry.absent is not None:
        return "absent"
    if entry.generated:
        return "generated"
    if entry.bundled:
        return "bundled"
    if all(_mirrored(file) for file in entry.files):
        return "mirror"
    if all(file.url or _mirrored(file) for file in entry.files):
        return "download"
    return f"needs {MIRROR}"


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("olscale"))


def _mirrored(file: CatalogueFile) -> Path | None:
    """Return the path of `file` in the mirror, or None."""
    root = os.environ.get(MIRROR)
    path = None
    if root:
        path = Path(root).expanduser() / file.path
    if path is not None and path.is_file():
        return path
    return None


def _obtain(
    entry: CatalogueEntry,
    file: CatalogueFile,
    keep: Path,
    say: Say,
) -> Path:
    """Return the path of `file`, downloaded into `keep` if necessary.

    Raises `DatasetError` if it is wrong or unavailable.
    """
    path = _mirrored(file)
    if path is not None:
        got, _ = sha256_and_size(str(path))
        if file.sha256 and got not in file.sha256:
            raise DatasetError(
                f"{path}: wrong checksum: got sha256 {got}, expected {' or '.join(file.sha256)}; "
                "replace the file"
            )
        return path
    root = os.environ.get(MIRROR)
    lacks = (
        f"the mirror {root} does not have {file.path}"
        if root
        else f"{MIRROR} names no mirror to take it from"
    )
    if file.url is None:
        raise DatasetError(
            f"data set {entry.name} cannot be downloaded: {entry.mirror_only} (see {entry.page}), "
            f"and {lacks}; "
            f"set {MIRROR} to a folder with {file.path}"
        )
    target = keep / file.path
    if _SCRATCH.get() is not None and not target.is_file():
        raise DatasetError(
            f"data set {entry.name} is not in {data_home()}, and a dry run downloads nothing; run "
            f"`olscale datasets fetch {entry.name} {data_home()}/{entry.name}` first"
        )
    try:
        return _download(file, file.url, target, say)
    # requests raises OSError, and pooch raises ValueError for a wrong checksum.
    except (OSError, ValueError) as error:
        # Report the cause where the error only says that all attempts failed.
        argument = None
        if error.args:
            argument = error.args[0]
        reason = getattr(argument, "reason", error)
        raise DatasetError(
            f"{file.url} cannot be downloaded ({' '.join(str(reason).split())[:300]}), and "
            f"{lacks}; try again, or put "
            f"the file there as {target}"
        ) from error


def _download(file: CatalogueFile, url: str, target: Path, say: Say) -> Path:
    import pooch

    if target.is_file():
        got, _ = sha256_and_size(str(target))
        # A kept file may be an earlier edition of the set.
        if not file.published or got in file.sha256:
            return target
        say(f"{target} has a wrong checksum and is downloaded again")
        target.unlink()
    megabytes = ""
    if file.size:
        megabytes = f" ({file.size / 1e6:,.1f} MB)"
    say(f"downloading {url}{megabytes}")
    pooch.get_logger().setLevel("ERROR")  # ours are the lines to read
    # Named by the process: two downloads of a file must not write into one.
    part = f"{target.name}.{os.getpid()}.part"
    try:
        # pooch gets no checksum: it knows one for a file, and a set may have several valid copies.
        pooch.retrieve(
            url,
            None,
            fname=part,
            path=target.parent,
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
        )
        complete_file = target.parent / part
        # Before it gets its name: what stands under that is right.
        got, size = sha256_and_size(str(complete_file))
        if got not in file.sha256:
            if file.published:
                raise ValueError(
                    f"wrong checksum: got sha256 {got}, expected {' or '.join(file.sha256)}"
                )
            say(
                f"note: no checksum is published for {url}; got {size:,} bytes with sha256 {got}"
            )
        complete_file.replace(target)
    finally:
        (target.parent / part).unlink(missing_ok=True)
    return target


def datasets_under(root: str) -> list[tuple[str, Dataset | str]]:
    """Return name and dataset of every dataset directly under `root`, in natural order.

    A dataset that does not open is represented by a word: ``"unfinished"`` or ``"broken"``.

    Raises
    ------
    DatasetError
        When there is no directory `root`.
    """
    directory = open_storage(root)
    if not directory.exists():
        raise DatasetError(f"there is no directory {root}")
    datasets: list[tuple[str, Dataset | str]] = []
    for name in sorted(directory.entries(), key=natural_key):
        path = f"{directory.path}/{name}"
        if directory.exists(f"{name}/{MANIFEST}"):
            try:
                datasets.append((name, open_dataset(path)))
            except DatasetError:
                datasets.append((name, "broken"))
        elif directory.exists(f"{name}/{MARKER}"):
            datasets.append((name, "unfinished"))
    return datasets
