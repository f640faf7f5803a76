"""The page on models works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.command import run

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def test_the_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    table, use, search = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    exec(compile(table, str(PAGE), "exec"), {})
    printed = {}
    best = ""
    for line in re.findall(r"^\$ olscale (.*)", text, re.M):
        words = [best if word == "RUN" else word for word in line.split()]
        done = run(*words, *(["--in-process"] if words[0] == "evaluate" else []))
        assert done.returncode == 0, f"{line}: {done.stderr}"
        printed[line] = done
        if words[:2] == ["models", "list"]:
            best = done.stdout.split()[0]
            error = done.stdout.split()[3]  # behind "test error"
    assert "2: no, yes" in printed["models show visits.olm"].stdout
    tested = printed["predict visits.olm visits --labels --out tested.csv"].stderr
    assert f"200 rows, error {error} %" in tested
    assert len(Path("predictions.csv").read_text().splitlines()) == 101
    names: dict[str, object] = {}
    exec(compile(use, str(PAGE), "exec"), names)
    exec(compile(search, str(PAGE), "exec"), names)
    assert "['yes' 'no']" in capsys.readouterr().out
    assert Path("later.olm").exists()
