"""The guide from a choice to a service works as it stands, on fewer rows."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from olscale.models.file import read_about
from tests.cli.command import run

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "from-choice-to-a-service.md"


def _blocks(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _ask(port: int, path: str, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", path, json.dumps(content))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except ConnectionRefusedError:  # it is still starting
            time.sleep(0.1)
    raise AssertionError("the service does not start")


def test_an_engineers_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, serve = _blocks("python")
    assert "ROWS = 200_000\n" in make
    fewer = make.replace("ROWS = 200_000\n", "ROWS = 20_000\n")
    exec(compile(fewer, str(PAGE), "exec"), {"__name__": "guide"})
    printed = {}
    best = ""
    for line in re.findall(r"^\$ olscale (.*)", "\n".join(_blocks("console")), re.M):
        words = [best if word == "RUN" else word for word in line.split()]
        done = run(*words, *(["--in-process"] if words[0] == "evaluate" else []))
        assert done.returncode == 0, f"{line}: {done.stderr}"
        printed[line] = done
        if line == "models list choice":
            best = done.stdout.split()[0]
    [choice] = [text for line, text in printed.items() if line.startswith("results")]
    first = next(line for line in choice.stdout.splitlines() if line.startswith("ogd"))
    assert first.split()[1].endswith("*"), "the best of the page"
    stale = printed[
        "predict fraud.olm week12.csv --labels --out week12-predicted.csv"
    ].stderr
    [fresh] = [
        entry
        for entry in read_about("fraud.olm").history
        if entry.source == "week12.csv"
    ]
    assert 100 * fresh.measures["cumulative_error"] + 2 < float(
        stale.split("error ")[1].split(" %")[0]
    )
    header = Path("week11-predicted.csv").read_text().splitlines()[0]
    assert header == "order,prediction,label,probability_no,probability_yes"
    port = _free_port()
    Path("serve.py").write_text(
        serve.replace("8080", str(port)).replace("% 1000", "% 1")
    )
    service = subprocess.Popen([sys.executable, "serve.py", "fraud.olm"])
    try:
        [asked, labelled] = re.findall(r"-d '(.*)'", "\n".join(_blocks("console")))
        before = Path("fraud.olm").read_bytes()
        status, probabilities = _ask(port, "/predict", json.loads(asked))
        assert status == 200
        assert probabilities.keys() == {"no", "yes"}
        assert _ask(port, "/learn", json.loads(labelled)) == (200, {"learned": 1})
        assert Path("fraud.olm").read_bytes() != before
        assert _ask(port, "/learn", json.loads(labelled))[0] == 400, (
            "its row is learned once"
        )
        status, lacks = _ask(port, "/predict", {"id": 8, "row": {"age": 30}})
        assert (status, "lacks columns" in lacks["error"]) == (400, True)
    finally:
        service.kill()
        service.wait()
