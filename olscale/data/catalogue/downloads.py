"""The files of a catalogue entry: from a local mirror, or from their public addresses.

The environment variable ``OLSCALE_DATA`` names a mirror, a folder laid out as ``<set>/<file>``. What it does not have is
downloaded into ``downloads`` below the data home and kept there. A file appears under its name only when it is whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from olscale.data.catalogue.entries import CatalogueEntry, CatalogueFile
from olscale.data.ingest.sources import sha256_and_size
from olscale.errors import DatasetError

MIRROR = "OLSCALE_DATA"
"""Environment variable that names the mirror."""

Say = Callable[[str], None]
"""Takes a line for the user."""

_TIMEOUT = (20, 60)
"""Seconds to wait for a connection and between two pieces of a file."""


def mirrored(file: CatalogueFile) -> Path | None:
    """Return where the mirror has `file`, or None."""
    root = os.environ.get(MIRROR)
    path = Path(root).expanduser() / file.path if root else None
    return path if path is not None and path.is_file() else None


def obtain(entry: CatalogueEntry, file: CatalogueFile, keep: Path, say: Say) -> Path:
    """Return where `file` is on this machine, downloaded if need be.

    Parameters
    ----------
    entry : CatalogueEntry
        The data set it belongs to.
    file : CatalogueFile
    keep : Path
        Folder for downloads.
    say : callable
        Told of downloads and of files that nobody vouches for.

    Raises
    ------
    DatasetError
        If its checksum is wrong, or it is neither in the mirror nor can be downloaded.
    """
    path = mirrored(file)
    if path is not None:
        got, _ = sha256_and_size(str(path))
        if file.sha256 and got not in file.sha256:
            raise DatasetError(
                f"{path}: wrong checksum: got sha256 {got}, expected {' or '.join(file.sha256)}; replace the file"
            )
        return path
    root = os.environ.get(MIRROR)
    lacks = f"the mirror {root} does not have {file.path}" if root else f"{MIRROR} names no mirror to take it from"
    if file.url is None:
        raise DatasetError(
            f"data set {entry.name} cannot be downloaded: {entry.mirror_only} (see {entry.page}), and {lacks}; "
            f"set {MIRROR} to a folder with {file.path}"
        )
    target = keep / file.path
    try:
        return _download(file, file.url, target, say)
    except (OSError, ValueError) as error:  # of requests and of pooch, which raises ValueError for a wrong checksum
        # The cause, where the error is only that all attempts failed.
        reason = getattr(error.args[0] if error.args else None, "reason", error)
        raise DatasetError(
            f"{file.url} cannot be downloaded ({' '.join(str(reason).split())[:300]}), and {lacks}; try again, or put "
            f"the file there as {target}"
        ) from error


def _download(file: CatalogueFile, url: str, target: Path, say: Say) -> Path:
    import pooch

    if target.is_file():
        got, _ = sha256_and_size(str(target))
        if not file.published or got in file.sha256:
            return target
        say(f"{target} has a wrong checksum and is downloaded again")
        target.unlink()
    say(f"downloading {url}" + (f" ({file.size / 1e6:,.1f} MB)" if file.size else ""))
    pooch.get_logger().setLevel("ERROR")  # ours are the lines to read
    part = f"{target.name}.{os.getpid()}.part"
    try:
        pooch.retrieve(url, None, fname=part, path=target.parent, downloader=pooch.HTTPDownloader(timeout=_TIMEOUT))
        whole = target.parent / part
        got, size = sha256_and_size(str(whole))
        if got not in file.sha256:
            if file.published:
                raise ValueError(f"wrong checksum: got sha256 {got}, expected {' or '.join(file.sha256)}")
            say(f"note: no checksum is published for {url}; got {size:,} bytes with sha256 {got}")
        whole.replace(target)
    finally:
        (target.parent / part).unlink(missing_ok=True)
    return target
