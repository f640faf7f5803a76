"""``olscale compare``, and the section Ranks of a report."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

import olscale
from olscale import Results
from olscale.report.comparison_tables import p_text
from olscale.results import open_store, write_plan
from tests.cli.command import run

SHIFTS = {"arow": 0.0, "pa1": 0.02, "perceptron": 0.05}


@pytest.fixture(scope="module")
def make_run(make_record):
    """Return a maker of records in which data sets of unlike names differ in their content."""

    def make(dataset: str, learner: str, **rest):
        content = hashlib.sha256(dataset.encode()).hexdigest()
        return make_record(
            dataset=dataset, fingerprint=content, learner=learner, params={}, **rest
        )

    return make


@pytest.fixture
def fill(tmp_path, make_run):
    """Return what makes a store of three learners on so many data sets, two permutations each.

    Some are missing: learners on a data set, or one permutation of theirs.
    """

    def make(
        datasets: int,
        missing: tuple[tuple[str | int, ...], ...] = (),
        permutations: int = 2,
    ):
        store = open_store(
            tmp_path / f"store-{datasets}-{permutations}-{len(missing)}", create=True
        )
        for number in range(datasets):
            for learner, shift in SHIFTS.items():
                if (learner, number) in missing:
                    continue
                for i in range(permutations):
                    if (learner, number, i) in missing:
                        continue
                    error = 0.1 + shift + 0.01 * number + 0.001 * ((i * 7 + number) % 5)
                    metrics = {
                        "test_error": error,
                        "cumulative_error": error,
                        "model_bytes": 1000.0,
                        "updates": 3.0,
                    }
                    store.write(
                        make_run(
                            f"set-{number}", learner, permutation=i, metrics=metrics
                        )
                    )
        return store

    return make


def test_learners_are_ranked_and_tested(fill) -> None:
    found = json.loads(run("compare", fill(7).path, "--format", "json").stdout)

    assert found["metric"] == "test_error"
    assert found["datasets"] == [f"set-{i}" for i in range(7)]
    assert found["mean_ranks"] == {"arow": 1.0, "pa1": 2.0, "perceptron": 3.0}
    assert found["friedman_p"] == pytest.approx(0.000912, rel=1e-3)
    first = found["pairs"][0]
    assert (first["a"], first["b"], first["wins"], first["ties"], first["losses"]) == (
        "arow",
        "pa1",
        7,
        0,
        0,
    )
    assert (first["p"], first["p_corrected"]) == (0.015625, 3 * 0.015625)
    assert first["difference"] == pytest.approx(-0.02)
    assert first["posterior"]["below"] > 0.95
    assert found["cliques"] == []


def test_a_baseline_is_compared_with_each_other_learner_only(fill) -> None:
    store = fill(7)
    found = json.loads(
        run("compare", store.path, "--format", "json", "--baseline", "pa1").stdout
    )
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [
        ("pa1", "arow"),
        ("pa1", "perceptron"),
    ]
    assert found["pairs"][0]["p_corrected"] == 2 * 0.015625

    refused = run("compare", store.path, "--baseline", "pa2")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "did you mean 'pa1'?" in refused.stderr
    assert (
        run("compare", store.path, "--baseline", "pa1", "--test", "nemenyi").returncode
        == 2
    )


def test_five_data_sets_are_too_few_for_any_p_below_five_percent(fill) -> None:
    text = run("compare", fill(5).path).stdout
    assert (
        "With 5 data sets the least p of 3 tests is 0.19: none can be significant."
        in text
    )
    assert "No two differ significantly." in text
    alone = run("compare", fill(5).path, "--learner", "pa1", "--learner", "perceptron")
    assert "the least p of one test is 0.062: none can be significant." in alone.stdout
    assert "Holm" not in alone.stdout


def test_on_few_data_sets_permutations_are_compared_on_each(fill) -> None:
    found = json.loads(
        run("compare", fill(1, permutations=6).path, "--format", "json").stdout
    )
    assert found["friedman_p"] is None
    assert found["pairs"][0]["p"] is None
    [within] = found["within"]
    assert (within["over"], within["test"]) == ("6 permutations", "Wilcoxon")
    assert within["pairs"][0]["p"] == 0.03125


def test_what_lacks_figures_is_left_out_by_name(fill) -> None:
    found = json.loads(
        run("compare", fill(7, missing=(("pa1", 3),)).path, "--format", "json").stdout
    )
    assert "set-3" not in found["datasets"]
    assert len(found["learners"]) == 3
    assert "Left out for want of figures: set-3 (none of pa1)." in found["notes"]


def test_a_data_set_without_the_figure_is_left_out_by_name(fill, make_run) -> None:
    store = fill(7)
    for learner in SHIFTS:
        store.write(make_run("untested", learner, metrics={"cumulative_error": 0.1}))
    assert (
        "Left out, having no test error: untested."
        in run("compare", store.path, "--metric", "test_error").stdout
    )
    assert (
        "untested" in run("compare", store.path, "--metric", "cumulative_error").stdout
    )


def test_the_metric_that_most_data_sets_have_is_taken_and_the_other_stands_beside(
    fill, make_run
) -> None:
    store = fill(2)
    for number in range(5):
        for learner, shift in SHIFTS.items():
            metrics = {"cumulative_error": 0.2 - shift + 0.01 * number}
            for i in range(2):
                store.write(
                    make_run(
                        f"stream-{number}", learner, permutation=i, metrics=metrics
                    )
                )
    compared = json.loads(run("compare", store.path, "--format", "json").stdout)
    assert (compared["metric"], len(compared["datasets"])) == ("cumulative_error", 7)
    assert compared["friedman_p"] is not None
    assert compared["beside"]["metric"] == "test_error"
    assert compared["beside"]["datasets"] == ["set-0", "set-1"]
    assert compared["beside"]["mean_ranks"] == {
        "arow": 1.0,
        "pa1": 2.0,
        "perceptron": 3.0,
    }

    text = run("compare", store.path).stdout
    assert (
        "Compared by cumulative error (of 7 data sets); mean ranks by test error (of 2) stand "
        "beside." in text
    )
    assert "--metric test_error compares by test error." in text
    line = next(line for line in text.splitlines() if line.startswith("perceptron "))
    assert line.split()[1:3] == [f"{compared['mean_ranks']['perceptron']:.2f}*", "3.00"]

    asked = json.loads(
        run("compare", store.path, "--format", "json", "--metric", "test_error").stdout
    )
    assert (asked["datasets"], asked["beside"]) == (["set-0", "set-1"], None)
    assert run("compare", store.path, "--metric", "test_eror").returncode == 1


def test_unfinished_experiments_are_told(fill, tmp_path) -> None:
    store = fill(2)
    done = sorted(store.done())
    write_plan(store, "quick", [*done, "0" * 32, "1" * 32])
    said = (
        f"Experiment quick is unfinished: {len(done)} of {len(done) + 2} runs are done."
    )
    for form in ("table", "latex", "markdown"):
        assert said in run("compare", store.path, "--format", form).stdout
        assert said in run("results", store.path, "--format", form).stdout
    progress = {
        "experiment": "quick",
        "done": len(done),
        "lost": 0,
        "total": len(done) + 2,
    }
    assert json.loads(run("compare", store.path, "--format", "json").stdout)[
        "unfinished"
    ] == [progress]
    listed = run("results", store.path, "--format", "json")
    assert (json.loads(listed.stdout) != [], listed.stderr) == (
        True,
        f"olscale: {said}\n",
    )
    assert run("report", store.path, "--out", tmp_path / "out").returncode == 0
    assert said in (tmp_path / "out" / "index.html").read_text()
    assert said in repr(Results(store))
    assert said in Results(store).select(metric="test_error")._repr_html_()
    assert said not in repr(Results(store, experiment="another"))

    # The same experiment with fewer runs: what it had before is not asked for any more.
    write_plan(store, "quick", done)
    assert "unfinished" not in run("compare", store.path).stdout


def test_an_experiment_is_compared_by_its_own_runs(fill) -> None:
    """Another one in the same store has more permutations of the same settings."""
    store = fill(2, permutations=4)
    definitions = store.read(["id", "run"]).to_pylist()
    first = [
        row["id"]
        for row in definitions
        if json.loads(row["run"])["protocol"]["permutation"] < 2
    ]
    write_plan(store, "long", [*store.done(), "0" * 32])
    write_plan(store, "short", first)

    def compared(*options: str):
        return json.loads(
            run("compare", store.path, "--format", "json", *options).stdout
        )

    short = compared("--experiment", "short")
    assert short != compared("--experiment", "long")
    assert short["unfinished"] == []
    by_python = olscale.compare(store, experiments=["short"])
    assert json.loads(by_python.to_json()) == short
    wrong = run("compare", store.path, "--experiment", "shrt")
    assert (wrong.returncode, "did you mean 'short'" in wrong.stderr) == (1, True)


def test_means_of_other_runs_are_marked_and_are_not_called_the_best(fill) -> None:
    store = fill(1, permutations=4)
    lines = run("results", store.path, "--metric", "test_error").stdout.splitlines()
    assert next(line for line in lines if line.startswith("arow")).endswith("*")
    store = fill(1, missing=(("arow", 0, 0), ("pa1", 0, 3)), permutations=4)
    text = run("results", store.path, "--metric", "test_error").stdout
    assert "arow        10.23 ± 0.15(3)" in text
    assert re.search(r"^pa1 .*\(3\)$", text, re.MULTILINE)
    assert "(n) is the mean of n runs, not those of the rest of its column" in text
    assert "*" not in text
    latex = run(
        "results", store.path, "--metric", "test_error", "--format", "latex"
    ).stdout
    assert r"\textsuperscript{(3)}" in latex
    compared = json.loads(run("compare", store.path, "--format", "json").stdout)
    assert compared["blocks"] == {"set-0": [{"transforms": [], "runs": 2}]}
    assert {(left["learner"], left["runs"]) for left in compared["left_out"]} == {
        ("arow", 1),
        ("pa1", 1),
        ("perceptron", 2),
    }


def test_nothing_to_compare_says_what_there_is(tmp_path, make_run) -> None:
    store = open_store(tmp_path / "apart", create=True)
    store.write(make_run("set-0", "arow", metrics={"test_error": 0.1}))
    store.write(make_run("set-0", "pa1", permutation=None, metrics={"test_error": 0.1}))
    refused = run("compare", store.path)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "got arow in permuted order, seed 0; pa1 in time order" in refused.stderr


MANY = [f"learner-{letter}" for letter in "abcdefghijklmnop"]


@pytest.fixture
def crowd(tmp_path, make_run):
    """Return a store of sixteen learners on seven data sets, more than a page shows."""
    store = open_store(tmp_path / "crowd", create=True)
    records = []
    for number in range(7):
        for place, learner in enumerate(MANY):
            error = 0.1 + 0.01 * ((place * 5 + number * 3) % 16 + place)
            metrics = {
                "test_error": error,
                "cumulative_error": error,
                "model_bytes": 9.0,
                "updates": 3.0,
            }
            records.append(make_run(f"set-{number}", learner, metrics=metrics))
    store.write_together(records)
    return store


def test_terminal_page_json_and_latex_rank_and_test_all_learners(
    crowd, tmp_path
) -> None:
    """The page shows twelve of them, with the figures that the others have."""
    compared = json.loads(run("compare", crowd.path, "--format", "json").stdout)
    text = run("compare", crowd.path).stdout
    tex = run("compare", crowd.path, "--format", "latex").stdout
    assert run("report", crowd.path, "--out", tmp_path / "out").returncode == 0
    page = (tmp_path / "out" / "index.html").read_text()
    ranks = compared["mean_ranks"]
    assert len(ranks) == len(MANY)
    friedman = f"chi-square {compared['friedman_statistic']:.2f}, p {p_text(compared['friedman_p'], '= ')}"
    assert all(
        friedman in form
        for form in (text, tex.replace(r"\textless{}", "<"), page.replace("&lt;", "<"))
    )
    best = list(ranks)[:12]
    for learner, mean in ranks.items():
        shown = f"{mean:.2f}"
        assert re.search(rf"^{learner} +{shown}", text, re.MULTILINE)
        assert re.search(rf"^{learner} +& .*{shown}", tex, re.MULTILINE)
        row = re.search(rf'<th scope="row">{learner}</th><td[^>]*>{shown}', page)
        assert (row is not None) == (learner in best)
    assert "12 of 16 learners and settings are shown" in page
    for pair in compared["pairs"]:
        row = re.search(
            rf'<th scope="row">{pair["a"]} : {pair["b"]}</th>(.*?)</tr>', page
        )
        assert (row is not None) == (pair["a"] in best and pair["b"] in best)
        if row:
            cells = re.findall(r"<td[^>]*>([^<]*)</td>", row[1])
            assert cells[2:4] == [p_text(pair["p"]), p_text(pair["p_corrected"])]
            assert cells[-3] == f"{pair['posterior']['below']:.2f}"


def test_a_report_of_learners_named_before_tests_these(crowd, tmp_path) -> None:
    named = [word for learner in MANY[:3] for word in ("--learner", learner)]
    compared = json.loads(run("compare", crowd.path, "--format", "json", *named).stdout)
    out = tmp_path / "out"
    assert (
        run(
            "report", crowd.path, "--out", out, "--metric", "cumulative_error", *named
        ).returncode
        == 0
    )
    page = (out / "index.html").read_text()
    assert "Ranks by cumulative error" in page
    assert "Ranks by test error" not in page
    assert f"chi-square {compared['friedman_statistic']:.2f}" in page
    assert MANY[3] not in page
    assert (
        run(
            "report", crowd.path, "--out", out, "--metric", "model_bytes", "--static"
        ).returncode
        == 0
    )
    assert "<h2>Ranks</h2>" in (out / "index.html").read_text()
    assert (
        run(
            "report", crowd.path, "--out", out, "--metric", "updates", "--static"
        ).returncode
        == 0
    )
    assert "<h2>Ranks</h2>" not in (out / "index.html").read_text()
    for wrong in (("--learner", "learner-z"), ("--metric", "test_eror")):
        refused = run("report", crowd.path, "--out", tmp_path / "none", *wrong)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert "did you mean" in refused.stderr


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
        (
            7,
            {
                "ranks-test_error.svg",
                "differences-test_error.svg",
                "costs-test_error.svg",
            },
        ),
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
