"""McNemar's test on the rows of a stream and of the test split, against counts and p values made another way."""

from __future__ import annotations

import json
import re
from math import comb
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from olscale.analysis.mcnemar import compare_rows, mcnemar
from olscale.data.dataset import open_dataset
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.contract.learner import predictions_of
from olscale.learners.contract.usable_rows import score_usable
from olscale.learners.registry import make_learner
from tests.cli.command import run


def experiment(shelf: Path, **protocol: object) -> Experiment:
    learners = [{"name": "pa1"}, {"name": "perceptron"}, {"name": "no-change"}]
    content = {"datasets": [{"path": str(shelf / "dense")}], "learners": learners}
    return parse_experiment(
        content | {"protocol": {"order": "time", "mcnemar": True} | protocol}
    )


@pytest.mark.parametrize(
    "counts",
    [(0, 0), (1, 0), (3, 3), (15, 5), (5, 15), (40, 61), (700, 620), (1300, 1100)],
)
def test_p_values_are_those_of_the_formulas(counts: tuple[int, int]) -> None:
    """As statsmodels has them, but for equal counts, where its correction for continuity goes below zero."""
    one, other = counts
    n = one + other
    least = min(counts)
    exact = min(1.0, 2 * sum(comb(n, i) for i in range(least + 1)) / 2**n)
    statistic = (abs(one - other) - 1) ** 2 / n if one != other else 0.0
    found = mcnemar(np.array([one]), np.array([other]))
    np.testing.assert_allclose(
        np.ravel(found), [exact, statistic, chi2.sf(statistic, 1)], rtol=1e-10
    )


def test_pairs_are_corrected_by_holm_within_each_replicate() -> None:
    rng = np.random.default_rng(0)
    bits = [
        {one: rng.integers(0, 2**32, 9, dtype=np.uint32) for one in "xyz"}
        for _ in range(3)
    ]
    del bits[1]["z"]
    pairs = compare_rows(["a", "b", "c"], bits)
    assert [(pair.a, pair.b) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    p = np.array([pair.p for pair in pairs])
    assert p.shape == (3, 2)
    corrected = np.array([pair.p_corrected for pair in pairs])
    for column, own in zip(corrected.T, p.T, strict=True):
        assert column[np.argmin(own)] == min(1.0, 3 * own.min())
    assert [(pair.a, pair.b) for pair in compare_rows(["a", "b", "c"], bits, "b")] == [
        ("b", "a"),
        ("b", "c"),
    ]
    assert compare_rows(["a", "b"], [bits[0], {}]) == ()


def test_counts_are_those_of_learners_fed_by_hand(shelf: Path, tmp_path: Path) -> None:
    """Of the stream row by row, and of the test split after it."""
    evaluate(experiment(shelf), tmp_path / "store", in_process=True)
    dataset = open_dataset(str(shelf / "dense"))
    wrong: dict[str, dict[str, list[bool]]] = {}
    for name in ("pa1", "perceptron"):
        learner = make_learner(name, {})
        learner.begin(dataset.columns, len(dataset.classes or ()))
        wrong[name] = {"the stream": [], "the test split": []}
        for split, rows in zip(("train", "test"), wrong[name].values(), strict=True):
            if split in dataset.splits:
                for chunk in dataset.chunks(split):
                    scores = (
                        learner.learn(chunk.X, chunk.y)
                        if split == "train"
                        else score_usable(learner, chunk.X)
                    )
                    rows += (
                        predictions_of(scores, "classification") != chunk.y
                    ).tolist()
    found = json.loads(
        run("compare", str(tmp_path / "store"), "--format", "json").stdout
    )["mcnemar"]
    assert [one["rows"] for one in found] == [
        rows for rows, bits in wrong["pa1"].items() if bits
    ]
    for one in found:
        pairs = {(pair["a"], pair["b"]): pair for pair in one["pairs"]}
        pair = pairs.get(("pa1", "perceptron")) or pairs["perceptron", "pa1"]
        a, b = (np.array(wrong[name][one["rows"]]) for name in (pair["a"], pair["b"]))
        assert (pair["a_alone"], pair["b_alone"]) == (
            [int((b & ~a).sum())],
            [int((a & ~b).sum())],
        )


def test_tables_and_report_have_the_counts_and_the_warning(
    shelf: Path, tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    evaluate(
        experiment(shelf, order="permuted", permutations=3, burn_in=50),
        store,
        in_process=True,
    )
    text = run("compare", store).stdout
    assert "McNemar's test on the stream of dense" in text
    assert "Bifet et al. 2015" in text
    assert re.search(
        r"perceptron : pa1 +[\d.]+ +[\d.]+ +[\d.<]+ +[\d.<]+ +[0-3] of 3", text
    ), text
    assert run("report", store, "--out", str(tmp_path / "page")).returncode == 0
    assert (
        "test on the stream of dense" in (tmp_path / "page" / "index.html").read_text()
    )


def test_several_passes_over_the_same_rows_are_told(
    shelf: Path, tmp_path: Path
) -> None:
    evaluate(experiment(shelf, passes=2), tmp_path / "store", in_process=True)
    assert (
        "A row counts once in each of 2 passes"
        in run("compare", str(tmp_path / "store")).stdout
    )


def test_learners_are_compared_under_transforms_that_all_have_met(
    shelf: Path, tmp_path: Path
) -> None:
    """Pairs and McNemar's test say nothing of `unit-norm`, which one of the learners never ran with."""
    store = str(tmp_path / "store")
    options: dict[str, object] = {"order": "permuted", "permutations": 5}
    both = experiment(shelf, **options)
    evaluate(both, store, in_process=True)
    learners = [learner for learner in both.learners if learner.name == "pa1"]
    evaluate(
        both.model_copy(update={"learners": learners, "transforms": ("unit-norm",)}),
        store,
        in_process=True,
    )
    compared = json.loads(run("compare", store, "--format", "json").stdout)
    assert {
        tuple(one["transforms"]) for one in (*compared["mcnemar"], *compared["within"])
    } == {()}
    assert [
        (left["learner"], left["transforms"], left["runs"])
        for left in compared["left_out"]
    ] == [("pa1", ["unit-norm"], 5)]

    evaluate(
        both.model_copy(update={"transforms": ("unit-norm",)}), store, in_process=True
    )
    compared = json.loads(run("compare", store, "--format", "json").stdout)
    names = {one["dataset"] for one in (*compared["mcnemar"], *compared["within"])}
    assert names == {"dense [raw]", "dense [unit-norm]"}


def test_stores_without_the_option_say_nothing_of_it(
    shelf: Path, tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    evaluate(experiment(shelf, mcnemar=False), store, in_process=True)
    assert json.loads(run("compare", store, "--format", "json").stdout)["mcnemar"] == []
    assert "McNemar" not in run("compare", store).stdout


@pytest.mark.parametrize("form", ["table", "json", "latex", "markdown"])
def test_no_run_in_common_is_told(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """As where each learner has diverged in another permutation."""
    evaluate(experiment(shelf), tmp_path / "store", in_process=True)
    monkeypatch.setattr("olscale.report.mcnemar.compare_rows", lambda *_: ())
    told = run("compare", str(tmp_path / "store"), "--format", form).stdout
    assert "was asked for, but no run is common to all learners" in " ".join(
        told.split()
    )


def test_a_regression_is_refused_in_one_line(shelf: Path, tmp_path: Path) -> None:
    words = (
        "evaluate",
        "--dataset",
        shelf / "targets",
        "--learner",
        "pa1-r",
        "--mcnemar",
        "--store",
        tmp_path / "s",
    )
    refused = run(*words)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "protocol.mcnemar was true, which counts mistakes" in refused.stderr
