"""What one does daily: look before running, change a value of a file, show one experiment of a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olscale.analysis.live import learners_of
from olscale.data.dataset import open_dataset
from olscale.results import open_store, read_plans
from olscale.results.live_reader import LiveReader
from tests.cli.command import run
from tests.cli.test_evaluate import one_line


@pytest.fixture
def experiment(shelf: Path, tmp_path: Path) -> Path:
    file = tmp_path / "letter.toml"
    file.write_text(f"""
[protocol]
permutations = 2
[[datasets]]
path = "{shelf / "dense"}"
label = "Letter"
[[learners]]
name = "pa1"
label = "PA-I"
params = {{ C = [0.1, 1.0] }}
[[learners]]
name = "perceptron"
""")
    return file


def test_a_dry_run_counts_what_is_to_do_and_writes_nothing(
    experiment: Path, shelf: Path, tmp_path: Path
) -> None:
    """Its runs are those that are computed, its rows those that they learn, and labels name them."""
    store = tmp_path / "s"
    words = ("evaluate", experiment, "--in-process", "--store", store)
    looked = run(*words, "--dry-run")
    assert looked.returncode == 0, looked.stderr
    assert not store.exists()
    assert looked.stdout.startswith(f"letter: 6 of 6 runs to compute, 0 in {store}\n")
    assert run(*words).stdout.startswith("6 of 6 runs computed")
    written = sorted(path for path in store.rglob("*") if path.is_file())
    looked = run(*words, "--dry-run", "--set", "protocol.permutations=5")
    assert looked.stdout.startswith(f"letter: 9 of 15 runs to compute, 6 in {store}\n")
    lines = [line.split()[:5] for line in looked.stdout.splitlines()[3:5]]
    rows = 3 * open_dataset(shelf / "dense").rows("train")
    assert lines == [
        ["Letter", "PA-I", "10", "4", f"{2 * rows:,}"],
        ["Letter", "perceptron", "5", "2", f"{rows:,}"],
    ]
    assert sorted(path for path in store.rglob("*") if path.is_file()) == written
    forced = run(*words, "--dry-run", "--force").stdout
    assert forced.startswith(f"letter: 6 of 6 runs to compute, 0 in {store}\n")


def test_a_dry_run_writes_no_dataset_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are drawn, held out or generated are counted all the same."""
    home = tmp_path / "home"
    monkeypatch.setenv("OLSCALE_DATASETS", str(home))
    file = tmp_path / "halves.toml"
    file.write_text("""
[[datasets]]
name = "rotating-xor"
rows = 400
test_share = 0.25
[[learners]]
name = "pa1"
[protocol]
order = "time"
""")
    words = ("evaluate", file, "--in-process", "--store", tmp_path / "s", "--dry-run")
    looked = run(*words)
    assert looked.returncode == 0, looked.stderr
    assert " 300 " in looked.stdout.replace("\n", " ")
    assert not [path for path in tmp_path.rglob("*") if path != file and path.is_file()]


def test_a_value_set_beside_a_file_is_that_of_the_file(
    experiment: Path, tmp_path: Path
) -> None:
    """Also in a table of a list, by its label; the store names each experiment by its own name."""
    words = ("evaluate", experiment, "--in-process", "--store", tmp_path / "s")
    changes = ("--set", "protocol.order=time", "--set", "learners.PA-I.params.C=0.5")
    # Permutations of a stream in time order are none.
    assert "needs protocol.order" in one_line(run(*words, *changes), 1)
    short = tmp_path / "short.toml"
    short.write_text(experiment.read_text().replace("permutations = 2", ""))
    done = run("evaluate", short, *words[2:], *changes, "--name", "stream")
    assert done.returncode == 0, done.stderr
    store = open_store(str(tmp_path / "s"))
    runs = store.read(["learner", "params", "protocol"]).to_pylist()
    assert {json.loads(row["protocol"])["order"] for row in runs} == {"time"}
    assert [
        json.loads(row["params"])["C"] for row in runs if row["learner"] == "pa1"
    ] == [0.5]
    assert [plan.experiment for plan in read_plans(store)] == ["stream"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "protocol.permutation=3",
            "unknown key in protocol 'permutation'; did you mean",
        ),
        (
            "learners.pa2.params.C=3",
            "unknown entry of learners.pa2.params.C 'pa2'; did you mean",
        ),
        ("protocol.permutations", "is not KEY=VALUE"),
        ("name.first=3", "there is a value ('letter') before 'first'"),
        ("seed=true", "expected no true or false"),
    ],
)
def test_a_value_that_cannot_be_set_is_bad_usage(
    experiment: Path, tmp_path: Path, change: str, said: str
) -> None:
    done = run("evaluate", experiment, "--store", tmp_path / "s", "--set", change)
    assert said in one_line(done, 2)
    assert not (tmp_path / "s").exists()


def test_results_of_one_experiment_are_those_of_its_runs(
    experiment: Path, tmp_path: Path
) -> None:
    """Plans of one name are numbered; each name that `status` lists shows its runs alone."""
    store = tmp_path / "s"
    words = ("evaluate", experiment, "--in-process", "--store", store)
    for change in ("protocol.permutations=1", "protocol.permutations=3"):
        assert run(*words, "--set", change).returncode == 0
    assert run(
        *words, "--set", "learners.perceptron.label=Rosenblatt", "--name", "other"
    ).stdout
    listed = run("status", store).stdout
    assert [
        line.split("  ")[1] for line in listed.splitlines() if "runs done" in line
    ] == [
        "letter #1",
        "letter #2",
        "other",
    ]

    def counts(name: str) -> dict[str, int]:
        text = run("results", store, "--experiment", name, "--format", "json").stdout
        return {row["label"]: row["n"] for row in json.loads(text)}

    assert counts("letter #1") == {"PA-I": 1, "perceptron": 1}
    assert counts("letter") == {"PA-I": 3, "perceptron": 3}
    assert counts("other") == {"PA-I": 2, "Rosenblatt": 2}
    unknown = run("results", store, "--experiment", "lettre")
    assert "did you mean 'letter'" in one_line(unknown, 1)


def test_labels_stand_in_live_views_messages_and_options(
    experiment: Path, tmp_path: Path
) -> None:
    """A learner and a dataset are called what the experiment calls them; their names work as well."""
    store = tmp_path / "s"
    assert run("evaluate", experiment, "--in-process", "--store", store).returncode == 0
    [evaluation] = LiveReader(open_store(str(store))).read()
    labels = {
        name: [one.label for one in of] for name, of in learners_of(evaluation).items()
    }
    assert labels == {"Letter": ["PA-I C=0.1", "PA-I C=1", "perceptron"]}
    assert all("PA-I, perceptron [" in name for name in evaluation.groups)
    for learner in ("PA-I", "pa1"):
        listed = run(
            "models", "list", store, "--learner", learner, "--dataset", "Letter"
        ).stdout
        assert len(listed.splitlines()) == 4
    unknown = run("store", "forget", store, "--learner", "PA-II")
    assert "did you mean 'PA-I'" in one_line(unknown, 1)
    forgotten = run(
        "store", "forget", store, "--learner", "PA-I", "--dataset", "Letter"
    )
    assert forgotten.stdout.startswith("4 runs forgotten, 2 left")
    left = open_store(str(store)).read(["learner"])["learner"].to_pylist()
    assert left == ["perceptron"] * 2
