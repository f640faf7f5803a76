"""Saving and reading a checkpoint, beside plain files of the same arrays; and one of a wide sparse model."""

import os
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.linear import feed
from olscale.bench.workloads.url_like import COLUMNS, chunks
from olscale.compiled.pages import filled_bytes
from olscale.learners.contract.learner import Learner, State
from olscale.learners.registry import make_learner
from olscale.storage.checked_arrays import read_arrays, write_arrays
from olscale.storage.open import open_storage

MEGABYTES = 100


def figures(rows: int = 40_000) -> list[Figure]:
    """Return the speeds for a state of 100 MB, and for that of LOL after `rows` URL-like rows, in a temporary folder."""
    state = {"learner.W": np.random.default_rng(0).normal(size=MEGABYTES * 1_000_000 // 8)}
    wide = _wide(rows)
    size, filled = (
        sum(array.nbytes for array in wide.state_.values()),
        sum(map(filled_bytes, wide.state_.values())),
    )
    zeros = f"{filled / 1e6:,.0f} MB, without the zeros of {size / 1e6:,.0f}"
    with tempfile.TemporaryDirectory(prefix="olscale-checkpoints-") as folder:
        files, plain = open_storage(folder, "tmp"), Path(folder, "plain.npy")

        def save(arrays: State) -> None:
            with files.writing("checkpoint.npz") as file:
                write_arrays(file, arrays.items())

        def read(_: object) -> None:
            with files.open("checkpoint.npz") as file:
                read_arrays(file)

        def save_plainly(_: object) -> None:
            with plain.open("wb") as file:
                np.save(file, state["learner.W"])
                file.flush()
                os.fsync(file.fileno())

        slow, saved, load = "np.save and fsync", "checkpoint saved", "np.load"
        table = [
            Contestant(slow, save_plainly, MEGABYTES),
            Contestant(
                saved, lambda _: save(state), MEGABYTES, peer=slow, note="hashed, synced, renamed"
            ),
            Contestant(load, lambda _: np.load(plain, allow_pickle=False), MEGABYTES),
            Contestant("checkpoint read", read, MEGABYTES, peer=load, note="hash checked"),
            Contestant(
                "wide sparse LOL saved",
                lambda _: save(wide.state()),
                filled / 1e6,
                peer=saved,
                note=zeros,
            ),
        ]
        return compare(table, "MB/s", 3, perf_counter)


def _wide(rows: int) -> Learner:
    """Return LOL (k = 60, float32) after `rows` rows of 3.2 million features."""
    model = make_learner("lol", {"k": 60, "dtype": "float32"})
    model.begin(COLUMNS, 2)
    feed(model, chunks(rows))
    return model
