"""Datasets and stores on object storage: the commands against an S3 server on loopback."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys

import fsspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

from olscale.cli import main
from olscale.cli import olscale as command
from olscale.data.dataset import open_dataset
from olscale.errors import DatasetError, StoreError
from olscale.results import open_store
from olscale.results.store import Store
from olscale.storage.clients import Client, split_url
from tests.cli.command import run as in_this_process
from tests.record_bytes import record_bytes


def run(*args: object) -> Result:
    return CliRunner().invoke(command, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def digits(bucket) -> str:
    done = run("ingest", "sklearn:digits", f"{bucket}/sets/digits")
    assert done.exit_code == 0, done.output
    return f"{bucket}/sets/digits"


def test_dataset_is_shown_verified_and_exported(digits, tmp_path):
    shown = run("datasets", "show", digits, "--json")
    verified = run("datasets", "verify", digits)
    exported = run("datasets", "export", digits, tmp_path / "digits.csv")

    assert json.loads(shown.stdout)["name"] == "digits"
    assert "intact" in verified.stdout
    assert exported.exit_code == 0
    assert len((tmp_path / "digits.csv").read_text().splitlines()) in (1797, 1798)


def test_evaluation_on_workers_gives_the_bytes_of_a_local_one_in_process(
    digits, bucket, tmp_path
):
    store = f"{bucket}/store"
    common = (
        "evaluate",
        "--dataset",
        digits,
        "--learner",
        "pa1",
        "--learner",
        "perceptron",
        "--order",
        "time",
    )

    workers = run(*common, "--store", store, "--workers", "1")
    here = run(*common, "--store", tmp_path / "store", "--in-process")

    assert (workers.exit_code, here.exit_code) == (0, 0), workers.output + here.output
    far = open_store(store)
    near = open_store(tmp_path / "store")
    shared = dict(far.files.read_many(far.compacted_files("runs")))
    assert len(shared) == 1
    assert shared == dict(near.files.read_many(near.compacted_files("runs")))
    assert run("compact", store).stdout == "2 runs in 1 files, 0 of them merged now\n"
    assert far.single_files("runs") == []
    printed = json.loads(run("results", store, "--format", "json").stdout)
    assert {row["learner"] for row in printed} == {"pa1", "perceptron"}
    assert "2 ok" in run("status", store).stdout
    assert "all 2 runs are in" in run(*common, "--store", store, "--in-process").stdout
    assert run("report", store, "--out", tmp_path / "report").exit_code == 0


@pytest.mark.parametrize(
    ("args", "env", "message"),
    [
        (
            ["results", "s3://no-bucket/store"],
            {},
            "cannot look into s3://no-bucket/store: The specified bucket does not exist; make the "
            "bucket, or check its name",
        ),
        (
            ["results", "s3://bucket/nothing"],
            {},
            "there is no metrics store at s3://bucket/nothing",
        ),
        (
            [
                "evaluate",
                "--dataset",
                "DIGITS",
                "--learner",
                "pa",
                "--store",
                "s3://no-bucket/store",
            ],
            {},
            "The specified bucket does not exist; make the bucket, or check its name",
        ),
        (
            ["ingest", "sklearn:iris", "s3://no-bucket/iris"],
            {},
            "s3://no-bucket/iris cannot be made (The specified buc",
        ),
        (
            ["datasets", "show", "s3://no-bucket/iris"],
            {},
            "s3://no-bucket/iris does not exist",
        ),
        (
            ["results", "s3://bucket/s"],
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            "Unable to locate cred",
        ),
        (
            ["datasets", "show", "DIGITS"],
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            "Unable to locate cred",
        ),
    ],
)
def test_what_cannot_be_reached_is_one_line(digits, args, env, message):
    line = [digits if arg == "DIGITS" else arg for arg in args]
    if env:  # credentials are read once in a process
        line = [sys.executable, "-m", "olscale", *line]
        done = subprocess.run(
            line, capture_output=True, text=True, timeout=120, env=os.environ | env
        )
    else:
        done = in_this_process(*line)

    assert done.returncode == 1
    assert message in done.stderr
    assert "internal error" not in done.stderr
    assert done.stderr.count("\n") <= 2  # the line of the error, after one of progress


def test_store_goes_to_other_processes_as_its_url(bucket):
    assert open_store(f"{bucket}/a", create=True).__reduce__() == (
        Store,
        (f"{bucket}/a",),
    )


def test_runs_of_a_store_there_are_forgotten_forced_and_healed(digits, bucket):
    args = (
        "evaluate",
        "--dataset",
        digits,
        "--learner",
        "pa1",
        "--learner",
        "perceptron",
        "--order",
        "time",
    )
    store = open_store(f"{bucket}/again", create=True)

    assert run(*args, "--store", store.path, "--in-process").exit_code == 0
    before = record_bytes(store.path)
    assert len(before) == 2
    run("compact", store.path)
    assert (
        "0 of them differ"
        in run(*args, "--store", store.path, "--in-process", "--force").stdout
    )
    assert record_bytes(store.path) == before
    store.put("store.json", b"{")
    assert (
        "set aside damaged file store.json"
        in run(*args, "--store", store.path, "--in-process").stderr
    )
    assert (
        "1 run forgotten, 1 left"
        in run("store", "forget", store.path, "--learner", "pa1").stdout
    )
    assert (
        "1 of 2 runs computed"
        in run(*args, "--store", store.path, "--in-process").stdout
    )
    assert record_bytes(store.path) == before


def test_denied_access_is_a_store_error(bucket, monkeypatch):
    store = open_store(f"{bucket}/denied", create=True)

    def denied(path: str, data: bytes) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(store.files.fs._fs, "pipe_file", denied)

    with pytest.raises(StoreError, match=r"cannot write x .*: Access Denied"):
        store.put("x", b"")


def test_missing_client_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)

    with pytest.raises(
        DatasetError, match=r"s3:// needs another package: pip install s3fs"
    ):
        split_url("s3://another/bucket")
    with pytest.raises(StoreError, match=r"pip install s3fs"):
        open_store("s3://another/bucket")
    with pytest.raises(DatasetError, match=r"pip install s3fs"):
        open_dataset("s3://another/bucket")


def test_faults_of_a_client_become_faults_of_the_system():
    class NoCredentialsError(Exception):
        __module__ = "botocore.exceptions"

    class FakeClient:
        def ls(self, fault: Exception) -> None:
            raise fault

    with pytest.raises(OSError, match="Unable to locate"):
        Client(FakeClient()).ls(NoCredentialsError("Unable to locate credentials"))
    with pytest.raises(KeyError):
        Client(FakeClient()).ls(KeyError("ours"))


@pytest.mark.parametrize("fault", ["connection", "client", "end"])
@pytest.mark.parametrize("name", ["t.csv", "t.svm.gz", "t.npz"])
def test_a_source_that_breaks_off_is_one_line(
    bucket, tmp_path, monkeypatch, capsys, name, fault
):
    """Whatever breaks off: the client raises errors of its own, or the bytes end early."""
    import aiohttp
    import s3fs

    content = io.BytesIO()
    np.savez(content, X=np.eye(4), y=[0, 1, 0, 1])
    rows = {
        "t.csv": b"a,y\n1,0\n2,1\n",
        "t.svm.gz": gzip.compress(b"1 1:1\n0 2:1\n"),
        "t.npz": content.getvalue(),
    }
    with fsspec.open(f"{bucket}/broken/{name}", "wb") as file:
        file.write(rows[name])

    def fetch(self: object, start: int, end: int) -> bytes:
        if fault == "end":
            return b""
        raise (
            aiohttp.ClientPayloadError("payload\nis not completed")
            if fault == "client"
            else ConnectionResetError("reset")
        )

    monkeypatch.setattr(s3fs.S3File, "_fetch_range", fetch)
    with pytest.raises(SystemExit) as exit:
        main(["ingest", f"{bucket}/broken/{name}", str(tmp_path / "d")])
    printed = capsys.readouterr().err
    assert exit.value.code == 1
    assert printed.startswith(
        f"olscale: error: {bucket}/broken/{name}: cannot be read ("
    )
    assert printed.count("\n") == 1
    assert not (tmp_path / "d").exists()
