"""The script that puts figures of benchmarks into docs/performance.md."""

from __future__ import annotations

import json

import pytest

from olscale.bench import BENCHMARKS
from olscale.bench.base import Figure
from olscale.bench.table import as_json
from tests.performance import PAGE, replace, table

MACHINE = {"processor": "Abacus", "cores": 2, "load": 0.1}


def test_a_table_is_replaced_by_new_figures() -> None:
    written = json.loads(
        as_json(
            {"parse": [Figure("a | b", 650.0, "MB/s", 29.0, "peer"), Figure("peer")]},
            MACHINE,
        )
    )
    text = table(written["benchmarks"]["parse"], written["machine"])
    assert text.splitlines()[2:] == [
        "| what | value | unit | ratio | to |",
        "| --- | --- | --- | --- | --- |",
        r"| a \| b | 650 | MB/s | 29 | peer |",
        "| peer | - | | | |",
    ]
    page = "above\n<!-- parse -->\nold\n<!-- end -->\nbelow\n<!-- store -->\n<!-- end -->\n"
    assert replace(page, "parse", text) == page.replace("old\n", text)
    with pytest.raises(ValueError, match="no table of linear"):
        replace(page, "linear", text)


def test_tables_of_the_page_are_those_of_benchmarks() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [
        line[5:-4]
        for line in page.splitlines()
        if line.startswith("<!-- ") and line != "<!-- end -->"
    ]
    assert set(names) <= set(BENCHMARKS)
    assert page.count("<!-- end -->") == len(names) > 0
