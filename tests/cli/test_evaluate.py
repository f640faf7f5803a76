"""``olscale evaluate`` and ``olscale learners``: options, exit codes, one line for a fault."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from olscale.cli.evaluate import evaluate
from olscale.execution.settings import SETTINGS
from olscale.results.opening import open_store
from tests.cli.command import run
from tests.record_bytes import record_bytes


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the last line on standard error; a usage error has click's usage lines before it."""
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert code == 2 or len(lines) == 1, lines
    return lines[-1]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--learner", "pa11"], 1, "unknown learner 'pa11'; did you mean 'pa1'?"),
        (
            ["--learner", "pa1:C=-1"],
            1,
            "learner pa1: parameter C was -1, expected a number in (0, inf)",
        ),
        (["--learner", "pa1:c=1"], 1, "unknown parameter of learner pa1 'c'"),
        (["--learner", "pa1:C"], 2, "'C' is not param=value"),
        (
            ["--learner", "pa", "--transform", "standardise"],
            1,
            "did you mean 'standardize'?",
        ),
        (["--learner", "pa", "--dataset", "nowhere"], 1, "nowhere does not exist"),
        (
            ["--learner", "pa", "--order", "time", "--permutations", "3"],
            1,
            "needs protocol.order = 'permuted'",
        ),
        (["--learner", "pa", "--permutations", "0"], 2, "not in the range x>=1"),
        (
            ["--learner", "pa", "--order", "random"],
            2,
            "'random' is not one of 'time', 'permuted'",
        ),
        (
            ["--learner", "pa", "--workers", "2", "--in-process"],
            2,
            "exclude each other",
        ),
        (
            ["--learner", "pa", "--scheduler", "tcp://h:1", "--in-process"],
            2,
            "exclude each other",
        ),
        ([], 2, "expected an EXPERIMENT.toml, or --dataset and --learner"),
        (
            ["--learner", "pa", "--holdout-rows", "5"],
            1,
            "protocol.holdout_rows needs protocol.holdout_every",
        ),
        (["--learner", "pa", "--fading", "1"], 2, "is not in the range 0.0<x<1.0"),
        (
            ["--learner", "pa", "--drift", "adwim"],
            2,
            "'adwim' is not one of 'adwin', 'ddm', 'page-hinkley'",
        ),
        (
            ["--learner", "pa", "--split", "prequential-kfold", "--holdout-every", "9"],
            1,
            "leave one of them out",
        ),
        (["missing.toml"], 2, "--dataset cannot be combined with an experiment file"),
    ],
)
def test_a_fault_is_one_line_and_makes_no_store(
    shelf: Path, tmp_path: Path, options: list[str], code: int, said: str
) -> None:
    done = run(
        "evaluate",
        "--store",
        tmp_path / "s",
        "--dataset",
        shelf / "dense",
        *options,
        cwd=tmp_path,
    )
    assert said in one_line(done, code)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_experiment_and_an_unfinished_dataset_are_said_so(
    shelf: Path, tmp_path: Path
) -> None:
    from olscale.data.manifest import MARKER

    assert "missing.toml: cannot be read" in one_line(
        run("evaluate", "missing.toml", "--store", tmp_path / "s"), 1
    )
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / MARKER).write_text("{}")
    done = run(
        "evaluate",
        "--dataset",
        tmp_path / "half",
        "--learner",
        "pa",
        "--store",
        tmp_path / "s",
    )
    assert "is not finished" in one_line(done, 1)
    assert not (tmp_path / "s").exists()


def test_a_scheduler_that_does_not_answer_is_one_line(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(SETTINGS), "connect_seconds", 1)
    start = time.monotonic()
    options = [
        "--dataset",
        shelf / "dense",
        "--learner",
        "pa",
        "--scheduler",
        "tcp://127.0.0.1:1",
    ]
    done = run("evaluate", *options, "--store", tmp_path / "s")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "scheduler tcp://127.0.0.1:1 does not answer within 1 s;" in line
    assert time.monotonic() - start < 90
    assert not (tmp_path / "s").exists()


def test_every_option_reaches_the_runs_and_a_second_call_computes_nothing(
    shelf: Path, tmp_path: Path
) -> None:
    args = [
        "evaluate",
        "--store",
        tmp_path / "s",
        "--dataset",
        shelf / "dense",
        "--dataset",
        shelf / "sparse",
    ]
    args += [
        "--learner",
        "pa1:C=0.5",
        "--learner",
        "perceptron",
        "--permutations",
        "2",
        "--seed",
        "5",
    ]
    args += ["--transform", "standardize,bias", "--in-process"]
    done = run(*args)
    assert done.returncode == 0
    assert done.stdout == f"8 of 8 runs computed, results in {tmp_path / 's'}\n"
    table = open_store(tmp_path / "s").read()
    assert set(map(tuple, table["transforms"].to_pylist())) == {("standardize", "bias")}
    assert set(table["protocol"].to_pylist()) == {
        f'{{"order":"permuted","permutation":{i},"seed":5}}' for i in (0, 1)
    }
    assert (
        run(*args).stdout == f"nothing to compute: all 8 runs are in {tmp_path / 's'}\n"
    )


def test_a_memory_limit_changes_nothing_but_memory(shelf: Path, tmp_path: Path) -> None:
    args = [
        "evaluate",
        "--dataset",
        shelf / "sparse",
        "--learner",
        "pa1",
        "--permutations",
        "2",
        "--in-process",
    ]
    for store, limit in (("a", "1GB"), ("b", "36kB")):
        assert (
            run(*args, "--store", tmp_path / store, "--memory-limit", limit).returncode
            == 0
        )
    assert record_bytes(tmp_path / "a") == record_bytes(tmp_path / "b") != {}
    for limit, said in (
        ("9kB", "a memory limit of 9.0 kB is too small"),
        ("much", "memory limit was 'much'"),
    ):
        done = run(*args, "--store", tmp_path / "c", "--memory-limit", limit)
        assert done.returncode == 1
        assert said in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


def test_class_shards_give_the_same_bytes(shelf: Path, tmp_path: Path) -> None:
    """The run that cannot be cut stays whole; no scratch file is left."""
    args = [
        "evaluate",
        "--dataset",
        shelf / "digits",
        "--learner",
        "lol:k=10",
        "--learner",
        "pa",
        "--in-process",
    ]
    args += ["--permutations", "1"]
    for name, options in (("whole", []), ("shards", ["--class-shards", "4"])):
        done = run(*args, *options, "--store", tmp_path / name)
        assert done.stdout == f"2 of 2 runs computed, results in {tmp_path / name}\n", (
            done
        )
    assert record_bytes(tmp_path / "whole") == record_bytes(tmp_path / "shards") != {}
    assert not list((tmp_path / "shards" / "tmp").iterdir())
    assert "not in the range x>=1" in one_line(
        run(*args, "--class-shards", "0", "--store", tmp_path / "s"), 2
    )


def test_learners_are_listed_shown_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first checks are enough here: tests/learners runs all of them."""
    from olscale import testing

    every = testing.learner_checks
    monkeypatch.setattr(testing, "learner_checks", lambda learner: every(learner)[:2])
    listed = run("learners", "list").stdout
    assert {line.split()[0] for line in listed.splitlines() if line} >= {
        "perceptron",
        "pa",
        "pa1",
        "pa2",
        "lol",
        "ilol",
    }
    shown = run("learners", "show", "pa1").stdout
    assert "C : a number in (0, inf), default 1.0" in shown
    assert "did you mean 'lol'?" in one_line(run("learners", "show", "loll"), 1)
    checked = run("learners", "check", "pa1")
    assert checked.returncode == 0
    assert [line.partition(" ")[0] for line in checked.stdout.splitlines()] == [
        "passed",
        "passed",
    ]
    (tmp_path / "peeking.py").write_text(
        "from olscale.learners.linear.passive_aggressive import PA\n\n\n"
        "class Peeks(PA):\n    def learn(self, X, y):\n        super().learn(X, y)\n        "
        "return self.scores(X)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    broken = run("learners", "check", "peeking:Peeks", cwd=tmp_path)
    assert "fails" in one_line(broken, 1)
    assert "FAILED  label comes after the prediction" in broken.stdout


def test_a_word_that_is_no_directory_may_name_a_set_of_the_catalogue(
    small_catalogue: dict[str, Any],
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    args = [
        "--dataset",
        "ring",
        "--learner",
        "pa",
        "--permutations",
        "1",
        "--store",
        "s",
        "--in-process",
    ]
    done = CliRunner().invoke(evaluate, args)
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines()[:2] == [
        "no directory ring here; using dataset ring of the catalogue",
        f"fetching data set ring into {tmp_path / 'home' / 'ring'}",
    ]
    shutil.copytree(shelf / "dense", "ring")
    done = CliRunner().invoke(evaluate, args)
    assert "catalogue" not in done.stderr, "a directory of that name comes first"
    assert done.stdout == "1 of 1 runs computed, results in s\n"


def test_transforms_given_one_by_one_all_count(shelf: Path, tmp_path: Path) -> None:
    words = [
        "--transform",
        "standardize",
        "--transform",
        "project:features=2,kind=sparse,bias",
    ]
    args = [
        "--dataset",
        str(shelf / "dense"),
        "--learner",
        "pa",
        "--order",
        "time",
        "--in-process",
        *words,
    ]
    done = CliRunner().invoke(evaluate, [*args, "--store", str(tmp_path / "s")])
    assert done.exit_code == 0, done.output
    [transforms] = (
        open_store(str(tmp_path / "s")).read(["transforms"])["transforms"].to_pylist()
    )
    assert [name.partition(":")[0] for name in transforms] == [
        "standardize",
        "project",
        "bias",
    ]


def test_measures_given_one_by_one_all_count(shelf: Path, tmp_path: Path) -> None:
    words = ["--measures", "auc,accuracy", "--measures", "weighted_f1"]
    args = [
        "--dataset",
        str(shelf / "dense"),
        "--learner",
        "pa",
        "--order",
        "time",
        "--in-process",
        *words,
    ]
    done = CliRunner().invoke(evaluate, [*args, "--store", str(tmp_path / "s")])
    assert done.exit_code == 0, done.output
    [metrics] = open_store(str(tmp_path / "s")).read(["metrics"])["metrics"].to_pylist()
    assert {"auc", "accuracy", "weighted_f1"} <= dict(metrics).keys()


def test_the_delay_is_a_number_or_a_column(late: Path, tmp_path: Path) -> None:
    words = (
        "evaluate",
        "--dataset",
        late,
        "--learner",
        "pa",
        "--order",
        "time",
        "--in-process",
        "--store",
        tmp_path / "s",
    )
    done = run(*words, "--delay", "late")
    assert done.returncode == 0, done.stderr
    assert len(open_store(str(tmp_path / "s")).done()) == 1
    for delay, code, said in (
        ("lat", 1, "unknown column of late 'lat'; did you mean 'late'"),
        ("-3", 2, "x>=0"),
    ):
        refused = run(*words, "--delay", delay)
        assert (refused.returncode, said in refused.stderr) == (code, True), (
            refused.stderr
        )


def test_a_protocol_on_the_command_line_is_that_of_a_file(
    shelf: Path, tmp_path: Path
) -> None:
    """Every option has the name of its key, and the same run behind it."""
    from olscale.evaluation.protocol import ProtocolSpec

    options = {
        "order": "time",
        "window": 50,
        "fading": 0.9,
        "delay": 3,
        "holdout_every": 40,
        "holdout_rows": 10,
    }
    options |= {"drift": "ddm", "burn_in": 20}
    words = [
        word
        for key, value in options.items()
        for word in (f"--{key.replace('_', '-')}", value)
    ]
    learner = ["--learner", "pa", "--in-process", "--store", tmp_path / "s"]
    done = run("evaluate", "--dataset", shelf / "dense", *learner, *words)
    assert done.returncode == 0, done.stderr
    assert len(open_store(str(tmp_path / "s")).done()) == 1
    lines = "\n".join(f"{key} = {value!r}" for key, value in options.items())
    content = (
        f"[protocol]\n{lines}\n[[datasets]]\npath = '{shelf / 'dense'}'\n[[learners]]\nname "
        "= 'pa'\n"
    )
    (tmp_path / "e.toml").write_text(content)
    again = run(
        "evaluate", tmp_path / "e.toml", "--in-process", "--store", tmp_path / "s"
    )
    assert "nothing to compute" in again.stdout, again.stderr
    there = {parameter.name for parameter in evaluate.params}
    assert {option.name for option in fields(ProtocolSpec)} - {
        "passes",
        "costs",
        "epsilon",
    } <= there
