"""Shells complete commands, options and the names of learners, metrics, datasets and stores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from olscale.cli import olscale
from tests.cli.command import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, file in (("store", "store.json"), ("data/iris", "manifest.json")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / file).write_text("{}")
    return tmp_path


def completed(*words: str) -> list[str]:
    """Return what a shell would be told to complete the last of `words` to."""
    completer = ShellComplete(olscale, {}, "olscale", "_OLSCALE_COMPLETE")
    return [
        item.value for item in completer.get_completions(list(words[:-1]), words[-1])
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("eval",), ["evaluate"]),
        (("evaluate", "--dry"), ["--dry-run"]),
        (("evaluate", "--learner", "soft"), ["soft-lol"]),
        (
            ("evaluate", "--learner", "pa1:"),
            ["pa1:C=", "pa1:class_weight=", "pa1:dtype=", "pa1:multiclass="],
        ),
        (("evaluate", "--learner", "nothing:"), []),
        (("evaluate", "--transform", "bias,unit"), ["bias,unit-norm"]),
        (("evaluate", "--dataset", "da"), ["data/"]),
        (("evaluate", "--dataset", "data/"), ["data/iris"]),
        (("results", "st"), ["store"]),
        (
            ("results", "store", "--metrics", "auc,kap"),
            ["auc,kappa", "auc,kappa_m", "auc,kappa_t"],
        ),
        (("learners", "show", "aro"), ["arow"]),
    ],
)
def test_words_are_completed(folder: Path, words: tuple[str, ...], expected: list[str]):
    assert completed(*words) == expected


def test_a_name_with_a_newline_is_not_completed(folder: Path):
    """Shells take each line for a word."""
    (folder / "data" / "odd\nname").mkdir()
    assert completed("evaluate", "--dataset", "data/") == ["data/iris"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_by_the_script(folder: Path):
    script = run("completion", "bash").stdout
    ask = (
        "COMP_WORDS=(olscale evaluate --learner arow:); COMP_CWORD=3; _olscale_open_ended olscale; "
        'echo "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{ask}"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert "arow:r=" in done.stdout.split(), done


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(shell: str):
    assert "_OLSCALE_COMPLETE" in run("completion", shell).stdout
    assert run("completion", "tcsh").returncode == 2
