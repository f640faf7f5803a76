"""Files from elsewhere run no code and leave no file where they should not."""

from __future__ import annotations

import ast
import io
import json
import pickle
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import olscale
from olscale.bench.workloads import generate
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.errors import DatasetError, FormatError, OlscaleError, StoreError
from olscale.results import open_store
from olscale.results.scratch import Scratch

SOURCES = sorted(Path(olscale.__file__).parent.rglob("*.py"))
LOADERS = {"cloudpickle", "dill", "joblib", "marshal", "shelve"}


class Bomb:
    """Makes the file `path` when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.path,)  # type: ignore[return-value]


@pytest.mark.long
def test_no_module_loads_pickles():
    """Nothing is unpickled but what Dask sends, numba keeps and a user allows; NumPy never does."""
    # Machine code runs as it is: whoever can write it needs no pickle. numba keeps its index in
    # one.
    # Models of other libraries are pickles, which nobody reads without --allow-pickle.
    allowed = ("compiled/code_files.py", "models/pickled.py")
    sources = [source for source in SOURCES if not any(map(source.match, allowed))]
    assert len(sources) == len(SOURCES) - len(allowed)
    assert [
        f"{source}: {fault}"
        for source in sources
        for fault in loads_pickles(source.read_text())
    ] == []


def loads_pickles(source: str) -> Iterator[str]:
    """Yield the statements by which a module might."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.name.split(".")[0] for alias in node.names}
            names |= (
                {(node.module or "").split(".")[0]}
                if isinstance(node, ast.ImportFrom)
                else set()
            )
            if names & LOADERS or (
                isinstance(node, ast.ImportFrom) and node.module == "pickle"
            ):
                yield ast.unparse(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            name = node.func.attr
            told = [
                ast.unparse(word.value)
                for word in node.keywords
                if word.arg == "allow_pickle"
            ]
            loads = (name == "load" and ast.unparse(owner) == "np") or (
                name == "read_array" and ast.unparse(owner) == "np.lib.format"
            )
            pickle = isinstance(owner, ast.Name) and owner.id == "pickle"
            if (pickle and name != "dumps") or (loads and told != ["False"]):
                yield ast.unparse(node)


@pytest.mark.parametrize(
    "source",
    [
        "import joblib",
        "from pickle import dumps",
        "pickle.loads(b'')",
        "np.load('a')",
        "np.load('a', allow_pickle=True)",
    ],
)
def test_a_module_that_would_is_found(source):
    assert list(loads_pickles(source)) == [source]


def test_objects_in_an_npz_are_refused(tmp_path):
    bombs = np.array([Bomb(tmp_path / "gone-off")] * 2, dtype=object)
    np.savez(tmp_path / "bad.npz", X=bombs, y=np.array([0, 1]))

    with pytest.raises(OlscaleError):
        ingest([str(tmp_path / "bad.npz")], str(tmp_path / "ds"))
    assert not (tmp_path / "gone-off").exists()


def test_objects_in_a_scratch_file_are_refused(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    data = io.BytesIO()
    np.savez(data, bomb=np.array([Bomb(tmp_path / "gone-off")], dtype=object))
    store.put(f"tmp/shards-{'0' * 32}/x.npz", data.getvalue())

    with pytest.raises(StoreError):
        Scratch(store, "0" * 32).read("x")
    assert not (tmp_path / "gone-off").exists()


def test_pickles_in_the_metadata_of_a_parquet_file_stay_asleep(tmp_path):
    """Older pyarrow unpickled the type of such a column (CVE-2023-47248)."""
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Bomb(tmp_path / "gone-off")),
        b"pandas": pickle.dumps(Bomb(tmp_path / "gone-off")),
    }
    schema = pa.schema(
        [pa.field("a", pa.float64(), metadata=metadata), ("label", pa.int64())],
        metadata=metadata,
    )
    table = pa.table({"a": [1.0, 2.0, 3.5], "label": [0, 1, 0]}, schema=schema)
    pq.write_table(table, tmp_path / "bad.parquet")

    assert (
        ingest([str(tmp_path / "bad.parquet")], str(tmp_path / "ds")).rows("train") == 3
    )
    assert not (tmp_path / "gone-off").exists()


def test_members_of_an_archive_cannot_leave_the_dataset(tmp_path):
    """Archives are read as streams: no member is unpacked, whatever its name; links are passed over."""
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    rows = b"1 1:1 2:2\n-1 1:2 2:1\n"
    with tarfile.open(inside / "bad.tar", "w") as tar:
        for name in ("../../escaped.svm", str(tmp_path / "absolute.svm"), "fine.svm"):
            info = tarfile.TarInfo(name)
            info.size = len(rows)
            tar.addfile(info, io.BytesIO(rows))
        link = tarfile.TarInfo("link.svm")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/passwd"
        tar.addfile(link)

    notes: list[str] = []
    dataset = ingest([str(inside / "bad.tar")], str(inside / "ds"), note=notes.append)

    assert notes == [f"{inside / 'bad.tar'}: passed over as no data: link.svm"]
    assert dataset.rows("train") == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b"]
    assert "/etc/passwd" not in json.dumps(
        (inside / "ds" / "manifest.json").read_text()
    )


def test_a_header_that_promises_a_long_name_is_refused(tmp_path):
    """Room for the name would be made before its first byte is read."""
    info = tarfile.TarInfo("long.svm")
    info.type = tarfile.XHDTYPE
    info.size = 1 << 32
    (tmp_path / "bad.tar").write_bytes(info.tobuf() + bytes(2048))
    with pytest.raises(
        FormatError,
        match=r"is no tar archive or is damaged \(a name of 4,294,967,296 bytes\); get it",
    ):
        ingest([str(tmp_path / "bad.tar")], str(tmp_path / "ds"))


@pytest.mark.parametrize("more", ["indices", "values"])
def test_lists_of_other_lengths_are_no_chunk(tmp_path, more):
    """A compiled loop would read behind the shorter of the two; here no checksum stops it."""
    dataset = generate(
        "url-like", tmp_path / "d", rows=3, columns=1_000, layout="parquet"
    )
    manifest = json.loads((tmp_path / "d/manifest.json").read_text())
    manifest["format_version"] = 1
    del manifest["checksum"]
    del manifest["splits"]["train"]["files"]
    file = tmp_path / "d/train/00000.parquet"
    table = pq.read_table(file)
    fields = {field.name: field for field in table.schema}
    rows = table.column(more).to_pylist()
    table = table.set_column(
        table.column_names.index(more),
        fields[more],
        pa.array([*rows[:2], rows[2] + rows[2][-1:]], fields[more].type),
    )
    pq.write_table(
        table, file, compression="lz4", use_dictionary=False, data_page_version="2.0"
    )
    (tmp_path / "d/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(
        DatasetError,
        match=r"chunk 0 of train .* is whole but is not what manifest\.json says",
    ):
        open_dataset(dataset.path).chunk("train", 0)
