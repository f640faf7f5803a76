"""The frame of the command line: help, errors, exit codes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import olscale.cli
from olscale.cli import COMMANDS
from olscale.cli import olscale as command
from olscale.errors import StoreError

HEAVY = (
    "numpy",
    "numba",
    "dask",
    "distributed",
    "sklearn",
    "scipy",
    "pyarrow",
    "zarr",
    "duckdb",
    "pandas",
    "pydantic",
    "rich",
)


def run(*args: str):
    return CliRunner().invoke(command, list(args))


def process(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "olscale", *args],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


@pytest.fixture
def broken(monkeypatch):
    """Return a function that makes ``olscale status`` raise."""

    def make(fault: BaseException) -> None:
        @click.command()
        def status() -> None:
            raise fault

        monkeypatch.setattr(command, "get_command", lambda ctx, name: status)

    return make


def test_help_lists_every_command():
    result = run("--help")

    assert result.exit_code == 0
    assert all(name in result.output for name in COMMANDS)


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["results", "--help"]])
def test_help_imports_nothing_heavy(args):
    code = (
        "import sys\nfrom olscale.cli import main\n"
        f"try: main({args!r})\nexcept SystemExit as end: assert not end.code\n"
        f"sys.exit(' '.join(name for name in {HEAVY!r} if name in sys.modules) or 0)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_fault_of_the_user_is_one_line_and_exit_1(broken):
    broken(StoreError("bad\n  store"))

    result = run("status")

    assert (result.exit_code, result.stderr) == (1, "olscale: error: bad store\n")


def test_unexpected_fault_is_one_line_that_says_how_to_see_more(broken, monkeypatch):
    monkeypatch.delenv("OLSCALE_DEBUG", raising=False)
    broken(ZeroDivisionError("oh"))

    result = run("status")

    assert result.exit_code == 1
    assert result.stderr == (
        "olscale: internal error: ZeroDivisionError: oh (run with OLSCALE_DEBUG=1 for the "
        "traceback)\n"
    )


def test_debug_shows_the_traceback(broken, monkeypatch):
    monkeypatch.setenv("OLSCALE_DEBUG", "1")
    broken(ZeroDivisionError("oh https://me:pw@host/a?sig=S3CRET"))

    result = run("status")

    lines = result.stderr.splitlines()
    assert (result.exit_code, lines[0]) == (1, "Traceback (most recent call last):")
    assert lines[-1] == "ZeroDivisionError: oh https://***@host/a?sig=***"


def test_interrupt_is_one_line_and_exit_130(broken):
    broken(KeyboardInterrupt())

    result = run("status")

    assert (result.exit_code, result.stderr) == (130, "olscale: interrupted\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["reslts"], "did you mean 'results'"),
        (["results"], "Missing argument 'STORE'"),
        (["results", "x", "--format", "xml"], "Invalid value for '--format'"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_usage_is_exit_2(args, message):
    result = run(*args)

    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("args", [[], ["datasets"], ["learners"]], ids=" ".join)
def test_a_group_alone_prints_its_help_line_by_line(args):
    result = run(*args)
    helped = run(*args, "--help")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == helped.stdout
    assert helped.exit_code == 0
    assert len(result.stderr.splitlines()) > 5


@pytest.mark.parametrize(
    ("args", "near"),
    [(["datasets", "lst"], "'list'"), (["learners", "chek"], "'check'")],
)
def test_a_mistyped_subcommand_gets_the_nearest(args, near):
    result = run(*args)

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"unknown command {args[1]!r}; did you mean {near}?" in result.stderr


def test_commands_print_through_one_place():
    """What prints by itself would print names as they are, with whatever control characters they hold.

    Rich tables, help and progress print for themselves; what they print has gone through
    `printable`.
    """
    folder = Path(olscale.cli.__file__).parent
    files = [
        path.name
        for path in folder.glob("*.py")
        if re.search(r"click\.(echo|secho)\(|\bprint\(", path.read_text())
    ]

    assert sorted(files) == [
        "bench.py",
        "command.py",
        "datasets.py",
        "meter.py",
        "progress.py",
        "say.py",
    ]


def test_real_process_missing_store_on_a_terminal_that_cannot_encode_its_name():
    done = process(
        "results", "no/such/zähl", env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "olscale: error: there is no metrics store at no/such/z\\xe4hl"
    )
    assert done.stderr.count("\n") == 1


def test_reader_that_leaves_early_is_not_an_error_message():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "olscale", "--help"],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )

    assert done.stderr == ""


def test_every_module_in_the_table_is_in_the_package():
    assert all(
        module.startswith(f"{olscale.cli.__name__}.") and line.endswith(".")
        for module, line in COMMANDS.values()
    )


def test_soft_lol_says_for_which_rows_its_cost_holds() -> None:
    """And names benchmarks that measure it."""
    from olscale.bench import BENCHMARKS

    said = " ".join(run("learners", "show", "soft-lol").output.split())
    assert "1.3 to 2.9 times what LOL's does with k = 60 where it is dense" in said
    assert "A sparse row with many features and many classes costs far more" in said
    named = re.findall(r"olscale bench ([a-z-]+)", said)
    assert {"soft-local", "soft-local-wide"} == set(named) <= BENCHMARKS.keys()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "results", "--out", ""), "the word after '--out' is empty"),
        (
            ("evaluate", "--store", "", "--dataset", "iris", "--learner", "pa1"),
            "the word after '--store' is empty",
        ),
        (("ingest", "iris.csv", ""), "the word after 'iris.csv' is empty"),
        (("jobs", "history", ""), "the word after 'history' is empty"),
        (("report", "results", "--out="), "--out= has no value"),
    ],
)
def test_an_empty_word_is_not_the_working_directory(words, said, tmp_path, monkeypatch):
    """What a shell makes of a variable that is not set is refused, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith("olscale: error: " + said)
    assert not list(tmp_path.iterdir())
