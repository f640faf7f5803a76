"""Figures that look ahead are marked wherever they are shown; those of references stand beside no others too early."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.analysis import Summary
from olscale.analysis.standing import is_comparable, looked_ahead
from olscale.errors import ExperimentError
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.report import as_csv, as_json, latex, plain, tables
from olscale.report.live_html import live_html
from olscale.report.live_text import live_text
from olscale.report.markdown import markdown
from olscale.results.live import LiveEvaluation
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store
from olscale.results.store import Store
from tests.cli.command import run

AHEAD = "^ looks ahead: standardize was fitted on all training rows."
LATE = (
    "r predicts nothing before row 64 and is compared along a stream with --burn-in 64 only, "
    "else by test errors."
)


def summary(
    learner: str = "pa1",
    metric: str = "cumulative_error",
    mean: float = 0.1,
    **more: Any,
) -> Summary:
    fields: dict[str, Any] = {
        "transforms": (),
        "version": "1",
        "params": {},
        "protocol": {"order": "time"},
    }
    return Summary(
        "d",
        "f",
        learner=learner,
        metric=metric,
        mean=mean,
        std=0.0,
        n=1,
        **(fields | more),
    )


@pytest.mark.parametrize(
    ("seen", "more"),
    [
        (
            (),
            {
                "transforms": (
                    "running-standardize",
                    "bias",
                    "rff:features=8,gamma=auto,seed=0",
                )
            },
        ),
        (("standardize",), {"transforms": ("standardize", "bias")}),
        (
            ("rff gamma=median",),
            {"transforms": ("rff:features=8,gamma=median,seed=0",)},
        ),
        (("svd-oselm",), {"learner": "svd-oselm"}),
        (
            ("lol prototypes=offline",),
            {"learner": "lol", "params": {"prototypes": "offline"}},
        ),
        (("tuning",), {"tuned": {"grid": {"C": [1, 2]}}}),
        (("2 passes",), {"protocol": {"passes": 2}}),
        (("mine:Mine",), {"learner": "mine:Mine", "prepared": True}),
        (
            ("minmax", "tuning"),
            {"transforms": ("minmax",), "tuned": {"grid": {}, "metric": "test_error"}},
        ),
    ],
)
def test_what_saw_rows_ahead_is_told_of_figures_along_the_stream_alone(
    seen: tuple[str, ...], more: Any
) -> None:
    assert looked_ahead(summary(**more)) == seen
    assert looked_ahead(summary(metric="window_kappa", **more)) == seen
    for metric in ("test_error", "fit_seconds", "model_bytes", "norm_w"):
        assert looked_ahead(summary(metric=metric, **more)) == ()


@pytest.mark.parametrize(
    ("comparable", "protocol"),
    [
        (False, {}),
        (False, {"burn_in": 63}),
        (True, {"burn_in": 64}),
        (False, {"holdout_every": 10, "holdout_rows": 5}),
        (True, {"delay": 1}),
        (True, {"delay": "late"}),
        (True, {"split": "prequential-kfold"}),
    ],
)
def test_a_reference_is_comparable_from_the_row_that_it_first_predicts(
    comparable: bool, protocol: Any
) -> None:
    for metric in ("cumulative_error", "window_error", "auc", "kappa"):
        assert is_comparable(summary("svm", metric, protocol=protocol)) == comparable
    for metric in ("test_error", "holdout_error"):
        assert is_comparable(summary("svm", metric, protocol=protocol))
    assert is_comparable(summary("bpas", protocol=protocol))


def test_every_form_of_a_table_marks_figures_and_leaves_references_out() -> None:
    [table] = tables(
        [
            summary(
                "pa1",
                mean=0.2,
                tuned={
                    "grid": {"C": [1]},
                    "metric": "test_error",
                    "split": "half",
                    "folds": 3,
                },
            ),
            summary("arow", mean=0.3),
            summary("svm", mean=0.1),
        ]
    )
    by_row = dict(zip(table.rows, table.entries, strict=True))
    assert (by_row["svm"][0].mean, by_row["svm"][0].best) == ("", False)
    assert by_row["pa1"][0].best
    assert table.footnotes == (
        "^ looks ahead: tuning saw rows before they were predicted.",
        LATE,
    )
    assert "pa1      20.00*^\n" in plain([table])
    assert re.search("(?m)^svm +-r$", plain([table]))
    assert "| pa1 | **20.00**^ |" in markdown([table])
    assert "| svm | -r |" in markdown([table])
    assert re.search(r"svm +& --\\textsuperscript{r} ", latex([table]))


def test_programs_read_it_in_fields_of_their_own() -> None:
    found = [summary("svm", transforms=("standardize",)), summary("svm", "test_error")]
    along, tested = json.loads(as_json(found))
    assert (along["looks_ahead"], along["comparable"]) == (["standardize"], False)
    assert (tested["looks_ahead"], tested["comparable"]) == ([], True)
    assert as_csv(found).splitlines()[1].endswith(",standardize,False")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return the results of two learners and a reference on 200 rows with a test split of 50."""
    folder = tmp_path_factory.mktemp("standing")
    X = np.random.default_rng(0).normal(size=(250, 3)).round(3)
    lines = [f"{a},{b},{c},{int(a + b > 0)}" for a, b, c in X.tolist()]
    for name, rows in (("train.csv", lines[:200]), ("test.csv", lines[200:])):
        (folder / name).write_text("\n".join(["a,b,c,y", *rows]))
    done = run(
        "ingest", "train.csv", "d", "--test", "test.csv", "--label", "y", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    evaluate(experiment(folder), folder / "store", in_process=True)
    return open_store(folder / "store")


def experiment(folder: Path, **more: Any) -> Any:
    learners = [{"name": "pa1"}, {"name": "perceptron"}, {"name": "svm"}]
    content = {
        "transforms": ["standardize"],
        "protocol": {"order": "time", "mcnemar": True},
        "learners": learners,
    }
    return parse_experiment(
        content | {"datasets": [{"path": str(folder / "d")}]} | more
    )


def test_compare_ranks_no_reference_along_the_stream_and_names_it(store: Store) -> None:
    along = json.loads(
        run(
            "compare", store.path, "--metric", "cumulative_error", "--format", "json"
        ).stdout
    )
    assert sorted(along["learners"]) == ["pa1", "perceptron"]
    [entry] = along["left_out"]
    assert entry["learner"] == "svm"
    assert "--burn-in 64" in entry["reason"]
    assert along["looks_ahead"] == {
        "pa1": ["standardize"],
        "perceptron": ["standardize"],
    }
    assert AHEAD in run("compare", store.path, "--metric", "cumulative_error").stdout


def test_references_are_compared_by_test_errors_and_on_test_rows_alone(
    store: Store,
) -> None:
    tested = json.loads(
        run("compare", store.path, "--metric", "test_error", "--format", "json").stdout
    )
    assert "svm" in tested["learners"]
    assert tested["looks_ahead"] == {}
    pairs = {rows["rows"]: len(rows["pairs"]) for rows in tested["mcnemar"]}
    assert pairs == {"the stream": 1, "the test split": 3}


def test_curves_and_reports_say_it_too(store: Store, tmp_path: Path) -> None:
    curve = run("results", store.path, "--curve", "cumulative_error").stdout
    assert AHEAD in curve
    assert LATE in curve
    done = run("report", store.path, "--out", tmp_path / "page")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page" / "index.html").read_text()
    assert (
        "Figures along the stream look ahead: standardize was fitted on all training rows."
        in page
    )
    assert (
        "Not shown along the stream: svm, which predicts nothing before row 64" in page
    )


def test_live_views_mark_errors_as_tables_do(store: Store) -> None:
    [evaluation] = LiveReader(store).read()
    assert isinstance(evaluation, LiveEvaluation)
    text = live_text([evaluation])
    assert AHEAD in text
    assert "svm              -r" in text
    html = live_html([evaluation])
    assert "<td>-<sup>r</sup></td>" in html
    assert html.count(AHEAD) == 1


def test_strict_online_names_each_kind_and_what_to_do_instead(
    store: Store, tmp_path: Path
) -> None:
    wanted = experiment(
        Path(store.path).parent,
        learners=[
            {"name": "pa1", "tune": {"C": [0.1, 1.0]}},
            {"name": "svm"},
            {"name": "rff-rls"},
            {"name": "lol", "params": {"prototypes": "offline"}},
        ],
    )
    with pytest.raises(ExperimentError) as refused:
        evaluate(wanted, tmp_path / "none", in_process=True, strict_online=True)
    said = str(refused.value)
    for name, cure in (
        ("standardize", "take running-standardize"),
        ("tuning", "give params"),
        ("svm", "take bpas or fogd"),
        ("rff-rls gamma=median", "give gamma a number"),
        ("lol prototypes=offline", "take prototypes=sequential"),
    ):
        assert name in said
        assert cure in said
    assert said.count("standardize sees") == 1
    assert not (tmp_path / "none").exists()


def test_strict_online_lets_streaming_forms_pass(store: Store, tmp_path: Path) -> None:
    folder = Path(store.path).parent
    done = run(
        *(
            "evaluate",
            "--dataset",
            folder / "d",
            "--learner",
            "pa1",
            "--order",
            "time",
            "--strict-online",
        ),
        *(
            "--transform",
            "running-standardize,bias",
            "--store",
            tmp_path / "s",
            "--in-process",
        ),
    )
    assert done.returncode == 0, done.stderr
    assert "^" not in run("results", tmp_path / "s").stdout
