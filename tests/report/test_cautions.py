"""Figures that are not what those of other learners are say so in every table."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from olscale.analysis import summarise
from olscale.analysis.curves import SegmentErrors
from olscale.measures import NOT_REPRODUCIBLE, RANKED_BY_CLASS
from olscale.report import as_csv, as_json, latex, plain, tables
from olscale.report.along import SEGMENTS, along_csv, along_json, along_tables
from olscale.report.comparison import compared
from olscale.report.comparison_tables import comparison_json, comparison_tables
from olscale.report.html import table_html
from olscale.report.markdown import markdown
from olscale.report.tables import Table
from olscale.results import Record, Store, open_store

Run = Callable[..., Record]
AUCS = {"pa1": 0.8, "mine:Classes": 0.9, "mine:Chance": 0.7}
CAUTIONED = {"mine:Classes": RANKED_BY_CLASS, "mine:Chance": NOT_REPRODUCIBLE}


@pytest.fixture
def store(make_record: Run) -> Store:
    """Return a store of three learners on one stream: one with scores, one without, one that chance has a hand in."""
    return store_of(make_record, AUCS)


def store_of(make_record: Run, learners: Iterable[str]) -> Store:
    store = open_store(f"memory://cautions-{'-'.join(learners)}", create=True)
    records = []
    for learner in learners:
        metrics = {"auc": AUCS[learner], "cumulative_error": 1.0 - AUCS[learner]}
        if learner in CAUTIONED:
            metrics[CAUTIONED[learner]] = 1.0
        records.append(
            make_record(
                learner=learner, permutation=None, outcome="ok", metrics=metrics
            )
        )
    store.write_together(records)
    return store


def forms(made: Sequence[Table]) -> dict[str, str]:
    return {
        "plain": plain(made),
        "latex": latex(made),
        "markdown": markdown(made),
        "html": "".join(str(table_html(table)) for table in made),
    }


REASONS = {
    "not reproducible": "two new models gave other scores of the same rows, as where a seed is "
    "left open",
    "of classes": "AUC of a model that gives no scores is never marked as the best",
}


@pytest.mark.parametrize("form", ["plain", "latex", "markdown", "html"])
def test_every_form_of_a_table_tells(store: Store, form: str) -> None:
    summaries = summarise(store)
    [one] = compared(store, summaries, "auc")
    for made in (tables(summaries, "auc"), comparison_tables(one)[:1]):
        text = forms(made)[form]
        for sign, caution in (("?", "not reproducible"), ("c", "of classes")):
            assert text.count(f"{sign} {caution}: {REASONS[caution]}") == 1
    pairs = forms(comparison_tables(one)[1:])[form]
    assert f"Not reproducible: mine:Chance; {REASONS['not reproducible']}" in pairs
    assert f"Of classes: mine:Classes; {REASONS['of classes']}" in pairs


def signs(table: Table) -> dict[str, list[str]]:
    """Return what stands behind the figures of each learner."""
    return {
        name: [
            "*" * entry.best + "".join(mark.sign for mark in entry.marks)
            for entry in line
        ]
        for name, line in zip(table.rows, table.entries, strict=True)
    }


def test_a_figure_of_classes_is_never_the_best(store: Store) -> None:
    """The best of the others is; among errors, which are of classes anyway, nothing is said of them."""
    summaries = summarise(store)
    [table] = tables(summaries, "auc")
    assert signs(table) == {"pa1": ["*"], "mine:Classes": ["c"], "mine:Chance": ["?"]}
    [errors] = tables(summaries, "cumulative_error")
    assert signs(errors) == {"pa1": [""], "mine:Classes": ["*"], "mine:Chance": ["?"]}
    [one] = compared(store, summaries, "auc")
    ranks = comparison_tables(one)[0]
    assert signs(ranks) == {
        "mine:Classes": ["c", "c"],
        "pa1": ["*", "*"],
        "mine:Chance": ["?", "?"],
    }


def test_a_single_figure_beside_one_of_classes_is_not_the_best(
    make_record: Run,
) -> None:
    store = store_of(make_record, ["pa1", "mine:Classes"])
    summaries = summarise(store)
    [one] = compared(store, summaries, "auc")
    for table in (*tables(summaries, "auc"), comparison_tables(one)[0]):
        assert not any("*" in sign for line in signs(table).values() for sign in line)


def test_tables_along_the_stream_mark_figures(store: Store) -> None:
    lines = segments(store)
    [table] = along_tables(lines, SEGMENTS)
    assert signs(table) == {
        "pa1": ["", ""],
        "mine:Classes": ["", ""],
        "mine:Chance": ["?", "?"],
    }
    cautions = {
        row["learner"]: row["cautions"]
        for row in json.loads(along_json(lines, SEGMENTS))
    }
    assert cautions == {
        "pa1": [],
        "mine:Classes": [],
        "mine:Chance": ["not reproducible"],
    }
    cells = {
        row["learner"]: row["cautions"]
        for row in csv.DictReader(along_csv(lines, SEGMENTS).splitlines())
    }
    assert cells == {"pa1": "", "mine:Classes": "", "mine:Chance": "not reproducible"}


def segments(store: Store) -> list[SegmentErrors]:
    return [
        SegmentErrors(s, ("Mon", "Tue"), np.array([[0.1, 0.2]]))
        for s in summarise(store)
        if s.metric == "cumulative_error"
    ]


def test_cautions_are_no_figures(store: Store) -> None:
    assert {s.metric for s in summarise(store)} == {"auc", "cumulative_error"}


def test_programs_are_told_too(store: Store) -> None:
    summaries = summarise(store)
    [cautions] = [
        row["cautions"]
        for row in json.loads(as_json(summaries))
        if is_auc_of(row, "mine:Classes")
    ]
    assert cautions == ["of classes"]
    [cautions] = [
        row["cautions"]
        for row in csv.DictReader(as_csv(summaries).splitlines())
        if is_auc_of(row, "mine:Classes")
    ]
    assert cautions == "of classes"
    [one] = compared(store, summaries, "auc")
    cautions = json.loads(comparison_json([(one, [], [])]))["cautions"]
    assert cautions == {
        "mine:Classes": ["of classes"],
        "mine:Chance": ["not reproducible"],
    }


def is_auc_of(row: Mapping[str, Any], learner: str) -> bool:
    return row["metric"] == "auc" and row["learner"] == learner
