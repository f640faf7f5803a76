"""``olscale compare``, and the section Ranks of a report."""

from __future__ import annotations

import json

import pytest

from olscale.results import open_store
from tests.cli.command import run

SHIFTS = {"arow": 0.0, "pa1": 0.02, "perceptron": 0.05}


@pytest.fixture
def fill(tmp_path, make_record):
    """Return what makes a store of three learners on so many data sets, two permutations each; some are missing."""

    def make(datasets: int, missing: tuple[tuple[str, int], ...] = (), permutations: int = 2):
        store = open_store(tmp_path / f"store-{datasets}-{permutations}-{len(missing)}", create=True)
        for number in range(datasets):
            for learner, shift in SHIFTS.items():
                if (learner, number) in missing:
                    continue
                for i in range(permutations):
                    error = 0.1 + shift + 0.01 * number + 0.001 * ((i * 7 + number) % 5)
                    metrics = {"test_error": error, "cumulative_error": error, "model_bytes": 1000.0, "updates": 3.0}
                    record = make_record(
                        dataset=f"set-{number}", learner=learner, permutation=i, params={}, metrics=metrics
                    )
                    store.write(record)
        return store

    return make


def test_learners_are_ranked_and_tested(fill) -> None:
    found = json.loads(run("compare", fill(7).path, "--format", "json").stdout)

    assert found["metric"] == "test_error"
    assert found["datasets"] == [f"set-{i}" for i in range(7)]
    assert found["mean_ranks"] == {"arow": 1.0, "pa1": 2.0, "perceptron": 3.0}
    assert found["friedman_p"] == pytest.approx(0.000912, rel=1e-3)
    first = found["pairs"][0]
    assert (first["a"], first["b"], first["wins"], first["ties"], first["losses"]) == ("arow", "pa1", 7, 0, 0)
    assert (first["p"], first["p_corrected"]) == (0.015625, 3 * 0.015625)
    assert first["difference"] == pytest.approx(-0.02)
    assert first["posterior"]["below"] > 0.95
    assert found["cliques"] == []


def test_a_baseline_is_compared_with_each_other_learner_only(fill) -> None:
    store = fill(7)
    found = json.loads(run("compare", store.path, "--format", "json", "--baseline", "pa1").stdout)
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [("pa1", "arow"), ("pa1", "perceptron")]
    assert found["pairs"][0]["p_corrected"] == 2 * 0.015625

    refused = run("compare", store.path, "--baseline", "pa2")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "did you mean 'pa1'?" in refused.stderr
    assert run("compare", store.path, "--baseline", "pa1", "--test", "nemenyi").returncode == 2


def test_five_data_sets_are_too_few_for_any_p_below_five_percent(fill) -> None:
    text = run("compare", fill(5).path).stdout
    assert "With 5 data sets the least p of 3 tests is 0.19: none can be significant." in text


def test_on_few_data_sets_permutations_are_compared_on_each(fill) -> None:
    found = json.loads(run("compare", fill(1, permutations=6).path, "--format", "json").stdout)
    assert found["friedman_p"] is None
    assert found["pairs"][0]["p"] is None
    [within] = found["within"]
    assert (within["over"], within["test"]) == ("6 permutations", "Wilcoxon")
    assert within["pairs"][0]["p"] == 0.03125


def test_what_lacks_figures_is_left_out_by_name(fill) -> None:
    found = json.loads(run("compare", fill(7, missing=(("pa1", 3),)).path, "--format", "json").stdout)
    assert "set-3" not in found["datasets"]
    assert len(found["learners"]) == 3
    assert "Left out for want of figures: set-3 (none of pa1)." in found["notes"]


def test_a_data_set_without_the_figure_is_left_out_by_name(fill, make_record) -> None:
    store = fill(7)
    for learner in SHIFTS:
        store.write(make_record(dataset="untested", learner=learner, params={}, metrics={"cumulative_error": 0.1}))
    assert "Left out, having no test error: untested." in run("compare", store.path).stdout
    assert "untested" in run("compare", store.path, "--metric", "cumulative_error").stdout


def test_latex_marks_what_is_significant(fill) -> None:
    text = run("compare", fill(7).path, "--format", "latex").stdout
    assert r"\textbf{0.047}" in text
    assert "In bold: corrected p at most 0.05, or probability above 0.95" in text


def test_a_metric_without_a_direction_is_refused(fill) -> None:
    refused = run("compare", fill(2).path, "--metric", "updates")
    assert refused.returncode == 1
    assert "neither more nor less of it is better" in refused.stderr


def test_a_report_ranks_and_tests_from_five_data_sets_on(fill, tmp_path) -> None:
    for number, figures in (
        (7, {"ranks-test_error.svg", "differences-test_error.svg", "costs-test_error.svg"}),
        (2, {"costs-test_error.svg"}),
    ):
        out = tmp_path / f"out-{number}"
        assert run("report", fill(number).path, "--out", out).returncode == 0
        page = (out / "index.html").read_text()
        assert "<h2>Ranks</h2>" in page
        drawn = {path.name for path in (out / "figures").glob("*test_error.svg")}
        assert drawn == figures
        assert 'class="best rank1"' in page
        assert 'class="rank5"' in page
