"""``olscale cluster``: the templates are those of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olscale.cli.cluster import FOLDERS, TEMPLATES
from tests.cli.command import run
from tests.house import ROOT


def test_every_file_for_clusters_is_in_a_template() -> None:
    files = {
        path.relative_to(ROOT / "cluster").as_posix()
        for path in (ROOT / "cluster").rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert files == {name for names in TEMPLATES.values() for name in names}
    assert FOLDERS[-1] == ROOT / "cluster"


def test_a_template_is_printed() -> None:
    printed = run("cluster", "template", "slurm")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout == (ROOT / "cluster/slurm.sh").read_text()


@pytest.mark.parametrize("kind", TEMPLATES)
def test_all_files_of_a_kind_are_written(kind: str, tmp_path: Path) -> None:
    done = run("cluster", "template", kind, "--out", tmp_path / "files")
    assert done.returncode == 0, done.stderr
    for name in TEMPLATES[kind]:
        copy = tmp_path / "files" / name
        assert copy.read_bytes() == (ROOT / "cluster" / name).read_bytes()
        assert os.access(copy, os.X_OK) == os.access(ROOT / "cluster" / name, os.X_OK)


def test_a_file_that_was_edited_stays(tmp_path: Path) -> None:
    (tmp_path / "hosts.example").write_text("mine\n")
    refused = run("cluster", "template", "ssh", "--out", tmp_path)
    assert refused.returncode == 1
    assert "hosts.example exists" in refused.stderr
    assert (tmp_path / "hosts.example").read_text() == "mine\n"
    assert not (tmp_path / "ssh.sh").exists()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = run("cluster", "template", "slurm", "--out", tmp_path / "file" / "below")
    assert refused.returncode == 1
    assert "cannot write to" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
