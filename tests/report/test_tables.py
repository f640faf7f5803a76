"""Pivots and their formats."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace

import pytest

from olscale.analysis import Summary
from olscale.errors import UnknownNameError
from olscale.report import as_csv, as_json, latex, plain, print_rich, select, tables
from olscale.report.sorted_tables import sorted_tables
from olscale.report.tables import Entry, Table

PERMUTED = {"order": "permuted", "seed": 0}


def summary(
    learner="pa1",
    mean=0.1,
    std=0.01,
    n=5,
    metric="test_error",
    dataset="digits",
    params=None,
    **rest,
):
    values = {
        "transforms": (),
        "fingerprint": "f" * 64,
        "version": 1,
        "protocol": PERMUTED,
    } | rest
    return Summary(
        dataset=dataset,
        learner=learner,
        params=params or {},
        metric=metric,
        mean=mean,
        std=std,
        n=n,
        **values,
    )


def failed(learner="cw", outcome="diverged", **rest):
    return summary(
        learner, math.nan, math.nan, 0, "outcome", failures={outcome: 5}, **rest
    )


def shown(table):
    return {
        (row, column): entry
        for row, line in zip(table.rows, table.entries, strict=True)
        for column, entry in zip(table.columns, line, strict=True)
    }


def test_errors_are_in_percent_and_the_best_is_marked():
    [table] = tables([summary("pa", 0.2), summary("arow", 0.0512, 0.0034)])

    assert table.title == "Test error (%), permuted order, seed 0"
    assert table.rows == ("arow", "pa")
    best = shown(table)["arow", "digits"]
    other = shown(table)["pa", "digits"]
    assert (best.mean, best.std, best.best) == ("5.12", "0.34", True)
    assert not other.best


def test_what_reads_as_a_tie_is_marked_as_one():
    [table] = tables([summary("a", 0.10001), summary("b", 0.10002), summary("c", 0.2)])

    assert [line[0].best for line in table.entries] == [True, True, False]


def test_higher_is_better_for_rates_and_nothing_is_best_for_updates():
    rates = [
        summary("a", 5e5, metric="rows_per_second"),
        summary("b", 1e6, metric="rows_per_second"),
    ]
    updates = [replace(s, metric="updates") for s in rates]

    assert [line[0].best for line in tables(rates, "rows_per_second")[0].entries] == [
        False,
        True,
    ]
    assert [line[0].best for line in tables(updates, "updates")[0].entries] == [
        False,
        False,
    ]


def test_only_row_is_not_called_the_best():
    [table] = tables([summary()])

    assert not table.entries[0][0].best


def test_rows_of_one_learner_show_the_parameters_that_differ():
    rows = [summary(params={"C": C, "k": 3}) for C in (10.0, 0.5, 2)]

    [table] = tables(rows)

    assert table.rows == ("pa1 C=0.5", "pa1 C=2", "pa1 C=10")


def test_learner_tuned_for_each_dataset_is_one_row_with_a_note():
    [table] = tables(
        [summary(params={"C": 1.0}), summary(params={"C": 2.0}, dataset="letter")]
    )

    assert (table.rows, table.columns) == (("pa1",), ("digits", "letter"))
    assert table.notes[-1] == "Each dataset has its own setting of pa1 (C)."
    assert table.advice == ("`--format json` shows all parameters.",)


def test_versions_transforms_and_fingerprints_stay_apart():
    rows = [
        summary(version=1),
        summary(version=2),
        summary(transforms=("scale", "bias")),
        summary(dataset="letter"),
        summary(dataset="letter", fingerprint="0123456789"),
    ]

    [table] = tables(rows)

    assert table.rows == ("pa1 v1", "pa1 v2")
    assert table.columns == (
        "digits [raw]",
        "digits [scale,bias]",
        "letter #01234567",
        "letter #ffffffff",
    )


def test_cell_without_a_figure_says_why():
    [table] = tables([summary("pa"), summary("pa", dataset="letter"), failed("cw")])

    assert shown(table)["cw", "digits"].note == "diverged"
    assert shown(table)["cw", "letter"].note == "-"


def test_failed_runs_left_out_of_a_mean_are_told():
    [table] = tables([summary("pa", n=4, failures={"oom": 1}), summary("cw", 0.2)])

    assert shown(table)["pa", "digits"].partial
    assert "! pa: failed runs left out: 1 of 5 oom on digits." in table.notes


def test_both_errors_give_two_tables_and_streams_only_the_second():
    rows = [
        summary(metric="test_error"),
        summary(metric="cumulative_error"),
        summary(metric="cumulative_error", dataset="url"),
        summary(metric="mistakes"),
    ]

    test, cumulative = tables(rows)

    assert (test.title[:10], test.columns) == ("Test error", ("digits",))
    assert (cumulative.title[:16], cumulative.columns) == (
        "Cumulative error",
        ("digits", "url"),
    )


def test_protocols_are_not_mixed():
    one, two = tables([summary(), summary(protocol={"order": "time"})])

    assert {one.title, two.title} == {
        "Test error (%), permuted order, seed 0",
        "Test error (%), time order",
    }


def test_nothing_but_failures_is_still_a_table():
    [table] = tables([failed("cw")])

    assert table.entries[0][0].note == "diverged"


def test_select_names_what_there_is():
    with pytest.raises(UnknownNameError, match="did you mean 'test_error'"):
        select([summary()], metrics=["test_eror"])
    with pytest.raises(UnknownNameError, match=r"dataset in this store 'url'.*digits"):
        select([summary()], datasets=["url"])


def test_plain_text_is_aligned_and_marked():
    rows = [
        summary("perceptron", 0.123),
        summary("pa", 0.05),
        summary("pa", 0.2, 0.0, 1, dataset="letter"),
        failed("cw"),
    ]

    text = plain(tables(rows))
    lines = text.splitlines()

    assert "pa           5.00 ± 1.00*  20.00*" in [line.rstrip() for line in lines]
    assert len({line.index("±") for line in lines if "±" in line}) == 1
    assert "* best of the column." in lines
    assert plain(tables(rows), ascii_only=True).isascii()


def test_terminal_output_has_bold_and_fits_the_width():
    rows = [
        summary(name, error, dataset=f"dataset-{i}")
        for i in range(9)
        for name, error in (("a", 0.1), ("b", 0.2))
    ]
    out = io.StringIO()

    print_rich(tables(rows), file=out, columns=60)

    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert "\x1b[1;32m" in out.getvalue()
    assert max(map(len, text.splitlines())) <= 60
    assert all(f"dataset-{i}" in text for i in range(9))
    assert "…" not in text


def test_json_has_the_fields_scripts_rely_on():
    [first, second] = json.loads(
        as_json([summary(params={"C": 0.5}, transforms=("bias",)), failed()])
    )

    contract = {
        "dataset",
        "transforms",
        "learner",
        "params",
        "protocol",
        "metric",
        "mean",
        "std",
        "n",
    }
    assert contract <= first.keys()
    assert (first["params"], first["protocol"], first["transforms"]) == (
        {"C": 0.5},
        PERMUTED,
        ["bias"],
    )
    assert (first["mean"], first["std"], first["n"]) == (0.1, 0.01, 5)
    assert (second["mean"], second["failures"]) == (None, {"diverged": 5})
    assert json.loads(as_json([])) == []


def test_csv_has_a_line_a_summary():
    [row] = csv.DictReader(
        io.StringIO(as_csv([summary(params={"C": 0.5}, transforms=("scale", "bias"))]))
    )

    assert (row["learner"], row["mean"], row["transforms"]) == (
        "pa1",
        "0.1",
        "scale,bias",
    )
    assert json.loads(row["params"]) == {"C": 0.5}


def test_a_caption_has_no_advice_and_each_table_a_label_of_its_own():
    tuned = [
        summary(params={"C": 1.0}),
        summary(params={"C": 2.0}, dataset="letter"),
        summary("pa", 0.2),
    ]
    one = tables(tuned)

    assert "`--format json` shows all parameters." in plain(one)
    text = latex(
        [*one, *one, *tables([replace(s, transforms=("bias",)) for s in tuned])]
    )
    assert "--format" not in text
    assert (
        text.count(
            r"Each dataset has its own setting of pa1 (C). The best of each column is in bold.}"
        )
        == 3
    )
    labels = re.findall(r"\\label\{(.*)\}", text)
    assert len(set(labels)) == 3
    assert all(re.fullmatch("tab:[a-z0-9-]+", label) for label in labels)
    assert text.count("Transforms: bias.") == 1


def test_a_tuned_learner_is_told_of_once():
    grid = {
        "grid": {"C": [1, 2]},
        "split": "half",
        "folds": 10,
        "seed": 0,
        "metric": "test_error",
    }
    rows = [
        summary(params={"C": C, "k": C}, dataset=name, tuned=grid)
        for C, name in ((1, "a"), (2, "b"))
    ]

    [table] = tables(rows)

    assert table.notes[-2:] == (
        "Each dataset has its own setting of pa1 (k).",
        "Tuned on 10 random halves of the training split, by test error: pa1 (C).",
    )


def test_latex_is_balanced_escaped_and_bold():
    rows = [
        summary("my_pkg:A&B", 0.1),
        summary("pa", 0.2, failures={"learner_error": 1}),
        failed(outcome="learner_error"),
    ]

    text = latex(tables(rows))

    assert text.count(r"\begin{") == text.count(r"\end{")
    assert r"\textbf{10.00 $\pm$ 1.00}" in text
    assert r"my\_pkg:A\&B" in text
    assert re.search(r"& +failed", text)
    assert r"\caption{Test error (\%)" in text
    assert r"\label{tab:test-error-permuted-order-seed-0}" in text
    assert r"$^{!}$pa: failed runs left out: 1 of 6 learner\_error on digits." in text
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {1}
    assert not re.search(r"(?<!\\)[_#]", text)
    assert text.count("$") % 2 == 0


def test_rows_are_sorted_by_mean_rank_and_name():
    lines = {
        "pa10": ("1.00", "9.00"),
        "pa2": ("2.00", "2.00"),
        "cw": ("", "1.00"),
    }
    entries = tuple(tuple(Entry(mean) for mean in line) for line in lines.values())
    table = Table("Error", ("a", "b"), tuple(lines), entries, (), better="lower")

    orders = {
        by: sorted_tables([table], by)[0].rows for by in ("error", "rank", "name")
    }
    assert orders == {
        "error": ("pa2", "pa10", "cw"),
        "rank": ("pa10", "pa2", "cw"),
        "name": ("cw", "pa2", "pa10"),
    }
    highest = sorted_tables([replace(table, better="higher")], "error")
    assert highest[0].rows == ("pa10", "pa2", "cw")
