"""Arrays and binary tables: IDX, NPZ, MAT, Parquet."""

from __future__ import annotations

import faulthandler
import gzip
import io
import os
import signal
import struct
import sys
import warnings
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NoReturn
from unittest import mock

import numpy as np

from olscale.data.formats import ReadOptions, _loadmat, find_format, splits_in
from tests.fuzz.batches import ROWS, checked, read_rows
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import Files, Target
from tests.fuzz.work import PATIENCE


def idx_array(code: int, shape: Sequence[int], body: bytes) -> bytes:
    return struct.pack(f">2xBB{len(shape)}I", code, len(shape), *shape) + body


IMAGES = "train-images-idx3-ubyte"
LABELS = "train-labels-idx1-ubyte"


def idx_seeds() -> list[Files]:
    whole = np.arange(7 * 6, dtype=np.uint8).tobytes()
    floats = np.linspace(0, 1, 14).astype(">f8").tobytes()
    labels = idx_array(8, [7], bytes(range(7)))
    return [
        {IMAGES: idx_array(8, [7, 2, 3], whole), LABELS: labels},
        {IMAGES: idx_array(14, [7, 2], floats), LABELS: labels},
        {
            IMAGES: gzip.compress(idx_array(8, [7, 2, 3], whole), mtime=0),
            LABELS: labels,
        },
    ]


def vary_idx(random: Random, files: Files) -> Files:
    """Claim any size and type, of both files alike or of one."""
    sizes = (0, 1, 2, 7, 255, 65_536, 2**31 - 1, 2**31, 2**32 - 1)
    shape = [random.choice(sizes) for _ in range(random.randrange(1, 9))]
    body = bytes(random.randrange(200))
    changed = {
        IMAGES: idx_array(random.choice((8, 9, 11, 12, 13, 14, 10)), shape, body)
    }
    if random.random() < 0.7:
        rows = shape[0] if random.random() < 0.8 else random.choice(sizes)
        changed[LABELS] = idx_array(
            random.choice((8, 12, 14)), [rows], bytes(random.randrange(40))
        )
    return changed


def read_idx(folder: Path) -> None:
    read_rows(folder / IMAGES, "idx")


def npz_seeds() -> list[Files]:
    X = np.arange(28.0).reshape(7, 4)
    y = np.arange(7)
    sparse = {
        "data": X[:, 0],
        "indices": y.astype(np.int32) % 4,
        "indptr": np.arange(8),
        "shape": np.array([7, 4]),
        "format": np.array(b"csr"),
        "y": y,
    }
    seeds = []
    for arrays, save in (
        ({"X_train": X, "y_train": y, "X_test": X[:2], "y_test": y[:2]}, np.savez),
        (
            {"X": X.astype(np.uint8).reshape(7, 2, 2), "y": np.array(list("abcdefg"))},
            np.savez_compressed,
        ),
        (
            {"data": np.asfortranarray(X, dtype=">f4"), "target": y.astype(np.float32)},
            np.savez,
        ),
        (sparse, np.savez),
    ):
        buffer = io.BytesIO()
        save(buffer, **arrays)
        seeds.append({"rows.npz": buffer.getvalue()})
    return seeds


_NPY = Mutator(
    (
        b"'descr': '<f8'",
        b"|O",
        b"<U9",
        b"(7, 4)",
        b"(1000000000000, 4)",
        b"True",
        b"{",
        b"}",
        b"(",
        b"[" * 300,
        b"\n",
    )
)


def vary_npz(random: Random, files: Files) -> Files:
    """Change the members, or what the archive says of them, under right checksums."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(files["rows.npz"])) as old,
        zipfile.ZipFile(buffer, "w") as new,
    ):
        members = {name: old.read(name) for name in old.namelist()}
        for name, data in members.items():
            if random.random() < 0.6:
                data = _NPY.mutate(random, data, list(members.values()))
            if random.random() < 0.05:
                name = random.choice(
                    (name + "x", "y.npy", "../X.npy", "X", "\u00e9.npy")
                )
            kind = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            if random.random() < 0.1:
                kind = random.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the same name twice
                new.writestr(zipfile.ZipInfo(name), data, kind)
    return {"rows.npz": buffer.getvalue()}


def read_npz(folder: Path) -> None:
    path = folder / "rows.npz"
    for fragment in ("", "#test") if "test" in splits_in(str(path), "npz") else ("",):
        source = f"{path}{fragment}"
        checked(
            find_format(source, "npz").read(source, ReadOptions(chunk_rows=ROWS)), ROWS
        )


def mat_seeds() -> list[Files]:
    import scipy.sparse
    from scipy.io import savemat

    X = np.arange(12.0).reshape(4, 3)
    y = np.arange(4)
    views = np.empty((1, 2), dtype=object)
    views[0, 0] = X
    views[0, 1] = X[:, :1]
    names = np.array([["a"], ["b"], ["a"], ["c"]], dtype=object)
    seeds = []
    for content, packed in (
        ({"X": X, "Y": y}, False),
        (
            {
                "fea": scipy.sparse.csc_matrix(np.where(X % 2, X, 0)),
                "gnd": y.astype(np.uint8),
            },
            False,
        ),
        ({"X": views, "y": names}, False),
        ({"data": X.astype(np.int16), "labels": y.astype(bool)}, True),
        (
            {"x": scipy.sparse.csc_matrix(X), "y": np.array(["ab", "cd", "ef", "gh"])},
            True,
        ),
    ):
        buffer = io.BytesIO()
        savemat(buffer, content, do_compression=packed)
        header = b"MATLAB 5.0 MAT-file".ljust(116)
        seeds.append({"rows.mat": header + buffer.getvalue()[116:]})
    return seeds


def vary_mat(random: Random, files: Files) -> Files:
    """Set one aligned word: types, sizes, dimensions and flags are all such words."""
    data = bytearray(files["rows.mat"])
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(124, max(125, len(data) - 3)) & ~3
        number = random.choice(
            (
                0,
                1,
                2,
                3,
                4,
                5,
                6,
                9,
                14,
                15,
                0x100,
                0x10005,
                0x7FFFFFFF,
                0x80000000,
                0xFFFFFFFF,
            )
        )
        data[at : at + 4] = struct.pack(
            "<I", random.choice((number, random.randrange(20)))
        )
    return {"rows.mat": bytes(data)}


def read_mat(folder: Path) -> None:
    with mock.patch("olscale.data.formats.mat.start_reader", ForkedReader):
        read_rows(folder / "rows.mat", "mat")


class ForkedReader:
    """The process that reads a MAT file, as a fork of this one, which has SciPy: starting Python takes half a second."""

    def __init__(self) -> None:
        import scipy.io
        import scipy.sparse  # noqa: F401 - here, and not again in each fork

        file, self._stdin = os.pipe()
        self._stdout, matrices = os.pipe()
        with warnings.catch_warnings():
            # of threads; none of them holds what the fork uses
            warnings.simplefilter("ignore")
            self._child = os.fork()
        if self._child == 0:
            os.close(self._stdin)  # or the file has no end
            os.close(self._stdout)
            _read_mat_as_program(file, matrices)
        os.close(file)
        os.close(matrices)

    def __enter__(self) -> ForkedReader:
        self.stdin, self.stdout = (
            os.fdopen(self._stdin, "wb"),
            os.fdopen(self._stdout, "rb"),
        )
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


def _read_mat_as_program(file: int, matrices: int) -> NoReturn:
    """Run `_loadmat` on these ends of pipes and end this process as Python ends."""
    code = 1
    try:
        signal.alarm(PATIENCE)  # the parent, which waits for this one, is ended before
        faulthandler.disable()  # of a crash that is expected
        for end, place in (
            (file, 0),
            (matrices, 1),
            (os.open(os.devnull, os.O_WRONLY), 2),
        ):
            os.dup2(end, place)
        sys.stdin = os.fdopen(0, "r")
        sys.stdout = os.fdopen(1, "w")
        _loadmat.main()
        code = 0
    finally:
        os._exit(code)


def parquet_seeds() -> list[Files]:
    import pyarrow as pa
    from pyarrow import parquet

    numbers = {
        "a": [1.0, None, 3.0],
        "b": pa.array([1, 2, 3], pa.int8()),
        "y": [True, False, True],
    }
    words = {
        "a": [1, 2, 3],
        "w": ["x", None, "z"],
        "d": pa.array(["p", "q", "p"]).dictionary_encode(),
        "y": ["u", "v", "u"],
    }
    seeds = []
    for columns, options in (
        (numbers, {"compression": "none"}),
        (numbers, {"compression": "snappy", "data_page_version": "2.0"}),
        (words, {"compression": "zstd"}),
        (
            words,
            {"compression": "none", "store_schema": False, "use_dictionary": False},
        ),
    ):
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), sink, **options)
        seeds.append({"rows.parquet": sink.getvalue().to_pybytes()})
    return seeds


def read_parquet(folder: Path) -> None:
    read_rows(folder / "rows.parquet", "parquet")


TARGETS = (
    Target("idx", idx_seeds, read_idx, vary=vary_idx),
    Target("npz", npz_seeds, read_npz, vary=vary_npz),
    Target("mat", mat_seeds, read_mat, vary=vary_mat),
    Target("parquet", parquet_seeds, read_parquet),
)
