"""``olscale evaluate`` and ``olscale learners``: options, exit codes, one line for a fault."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
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
    one, other = (
        sorted((tmp_path / store / "runs").rglob("*.parquet")) for store in "ab"
    )
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
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
    stores = [
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name / "runs").rglob("*.parquet")
        }
        for name in ("whole", "shards")
    ]
    assert stores[0] == stores[1]
    assert not list((tmp_path / "shards" / "tmp").iterdir())
    assert "not in the range x>=1" in one_line(
        run(*args, "--class-shards", "0", "--store", tmp_path / "s"), 2
    )


def alive(session: int) -> list[str]:
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                state, _, _, sid = (
                    (path / "stat").read_text().rpartition(")")[2].split()[:4]
                )
            except OSError:
                continue
            if int(sid) == session and state != "Z":
                found.append(path.name)
    return found


def test_sigterm_saves_and_says_so_in_one_line(shelf: Path, tmp_path: Path) -> None:
    """Exit 143; the same command, and not from the first row, goes on."""
    args = [
        "evaluate",
        "--dataset",
        shelf / "digits",
        "--learner",
        "lol",
        "--learner",
        "pa",
        "--order",
        "time",
    ]
    args += ["--store", tmp_path / "s", "--in-process"]
    # Every chunk says when it is learned from, and takes a while the first time.
    script = (
        "import os, sys, time\n"
        "from olscale.evaluation.group_pass import GroupPass\n"
        "from olscale.__main__ import main\n"
        "advance = GroupPass.advance\n"
        "def slow(self):\n"
        "    advance(self)\n"
        "    print('chunk', self.position - 1, flush=True)\n"
        "    time.sleep(float(os.environ.get('PAUSE', 0.0)))\n"
        "GroupPass.advance = slow\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", script, *map(str, args)]
    environment = os.environ | {"PAUSE": "0.5"}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [
            "chunk 0\n",
            "chunk 1\n",
        ]
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert said.splitlines()[-1].startswith(
        "olscale: SIGTERM: digits, time order, lol, pa"
    )
    assert "was saved at chunk 2 of 8; run the same command again to go on" in said
    again = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    )
    assert again.stdout.splitlines()[0] == "chunk 2"
    assert "2 of 2 runs computed" in again.stdout


@pytest.mark.parametrize("how", ["--stop-after", "--stop-at", "OLSCALE_STOP_AT"])
def test_an_evaluation_stops_by_itself_at_its_time(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Exit 75 and one line, as from a night of jobs; the same command without the option goes on."""
    args = [
        "evaluate",
        "--dataset",
        shelf / "dense",
        "--learner",
        "pa",
        "--order",
        "time",
        "--in-process",
    ]
    args += ["--store", tmp_path / "s"]
    with monkeypatch.context() as patch:
        if how == "OLSCALE_STOP_AT":
            patch.setenv(how, "2026-01-01T00:00")
        given = {
            "--stop-after": ["--stop-after", "0s"],
            "--stop-at": ["--stop-at", "1.5"],
        }
        stopped = run(*args, *given.get(how, []))
    assert stopped.returncode == 75
    assert stopped.stderr.splitlines()[-1].startswith(
        "olscale: the time to stop has come: dense, time order, pa"
    )
    assert "1 of 1 runs computed" in run(*args).stdout


@pytest.mark.parametrize(
    ("option", "value"),
    [("--stop-after", "6"), ("--stop-at", "tomorrow"), ("--stop-at", "nan")],
)
def test_a_stop_time_that_is_none_is_bad_usage(
    tmp_path: Path, option: str, value: str
) -> None:
    done = run(
        "evaluate",
        "--dataset",
        "d",
        "--learner",
        "pa",
        "--store",
        tmp_path,
        option,
        value,
    )
    assert done.returncode == 2
    assert "expected a" in done.stderr
    assert value in done.stderr


PACED = """
import os
import time

from olscale.learners.linear.passive_aggressive import PA

FOLDER = os.path.dirname(__file__)


class Paced(PA):
    "Goes through its rows at once where it is the first to come, or may; all others take a second a chunk."
    name = "paced"

    def learn(self, X, y):
        if len(y) and not os.path.exists(f"{FOLDER}/free"):
            if self.state_["seen"][0] == 0:
                try:
                    open(f"{FOLDER}/first", "x").close()
                    self.first_ = True
                except FileExistsError:
                    self.first_ = False
            if not self.first_:
                time.sleep(1.0)
        return super().learn(X, y)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_ctrl_c_ends_everything_and_a_second_run_finishes_the_rest(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 130 and one line; no worker is left, the store is whole."""
    (tmp_path / "paced.py").write_text(PACED)
    monkeypatch.syspath_prepend(str(tmp_path))
    args = [
        "evaluate",
        "--dataset",
        shelf / "dense",
        "--learner",
        "paced:Paced",
        "--permutations",
        "4",
    ]
    args += ["--workers", "2", "--store", tmp_path / "s"]
    command = [sys.executable, "-m", "olscale", *map(str, args)]
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 90
    while (
        not list((tmp_path / "s").glob("runs/*/*.parquet"))
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith(
        "olscale: interrupted: SIGINT: what was going on is saved; run the same command"
    )
    assert "Traceback" not in said
    assert "Warning" not in said
    deadline = time.monotonic() + 10
    while alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive(process.pid) == []
    kept = len(open_store(tmp_path / "s").read())
    assert 1 <= kept < 4
    (tmp_path / "free").touch()
    done = run(*(arg for arg in args if arg not in ("--workers", "2")), "--in-process")
    assert done.returncode == 0, done.stderr
    assert len(open_store(tmp_path / "s").read()) == 4


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
