"""Datasets at rest, which disk, network or hand may have changed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from olscale.compiled.csr import CSR
from olscale.data.checksums import SplitHash, decoded_crc32, fingerprint
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.manifest import MANIFEST
from tests.fuzz.json_values import JSON_WORDS, vary_json
from tests.fuzz.target import Broken, Files, Target, files_of, write

SOURCES = {
    "numbers.svm": b"+1 1:0.5 2:1 70:-3e-2\n-1 2:1\n1 1:1 4:2.25\n-1\n+1 3:7 9:0.125\n"
    * 3,
    "words.csv": b"a,b,w,class\n" + b"1,2,x,yes\n3,4.5,y,no\n0,1,z,yes\n" * 4,
    "dense.csv": b"1,2,3\n3,4.5,6\n" * 8,
}


@cache
def datasets() -> list[Files]:
    """Return the files of datasets of both kinds and layouts."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for layout in ("parquet", "zarr"):
            for name, content in SOURCES.items():
                source = Path(folder, name)
                dest = Path(folder, layout + name)
                source.write_bytes(content)
                ingest(
                    source,
                    dest,
                    layout=layout,
                    chunk_rows=12,
                    segments="files" if layout == "zarr" else None,
                )
                found.append(files_of(dest))
    return found


def chunk_seeds(layout: str) -> Callable[[], list[Files]]:
    """Return a maker of datasets in `layout` whose files have no checksums, or no damage would ever reach a decoder."""

    def seeds() -> list[Files]:
        return [
            without_checksums(files)
            for files in datasets()
            if json.loads(files[MANIFEST])["layout"] == layout
        ]

    return seeds


def without_checksums(files: Files) -> Files:
    """Return a dataset as one of format version 1: with checksums of chunks, which are looked at when these are decoded."""
    content = json.loads(files[MANIFEST])
    hashes = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, stored in files.items():
            write(Path(folder, name), stored)
        dataset = open_dataset(folder)
        for split, entry in content["splits"].items():
            del entry["files"]
            hashes[split] = SplitHash(1)
            for i, chunk in enumerate(entry["chunks"]):
                block = dataset.block(split, i)
                chunk["crc32"] = decoded_crc32(block)
                hashes[split].update(block)
    content["format_version"] = 1
    del content["checksum"]
    content["fingerprint"] = fingerprint(
        content["kind"],
        content["columns"],
        content["classes"],
        content["label_names"],
        hashes,
        {},
    )
    return {**files, MANIFEST: json.dumps(content).encode()}


@cache
def with_and_without_checksums() -> list[Files]:
    """Return datasets whose manifests have a checksum, and others whose fields are believed."""
    return [*datasets(), *map(without_checksums, datasets())]


def read_dataset(folder: Path) -> None:
    """Read every chunk as an evaluation does, then verify: what verifies must have been whole."""
    dataset = open_dataset(folder)
    for split in dataset.splits:
        rows = 0
        for chunk in dataset.chunks(split):
            rows += len(chunk)
            if isinstance(chunk.X, CSR):
                indptr, indices, data = chunk.X
                if (
                    len(indptr) != len(chunk) + 1
                    or (np.diff(indptr) < 0).any()
                    or indptr[-1] > min(len(indices), len(data))
                ):
                    raise Broken(f"row offsets {indptr[:10]}")
                if len(indices) and not (
                    indices.min() >= 0 and indices.max() < chunk.columns
                ):
                    raise Broken(
                        f"indices from {indices.min()} to {indices.max()}, {chunk.columns} columns"
                    )
            elif chunk.X.shape != (len(chunk), dataset.columns):
                raise Broken(
                    f"rows of shape {chunk.X.shape}, {dataset.columns} columns"
                )
            if (
                dataset.classes is not None
                and len(chunk)
                and not 0 <= chunk.y.min() <= chunk.y.max() < len(dataset.classes)
            ):
                raise Broken(
                    f"class codes from {chunk.y.min()} to {chunk.y.max()}, {len(dataset.classes)} "
                    "classes"
                )
        if rows != dataset.rows(split):
            raise Broken(f"{rows} rows of {dataset.rows(split)}")
        starts = [start for _, start in dataset.segments(split)]
        if starts != sorted(starts) or (starts and not 0 <= starts[-1] <= rows):
            raise Broken(f"segments start at {starts}, {rows} rows")
    dataset.verify()


TARGETS = (
    Target(
        "manifest",
        with_and_without_checksums,
        read_dataset,
        JSON_WORDS,
        vary_json("manifest"),
        ("manifest",),
    ),
    Target("parquet-chunks", chunk_seeds("parquet"), read_dataset, changed=("train/",)),
    Target(
        "zarr-chunks",
        chunk_seeds("zarr"),
        read_dataset,
        JSON_WORDS,
        vary_json("train/"),
        ("train/",),
    ),
)
