"""Figures that are not what those of other learners are say so in every table."""

from dataclasses import replace
from typing import Any

import pytest

from olscale.analysis.summary import Summary
from olscale.measures import NOT_REPRODUCIBLE, RANKED_BY_CLASS
from olscale.report import as_csv, as_json, latex, plain, tables
from olscale.report.comparison import compared
from olscale.report.comparison_tables import comparison_json, comparison_tables
from olscale.report.html import table_html
from olscale.report.markdown import markdown


def summary(learner: str, mean: float, metric: str = "auc", *warned: str) -> Summary:
    made = Summary("d", "f", (), learner, "1", {}, {"order": "time"}, metric, mean, 0.0, 1)
    return replace(made, warned=warned)


def shown(metric: str = "auc") -> list[Summary]:
    return [
        summary("pa1", 0.8, metric),
        summary("mine:Classes", 0.9, metric, RANKED_BY_CLASS),
        summary("mine:Chance", 0.7, metric, NOT_REPRODUCIBLE),
    ]


def forms(made: Any) -> dict[str, str]:
    return {
        "plain": plain(made),
        "latex": latex(made),
        "markdown": markdown(made),
        "html": "".join(str(table_html(table)) for table in made),
    }


@pytest.mark.parametrize("form", ["plain", "latex", "markdown", "html"])
def test_every_form_of_a_table_tells(form: str) -> None:
    [one] = compared(shown(), "auc")
    for made in (tables(shown(), "auc"), comparison_tables(one)):
        text = forms(made)[form]
        assert "not reproducible: mine:Chance; " in text
        assert "of classes: mine:Classes; AUC of a model that gives no scores is never marked as the best" in text


def test_a_figure_of_classes_is_never_the_best() -> None:
    """The best of the others is; among errors, which are of classes anyway, nothing is told."""
    [table] = tables(shown(), "auc")
    assert [entry.best for [entry] in table.entries] == [False, False, True] or [
        name for name, [entry] in zip(table.rows, table.entries, strict=True) if entry.best
    ] == ["pa1"]
    [errors] = tables(shown("cumulative_error"), "cumulative_error")
    assert [entry.cautions for [entry] in errors.entries if entry.best] == ["?"]
    assert not any("of classes" in note for note in errors.notes)
    [one] = compared(shown(), "auc")
    ranks = comparison_tables(one)[0]
    best = [name for name, line in zip(ranks.rows, ranks.entries, strict=True) if any(entry.best for entry in line)]
    assert best == ["pa1"]


def test_programs_are_told_too() -> None:
    assert '"cautions": ["of classes"]' in as_json(shown())
    assert as_csv(shown()).splitlines()[2].endswith(",of classes")
    [one] = compared(shown(), "auc")
    assert '"mine:Chance": [\n   "not reproducible"\n  ]' in comparison_json([(one, [], [])])
