"""Saving and reading a checkpoint, beside plain files of the same arrays."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from olscale.bench.base import Contestant, Figure, compare
from olscale.results.checked_arrays import read_arrays, write_arrays
from olscale.results.files import LocalFiles

__all__ = ["figures"]

MEGABYTES = 100


def figures() -> list[Figure]:
    """Return the speeds for a state of 100 MB in the folder for temporary files."""
    state = {"learner.W": np.random.default_rng(0).normal(size=MEGABYTES * 1_000_000 // 8)}
    with tempfile.TemporaryDirectory(prefix="olscale-checkpoints-") as folder:
        files, plain = LocalFiles(folder), Path(folder, "plain.npy")

        def save(_: object) -> None:
            with files.writing("checkpoint.npz") as file:
                write_arrays(file, state.items())

        def read(_: object) -> None:
            with files.reading("checkpoint.npz") as file:
                read_arrays(file)

        def save_plainly(_: object) -> None:
            with plain.open("wb") as file:
                np.save(file, state["learner.W"])
                file.flush()
                os.fsync(file.fileno())

        return compare(
            [
                Contestant("np.save and fsync", save_plainly, MEGABYTES),
                Contestant(
                    "checkpoint saved", save, MEGABYTES, peer="np.save and fsync", note="hashed, synced, renamed"
                ),
                Contestant("np.load", lambda _: np.load(plain, allow_pickle=False), MEGABYTES),
                Contestant("checkpoint read", read, MEGABYTES, peer="np.load", note="hash checked"),
            ],
            "MB/s",
            rounds=3,
        )
