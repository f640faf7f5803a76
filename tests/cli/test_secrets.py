"""No command writes, prints or sends a secret that stands in an address it was given."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.execution import doctor
from olscale.report.dashboard import Dashboard
from olscale.results.opening import open_store
from tests.cli.command import run

pytest.importorskip("aiohttp")

from fsspec.implementations.http import HTTPFileSystem

SECRETS = ("S3CRETuser", "S3CRETkey", "S3CRETquery", "S3CRETpath")
ROWS = "a,b,label\n" + "1,0,yes\n0,1,no\n2,1,yes\n1,2,no\n" * 20


class Server(BaseHTTPRequestHandler):
    """Has rows at ``/rows.csv`` and takes what is posted, whoever asks."""

    posted: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        is_there = (
            self.path.startswith("/rows.csv") and "manifest.json" not in self.path
        )
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Length", str(len(ROWS) * is_there))
        self.send_header("ETag", "one")
        self.end_headers()
        if is_there and self.command == "GET":
            self.wfile.write(ROWS.encode())

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        Server.posted.append(
            self.rfile.read(int(self.headers["Content-Length"])).decode()
        )
        self.send_response(200 if "taken" in self.path else 403)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the address of a server, with user information."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://{SECRETS[0]}:{SECRETS[1]}@127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def no_file_systems_kept() -> Iterator[None]:
    """Forget the clients that were opened: fsspec keeps one for each address."""
    yield
    HTTPFileSystem.clear_instance_cache()


def refuse_secrets(text: str, where: str) -> None:
    for secret in SECRETS:
        assert secret not in text, (
            f"{where}: {text[max(0, text.index(secret) - 200) :][:400]}"
        )


class Shell:
    """Runs commands, none of which may print a secret."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: object, code: int | None = 0) -> str:
        done = run(*words, cwd=self.folder)
        refuse_secrets(done.stdout + done.stderr, f"olscale {words}")
        assert code is None or done.returncode == code, done.stderr
        return done.stdout + done.stderr


def refuse_secrets_in(folder: Path, *given: Path) -> None:
    """Look through all files, but those that somebody wrote by hand."""
    files = [file for file in folder.rglob("*") if file.is_file() and file not in given]
    assert files
    for file in files:
        refuse_secrets(file.read_bytes().decode("latin-1"), str(file))
        refuse_secrets(str(file), "names of files")


def test_addresses_of_sources_stores_and_models(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    olscale = Shell(tmp_path)
    source = f"{server}/rows.csv?sig={SECRETS[2]}&v=1"
    olscale("ingest", source, "rows", "--segments", "files")
    olscale("ingest", source, "rows", code=1)
    olscale("ingest", f"{server}/absent.csv?sig={SECRETS[2]}", "absent", code=1)
    olscale(
        "ingest", f"{server}/rows.csv?{SECRETS[2]}", "other", "--label", "none", code=1
    )
    refuse_secrets_in(tmp_path)
    assert (
        open_dataset(tmp_path / "rows").manifest.sources[0].name
        == "rows.csv?sig=***&v=***"
    )
    (tmp_path / "rows.csv").write_text(ROWS)
    same = ingest(str(tmp_path / "rows.csv"), tmp_path / "same", segments="files")
    assert same.fingerprint == open_dataset(tmp_path / "rows").fingerprint

    olscale("datasets", "show", "rows")
    olscale("datasets", "show", f"{server}/absent?sig={SECRETS[2]}", code=1)
    store = f"memory://{SECRETS[0]}:{SECRETS[1]}@host/store?sig={SECRETS[2]}"
    open_store(store, create=True)
    for name in ("local", store):
        olscale(
            "evaluate",
            "--dataset",
            "rows",
            "--learner",
            "pa1",
            "--store",
            name,
            "--in-process",
        )
        for command in (
            ("status",),
            ("results",),
            ("compare",),
            ("models", "list"),
            ("compact",),
        ):
            olscale(*command, name, code=None)
        olscale("report", name, "--out", "report", code=None)
        refuse_secrets(
            Dashboard(
                [open_store(name)] if name == store else [open_store(tmp_path / name)]
            ).page(),
            "page",
        )
    olscale(
        "evaluate", "--dataset", source, "--learner", "pa1", "--store", "local", code=1
    )
    olscale(
        "evaluate",
        "--dataset",
        "rows",
        "--learner",
        "pa1",
        "--store",
        f"no{source}",
        code=1,
    )
    run_id = min(open_store(tmp_path / "local").done())
    olscale("models", "save", "local", run_id, "pa1.olm")
    olscale("models", "show", "pa1.olm")
    olscale("predict", "pa1.olm", source, "--labels", "--out", "out.csv")
    olscale("predict", "pa1.olm", f"{server}/absent.csv?sig={SECRETS[2]}", code=1)
    olscale("predict", f"{server}/absent.olm?sig={SECRETS[2]}", "rows", code=1)
    monkeypatch.setenv(
        "OLSCALE_DATASETS", f"memory://{SECRETS[0]}@host/home?sig={SECRETS[2]}"
    )
    monkeypatch.setattr(doctor, "CHECKS", {"data home": doctor.CHECKS["data home"]})
    assert "memory://***@host/home?sig=***" in olscale("doctor")
    olscale("datasets", "list", code=None)
    refuse_secrets_in(tmp_path)


def test_addresses_of_a_job(server: str, tmp_path: Path) -> None:
    olscale = Shell(tmp_path)
    hook = server.rpartition("@")[2]
    file = tmp_path / "job.toml"
    file.write_text(
        f"""
name = "n"
[[ingest]]
source = "{server}/rows.csv?sig={SECRETS[2]}"
dest = "rows"
[[ingest]]
source = "{server}/absent.csv?sig={SECRETS[2]}"
dest = "absent"
[[notify]]
webhook = "http://{SECRETS[0]}:{SECRETS[1]}@{hook}/services/{SECRETS[3]}"
[[notify]]
webhook = "http://{hook}/taken/{SECRETS[3]}?token={SECRETS[2]}"
[[notify]]
webhook = "http://{SECRETS[0]}:{SECRETS[1]}@localhost/{SECRETS[3]}"
[[notify]]
webhook = "http://{SECRETS[0]}:p/{SECRETS[1]}@{hook}/{SECRETS[3]}"
"""
    )
    for night in ("1", "2"):
        olscale("jobs", "run", file, "--home", "home", "--night", night, code=1)
    assert "absent.csv?sig=***" in Server.posted[0]
    refuse_secrets("".join(Server.posted), "what was sent")
    told = json.loads((tmp_path / "home" / "told.json").read_text())
    assert (
        any(fault.startswith(f"webhook http://{hook}/***") for fault in told["faults"])
        or told["night"] == "2"
    )
    refused = [fault for fault in told["faults"] if "a port that is no number" in fault]
    assert [fault.partition(": ")[0] for fault in refused] == [
        "webhook http://localhost/***",
        f"webhook http://{hook}/***",
    ]
    olscale("jobs", "check", file, "--home", "home", code=1)
    olscale("jobs", "status", file, "--home", "home", code=None)
    olscale("jobs", "history", file, "--home", "home", "--sql", "select * from history")
    olscale("jobs", "report", file, "--home", "home", "--out", "page")
    olscale("jobs", "units", file, "--home", "home", "--for", "systemd")
    refuse_secrets_in(tmp_path, file)

    text = file.read_text()
    for odd in (
        text.replace('webhook = "http://', 'webhook = "'),
        text.replace("webhook =", "webhok ="),
    ):
        file.write_text(odd)
        olscale("jobs", "run", file, "--home", "home", code=1)


@pytest.mark.parametrize("odd", "/@?#")
@pytest.mark.parametrize("debug", ["", "1"])
def test_a_password_may_hold_what_ends_the_name_of_a_server(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str, debug: str
) -> None:
    """Clients take what is before for a host and a port, and say so in words of their own."""
    monkeypatch.setenv("OLSCALE_DEBUG", debug)
    olscale = Shell(tmp_path)
    host = server.rpartition("@")[2]
    given = f"http://{SECRETS[0]}:{SECRETS[1]}{odd}{SECRETS[2]}@{host}"
    expected = int(odd != "@")
    said = olscale("ingest", f"{given}/rows.csv", "rows", code=expected)
    assert (
        not expected
        or "password has a /, ? or #: write %2F, %3F or %23 instead" in said
    )
    olscale("ingest", f"{given}/absent.csv", "absent", code=1)
    olscale("datasets", "show", f"{given}/absent", code=1)
    olscale("results", f"{given}/store", code=1)
    olscale("predict", f"{given}/absent.olm", "rows", code=1)
    olscale("datasets", "show", f"memory://{given.removeprefix('http://')}", code=1)
    for secret in (f"{SECRETS[1]}{odd}{SECRETS[2]}", SECRETS[1]):
        olscale("results", f"s3://{SECRETS[0]}:{secret}@bucket/store", code=1)
    if list(tmp_path.iterdir()):
        refuse_secrets_in(tmp_path)
