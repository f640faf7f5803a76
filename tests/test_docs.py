"""What the documentation says works."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import olscale
from docs.site.words import LIMIT, words_of_pages
from olscale.cli import olscale as cli
from olscale.evaluation.experiment import load_experiment
from olscale.jobs import load_job

ROOT = Path(__file__).parents[1]
PAGES = [
    *(
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "cluster/README.md",
        )
    ),
    # Pages in `docs/site` link to pages made from the code, which building the site checks.
    *sorted(
        page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "site"
    ),
]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```",
        (ROOT / page).read_text(encoding="utf-8"),
        re.M | re.S,
    )


@pytest.fixture(scope="module")
def averaged_perceptron(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The learner of docs/adding-a-learner.md, as a module of its own, compiled once."""
    folder = tmp_path_factory.mktemp("walk-through")
    (folder / "averaged_perceptron.py").write_text(
        blocks("docs/adding-a-learner.md", "python")[0]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("averaged_perceptron")
    sys.modules.pop("averaged_perceptron", None)


def test_the_learner_of_the_walk_through_keeps_the_contract(
    averaged_perceptron: Any,
) -> None:
    from olscale.testing import learner_checks

    for _, check in learner_checks(averaged_perceptron.AveragedPerceptron):
        check()


def test_the_learner_of_the_walk_through_is_the_mean_of_the_perceptrons(
    averaged_perceptron: Any,
) -> None:
    """Its weights are those of a plain loop over all the perceptron's weights."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=50) > 0).astype(int)
    w = np.zeros(3)
    total = np.zeros(3)
    for x, target in zip(X, 2 * y - 1, strict=True):
        if (w @ x >= 0) != (target > 0):
            w = w + target * x
        total += w
    state = averaged_perceptron.AveragedPerceptron().fit(X, y).state_
    np.testing.assert_allclose(
        state["W"][:, 0] - state["V"][:, 0] / 50, total / 50, rtol=1e-12
    )


def test_the_learner_of_the_walk_through_is_evaluated_beside_others(
    averaged_perceptron: Any, tmp_path: Path
) -> None:
    from olscale.data.generators import generate

    generate("rotating-xor", tmp_path / "xor", rows=200)
    names = (
        "averaged_perceptron:AveragedPerceptron",
        "pa",
        "sklearn.linear_model:Perceptron",
    )
    experiment = olscale.Experiment(
        protocol={"permutations": 2},
        datasets=[{"path": str(tmp_path / "xor")}],
        learners=[{"name": name} for name in names],
    )
    done = olscale.evaluate(experiment, tmp_path / "store", in_process=True)
    assert done.store.read(["outcome"])["outcome"].to_pylist() == ["ok"] * 6


def test_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks("README.md", "python"):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_the_guide_from_a_csv_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step of it, on fewer rows; what it prints of columns is what is printed."""
    import subprocess

    from click.testing import CliRunner

    from olscale.cli import olscale as command

    page = "docs/guides/from-csv-to-a-choice.md"
    monkeypatch.chdir(tmp_path)
    make = blocks(page, "python")[0]
    assert "ROWS = 40_000\n" in make
    exec(
        compile(make.replace("ROWS = 40_000\n", "ROWS = 800\n"), page, "exec"),
        {"__name__": "guide"},
    )
    printed: dict[str, str] = {}
    for line in re.findall(r"^\$ (.*)", "\n".join(blocks(page, "console")), re.M):
        if line.startswith("awk"):
            subprocess.run(line, shell=True, check=True)
            continue
        words, _, note = line.removeprefix("olscale ").partition(" #")
        done = CliRunner().invoke(command, words.split())
        assert done.exit_code in ((0, 1) if "diverge" in note else (0,)), (
            f"{line}: {done.output}"
        )
        printed[words.strip()] = done.output
    said = printed["ingest orders.csv data/orders-all"]
    assert "(placed 800 as '2024-01-01 " in said
    assert "identifiers: order_id (never falls); " in said
    assert (
        "dates: placed, one feature a date; --encode placed=date:cyclic makes" in said
    )
    assert (
        "columns: 3 numeric, 2 text -> 8 columns, one per value (country 5 as 'BR', device 3 as "
        "'desktop'), dropped order_id, placed"
        in printed["ingest orders.csv data/orders --drop order_id,placed"]
    )
    for listed in (
        "age        numeric",
        "country    text, 5 values",
        "order_id   dropped",
        "returned   label",
    ):
        assert listed in printed["datasets show data/orders --columns"]
    assert printed["status results"].count("1 diverged, at row") == 2
    rows = [line.split() for line in printed["results choice"].splitlines()]
    assert {row[0] for row in rows if len(row) == 3} >= {
        "arow",
        "pa1",
        "perceptron",
        "scw1",
        "soft-lol",
    }
    assert "diverged" not in printed["results choice"]
    compared = printed["compare orders --baseline arow"]
    assert "Not tested: 1 data set, and at least 5 are needed" in compared
    assert "Pairs on orders-ageless, over 6 permutations" in compared


def test_the_page_on_jobs_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands, given one after another, print what stands there; its job files are valid."""
    monkeypatch.chdir(tmp_path)
    experiment, job, *more = blocks("docs/jobs.md", "toml")
    Path("experiment.toml").write_text(experiment)
    Path("watch.toml").write_text("\n".join([job, more[1]]))
    assert len(load_job("watch.toml").notify) == 3
    Path("watch.toml").write_text("\n".join([job, more[0]]))
    assert load_job("watch.toml").bench[0].names == ("linear", "local")
    Path("watch.toml").write_text(job)
    for block in blocks("docs/jobs.md", "console"):
        for command, expected in _commands(block):
            _check_output(command, expected)


@pytest.mark.long
def test_the_guide_to_predictions_goes_through_on_real_streams(
    shared_data: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands print what stands there; what the saved model predicts are labels of the stream."""
    monkeypatch.chdir(tmp_path)
    files = {
        "electricity.arff": "electricity/electricity.arff",
        "secom.csv.xz": "secom/secom_431of590.csv.xz",
    }
    files["kddcup.data_10_percent.gz"] = "kdd99/kddcup.data_10_percent.gz"
    for name, real in files.items():
        Path(name).symlink_to(shared_data(real))
    for block in blocks("docs/guides/from-streams-to-predictions.md", "console"):
        for command, expected in _commands(block):
            _check_output(command, expected)
    head, *lines = Path("predictions.csv").read_text().splitlines()
    assert (head, len(lines)) == ("prediction,label", 494_021)
    assert sum(line.split(",")[0] != line.split(",")[1] for line in lines) < 0.02 * len(
        lines
    )


GUIDE = "docs/guides/your-own-learner.md"


def test_the_guide_to_a_learner_of_your_own_is_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands, given in an empty directory, print what stands there; in process, where a cluster adds nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "quick_softmax", raising=False)
    file = tmp_path / "quick_softmax.py"
    learner, factory, edit = blocks(GUIDE, "python")
    file.write_text(learner)
    (tmp_path / "rest.py").write_text(factory)
    steps = [list(_commands(block)) for block in blocks(GUIDE, "console")]
    first_run, after_edit, paper, second_round = (
        steps[:-3],
        steps[-3],
        steps[-2],
        steps[-1],
    )
    for command, expected in [step for block in first_run for step in block]:
        _check_output(command, expected)
    head, _, _ = learner.partition("    def _probabilities")
    file.write_text(head + edit)
    sys.modules.pop("quick_softmax")
    for command, expected in after_edit:
        _check_output(command, expected)
    experiment, addition = blocks(GUIDE, "toml")
    Path("paper.toml").write_text(experiment)
    for command, expected in paper:
        _check_output(command, expected)
    Path("paper.toml").write_text(f"{experiment}\n{addition}")
    for command, expected in second_round:
        _check_output(command, expected)
    assert olscale.make_learner(
        "rest:one_vs_rest", {"alpha": 0.001}
    ).resolved_params() == {"alpha": 0.001}
    for name in ("rest", "quick_softmax"):
        sys.modules.pop(name)


def _commands(block: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"(?m)^\$ ", block)[1:]:
        command, *expected = part.splitlines()
        yield command, expected


def _check_output(command: str, expected: list[str]) -> None:
    """Run a command of a page; `...` there stands for any lines."""
    program, *arguments = shlex.split(command)
    assert program == "olscale"
    done = CliRunner().invoke(
        cli, arguments + ["--in-process"] * (arguments[0] == "evaluate")
    )
    assert done.exit_code == 0, done.output
    pattern = ".*\n".join(
        re.escape("\n".join([*group, ""])) for group in _groups(expected)
    )
    assert not expected or re.fullmatch(f"(?s){pattern}", done.stdout), (
        f"{command}\n{done.stdout}"
    )


def _groups(lines: list[str]) -> list[list[str]]:
    """Cut lines at those that are `...`."""
    groups: list[list[str]] = [[]]
    for line in lines:
        if line == "...":
            groups.append([])
        else:
            groups[-1].append(line)
    return groups


@pytest.mark.parametrize("page", ["README.md", "docs/experiments.md"])
def test_experiments_in_the_pages_are_valid(page: str, tmp_path: Path) -> None:
    found = [block for block in blocks(page, "toml") if "[[datasets]]" in block]
    assert found
    for block in found:
        (tmp_path / "experiment.toml").write_text(block)
        load_experiment(tmp_path / "experiment.toml")


@pytest.mark.parametrize(
    "file", sorted((ROOT / "pipelines").glob("*.toml")), ids=lambda path: path.name
)
def test_pipelines_are_valid(file: Path) -> None:
    load = load_job if file.stem == "nightly" else load_experiment
    assert load(file).name == file.stem


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_page_of_learners_lists_every_learner() -> None:
    from olscale.learners.registry import learner_names

    text = (ROOT / "docs" / "learners.md").read_text(encoding="utf-8")
    missing = [name for name in learner_names() if f"`{name}`" not in text]
    assert not missing, "give each a line in the table of docs/learners.md"


def test_corrected_p_values_of_the_soft_local_page_are_holms_of_its_own() -> None:
    """The column says what Holm's correction makes of the column beside it, to the one digit printed."""
    page = (ROOT / "docs" / "soft-local.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| .*? \| (?:test|cumulative) \| .*? \| (\S+) \| (\S+) \|$", page, re.M
    )
    assert len(rows) == 12
    largest = 0.0
    for number, (p, corrected) in enumerate(
        sorted(rows, key=lambda row: float(row[0]))
    ):
        largest = max(largest, min(1.0, float(p) * (len(rows) - number)))
        assert float(corrected) == float(f"{largest:.0e}"), (p, corrected, largest)


def test_the_glossary_is_short_and_every_decision_fits_a_screen() -> None:
    """At most 25 words; decisions have three parts in twenty lines, numbers without gaps, and are in the index."""
    words = re.findall(
        r"^\| (?!word)(\w[^|]*) \|",
        (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"),
        re.M,
    )
    assert 0 < len(words) <= 25
    assert len(set(words)) == len(words)
    records = {
        path.name: path for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")
    }
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([0-9][^)]*)\)", index)) == set(records)
    assert sorted(int(name[:2]) for name in records) == list(range(1, len(records) + 1))
    for name, path in records.items():
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 20, name
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.M) == [
            "Context",
            "Decision",
            "Consequence",
        ], name


def test_the_pages_have_few_words() -> None:
    """`python -m docs.site words` prints those of each page: cut before you add."""
    assert sum(words_of_pages().values()) <= LIMIT


def test_the_page_on_testing_names_every_long_check() -> None:
    rules = (ROOT / "Makefile").read_text().split("test-long: .venv/dev\n")[1]
    commands = re.findall(r"^\t\$\(BIN\)/(.*)", rules.split("\n\n")[0], re.M)
    page = (ROOT / "docs" / "testing.md").read_text()
    assert len(commands) >= 7
    assert [command for command in commands if f"`{command}`" not in page] == []
