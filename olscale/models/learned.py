"""What shows that a model learned a source before: digests of files and datasets."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from olscale.data.dataset import open_dataset
from olscale.data.ingest.sources import expand, sha256_and_size
from olscale.data.manifest import MANIFEST
from olscale.errors import ModelError
from olscale.models.about import About, LearnedEntry
from olscale.storage.open import open_storage

_SHOWN = 12


def model_digest(file: str) -> str:
    """Return the SHA-256 of a model file.

    Raises
    ------
    ModelError
        If there is no such file.
    """
    folder, slash, name = file.rpartition("/")
    try:
        with open_storage(folder + slash or ".").ranges(name) as stream:
            digest = hashlib.sha256()
            while piece := stream.read(1 << 20):
                digest.update(piece)
            return digest.hexdigest()
    except FileNotFoundError:
        raise ModelError(
            f"{file} does not exist; expected a model, as olscale models save writes it"
        ) from None


def source_digests(source: str) -> tuple[str, ...]:
    """Return the fingerprint of a dataset, else the SHA-256 of each file of a source."""
    if open_storage(source).is_file(MANIFEST):
        dataset = open_dataset(source)
        files = [
            entry.sha256 for entry in dataset.manifest.sources if entry.split == "train"
        ]
        return (
            # A dataset may be learned first and one of its files later, or the other
            # way round: either digest shows it.
            dataset.fingerprint,
            *(digest for digest in files if digest is not None),
        )
    files_of_source = [one.file for one in expand([source], lambda line: None)]
    return tuple(
        dict.fromkeys(
            sha256_and_size(file)[0] for file in files_of_source if file is not None
        )
    )


def check_new(about: About, source: str, digests: tuple[str, ...]) -> None:
    """Refuse a source that the model has learned already.

    Raises
    ------
    ModelError
        Names what it learned.
    """
    for digest in digests:
        if (learned := about.has_learned(digest)) is not None:
            raise ModelError(
                f"the model has learned {source} already (digest {digest[:_SHOWN]}): {learned}; "
                "--again learns it once more"
            )


def learned_now(
    source: str,
    digests: tuple[str, ...],
    rows: int,
    parent: str,
    measures: dict[str, float],
) -> LearnedEntry:
    """Return the entry of what was just learned."""
    return LearnedEntry(
        source=source.rstrip("/").rpartition("/")[2],
        digests=digests,
        rows=rows,
        time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        parent=parent,
        measures=measures,
    )
