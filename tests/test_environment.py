"""The variables of the environment: those that are read, and those that docs/environment.md lists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("olscale", "cluster", "tests", ".ci", "pipelines", "notebooks")


def variables(text: str) -> set[str]:
    return set(re.findall(r"\bOLSCALE_[A-Z][A-Z_]*[A-Z]\b", text))


def test_the_page_lists_every_variable_and_no_other() -> None:
    read = set[str]()
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and file.suffix not in (
                ".pyc",
                ".nbi",
                ".nbc",
                ".parquet",
            ):
                read |= variables(file.read_text(encoding="utf-8", errors="replace"))
    listed = variables((ROOT / "docs" / "environment.md").read_text(encoding="utf-8"))

    assert {"OLSCALE_DATA", "OLSCALE_VENV"} <= listed
    assert read == listed
