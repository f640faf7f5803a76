"""Fixtures that every floor's tests share."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.cluster import Cluster, running
from tests.isolation import unchanged

# BLAS and OpenMP on one thread, as in Dask's workers: two that share these small products wait for
# one another, which takes five times the processor time of the work. NumPy is not imported yet.
# Tests of several threads ask for them.
for library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# What made the figures of other programs, with these programs.
collect_ignore_glob = ["analysis/fixtures/*", "comparisons/snippets/*"]

# The same examples in every run: a red run is then the fault of the change it tests.
# `--hypothesis-profile=default` searches anew.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


def pytest_configure() -> None:
    """Let SIGINT interrupt, as in a terminal: a shell's job in the background ignores it, and so would all its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collect tests without looking for garbage, a quarter of the time: modules and tests stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


OF_LEARNERS = ("tests/learners/", "tests/models/", "olscale/learners/")
ALL_LEARNERS = {
    "test_checkpoints.py",
    "test_forecast.py",
    "test_protocol.py",
    "test_run_state.py",
    "test_unusable_rows.py",
    "test_weights.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the largest file, and beside it with clusters, whose tests wait most of their time: all end together.

    Those of learners come last, with others that go through all of them. They need the machine code
    that the contract of learners, the largest file, has made by then; at the same time, two
    processes would make it.
    """
    sizes = Counter(item.path for item in items)
    largest = {path for path, _ in sizes.most_common(1)}
    items.sort(
        key=lambda item: (
            item.path not in largest,
            item.path.parent.name != "clusters",
            item.nodeid.startswith(OF_LEARNERS) or item.path.name in ALL_LEARNERS,
            -sizes[item.path],
        )
    )


@pytest.fixture(autouse=True, scope="module")
def file_leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the last test of a file whose fixtures change what other files find; its files in memory go."""
    with unchanged(request.node.nodeid):
        yield
    if memory := sys.modules.get("fsspec.implementations.memory"):
        memory.MemoryFileSystem.store.clear()


@pytest.fixture(autouse=True)
def loops_compile_no_strings() -> Iterator[None]:
    """Fail a test in which a loop of olscale makes numba compile functions of strings, 2 s, or extremes of arrays, 1 s."""
    from tests.compiled_texts import watch

    watch.loops.clear()
    yield
    assert not watch.loops, (
        "copy numbers by a loop (olscale.compiled.copies), not by an assignment to a slice, "
        "and write max and min of an array as loops"
    )


@pytest.fixture(autouse=True)
def test_leaves_nothing_behind(
    request: pytest.FixtureRequest, file_leaves_nothing_behind: None
) -> Iterator[None]:
    """Fail a test that changes what other tests find: they pass in any order."""
    with unchanged(
        request.node.nodeid,
        but=("file systems",) if "bucket" in request.fixturenames else (),
    ):
        yield


SHARED_DATA = Path(
    os.environ.get("OLSCALE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data")
)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return the path of a real data file, or skip the test and say which file it missed."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"real data file {name} is absent (looked in {SHARED_DATA})")
        return path

    return find


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of small datasets of several chunks: `dense`, `sparse` (two classes), `digits` (ten), `targets`."""
    import numpy as np
    from sklearn.datasets import dump_svmlight_file

    from olscale.data.ingest.ingest import ingest

    folder = tmp_path_factory.mktemp("shelf")
    rng = np.random.default_rng(0)
    for name, rows in (("train", 400), ("test", 100)):
        y = rng.integers(0, 2, rows)
        X = rng.normal(size=(rows, 6)) + 0.8 * (2 * y - 1)[:, None]
        X[rng.random(X.shape) < 0.4] = 0.0
        np.savez(folder / f"{name}.npz", X=X, y=y)
        dump_svmlight_file(X, y, str(folder / f"{name}.svm"), zero_based=False)
    for name, suffix in (("dense", "npz"), ("sparse", "svm")):
        sources = [str(folder / f"{split}.{suffix}") for split in ("train", "test")]
        ingest(sources[:1], str(folder / name), test=sources[1:], chunk_rows=64)
    ingest(["sklearn:digits"], str(folder / "digits"), chunk_rows=256)
    X = rng.normal(size=(400, 6))
    y = rng.normal(size=400)
    np.savez(folder / "targets.npz", X=X, y=X[:, 0] - X[:, 1] + 0.1 * y)
    ingest(
        [str(folder / "targets.npz")],
        str(folder / "targets"),
        chunk_rows=64,
        target="real",
    )
    return folder


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster of two worker processes; one that a test kills comes back."""
    with running(tmp_path_factory.mktemp("cluster"), workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of 400 rows and 100 to test on, six features and, as third column, `late`: the delay of the label."""
    import numpy as np

    from olscale.data.ingest.ingest import ingest

    folder = tmp_path_factory.mktemp("late")
    rng = np.random.default_rng(5)
    for name, rows in (("train", 400), ("test", 100)):
        y = rng.integers(0, 2, rows)
        X = np.round(rng.normal(size=(rows, 7)) + 0.5 * (2 * y - 1)[:, None], 3)
        X[:, 2] = rng.choice([0, 3, 3, 80, 500], rows)
        table = np.column_stack([X, y])
        head = "a,b,late,d,e,f,g,label"
        np.savetxt(folder / f"{name}.csv", table, "%g", ",", header=head, comments="")
    sources = [str(folder / f"{name}.csv") for name in ("train", "test")]
    ingest(sources[:1], str(folder / "late"), test=sources[1:], chunk_rows=64)
    return folder / "late"


@pytest.fixture
def small_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Put a catalogue of our own in place of the real one, and data home, downloads and mirror under `tmp_path`.

    The sets: ``ring`` (train and test file in the mirror), ``gone`` (absent), ``lost`` (its file is
    nowhere).
    """
    import hashlib

    from olscale.data.catalogue.entries import CatalogueEntry

    monkeypatch.setenv("OLSCALE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("OLSCALE_DATASETS", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mirror" / "ring").mkdir(parents=True)
    files = []
    for role, rows in (("train", 30), ("test", 12)):
        text = "".join(
            f"{'+-'[i % 2]}1 1:{i} 2:{(i * 7) % 5} 3:1\n" for i in range(rows)
        )
        (tmp_path / "mirror" / "ring" / role).write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        files.append(
            {
                "path": f"ring/{role}",
                "role": role,
                "url": f"http://127.0.0.1:9/{role}",
                "sha256": [digest],
            }
        )
    common = {
        "title": "t",
        "what": "points on a ring",
        "page": "https://page",
        "columns": 3,
        "classes": 2,
    }
    common["rows"] = {"train": 30, "test": 12}
    lost = [{"path": "lost/rows", "role": "train"}]
    entries = {
        "ring": CatalogueEntry(name="ring", files=files, notes=["round"], **common),
        "gone": CatalogueEntry(name="gone", absent="its owner keeps it", **common),
        "lost": CatalogueEntry(
            name="lost", files=lost, mirror_only="its form is another", **common
        ),
    }
    monkeypatch.setattr("olscale.data.catalogue.entries.catalogue", lambda: entries)
    return entries


@pytest.fixture(scope="session")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of 249 classes, the shape of Multi-PIE, in two segments and several chunks, with a test split."""
    import numpy as np

    from olscale.bench.workloads.multipie_like import batches
    from olscale.data.ingest.ingest import ingest

    folder = tmp_path_factory.mktemp("faces")
    (batch,) = batches(1_500, seed=0)
    for name, rows in (
        ("day0", slice(0, 700)),
        ("day1", slice(700, 1_200)),
        ("test", slice(1_200, 1_500)),
    ):
        np.savez(
            folder / f"{name}.npz",
            X=batch.X[rows],
            y=np.asarray(batch.target)[rows].astype(np.int64),
        )
    sources = [str(folder / f"{name}.npz") for name in ("day0", "day1")]
    ingest(
        sources,
        str(folder / "faces"),
        test=[str(folder / "test.npz")],
        segments="files",
        chunk_rows=256,
    )
    return folder / "faces"


@pytest.fixture(scope="session")
def make_record() -> Callable[..., Any]:
    """Return a maker of records: a definition from a few words, everything else as given."""
    from olscale.results import Record, run_id

    def make(
        dataset: str = "digits",
        learner: str = "pa1",
        params: dict[str, Any] | None = None,
        permutation: int | None = 0,
        transforms: tuple[str, ...] = (),
        version: int = 1,
        fingerprint: str = "f" * 64,
        **rest: Any,
    ) -> Record:
        protocol = (
            {"order": "time"}
            if permutation is None
            else {"order": "permuted", "seed": 0, "permutation": permutation}
        )
        run = {
            "dataset": {"name": dataset, "fingerprint": fingerprint},
            "transforms": list(transforms),
            "learner": {"name": learner, "version": version, "params": params or {}},
            "protocol": protocol,
        }
        return Record(run=run, id=run_id(run), **rest)

    return make


@pytest.fixture(scope="session")
def bucket_server() -> Iterator[str]:
    """Return the address of a server of our own, which has a bucket named ``bucket``."""
    boto3 = pytest.importorskip("boto3", reason="pip install 'olscale[dev]'")
    server = pytest.importorskip(
        "moto.server", reason="pip install 'olscale[dev]'"
    ).ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    keys = {
        "aws_access_key_id": "testing",
        "aws_secret_access_key": "testing",
        "region_name": "us-east-1",
    }
    boto3.client("s3", endpoint_url=address, **keys).create_bucket(Bucket="bucket")
    yield address
    server.stop()


@pytest.fixture(scope="module")
def bucket(bucket_server: str) -> Iterator[str]:
    """Return the URL of a bucket; its address and credentials are in the environment while the tests of a file run."""
    import s3fs

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", bucket_server)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield "s3://bucket"
    # what it keeps has this address and these credentials
    s3fs.S3FileSystem.clear_instance_cache()
