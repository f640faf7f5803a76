"""Driver, scheduler and workers agree on versions, sources and settings before any work."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import distributed
import pytest
import yaml

from olscale.errors import ExecutionError
from olscale.execution import compatibility as agreement
from olscale.execution.compatibility import (
    agree,
    different_versions,
    differing_settings,
    misfit,
    other_learners,
    settings,
)
from tests.execution.test_tls import ROOT, environment

PACKAGES = {
    "python": "3.11.7.final.0",
    "dask": "2026.8.0",
    "distributed": "2026.8.0",
    "numpy": "2.2.0",
    "scipy": "1.15.0",
    "numba": "0.62.0",
    "sklearn": "1.7.0",
    "pyarrow": "20.0.0",
    "olscale": "0.1.0",
}


def versions(**sides: dict[str, Any]) -> dict[str, Any]:
    found = {
        side: {"packages": PACKAGES | sides.get(side, {})}
        for side in ("client", "scheduler", "worker")
    }
    return {
        "client": found["client"],
        "scheduler": found["scheduler"],
        "workers": {"tcp://w:1": found["worker"]},
    }


@pytest.mark.parametrize(
    ("sides", "lines"),
    [
        ({}, []),
        ({"worker": {"python": "3.11.9.final.0"}}, []),
        (
            {"worker": {"python": "3.12.1.final.0"}},
            ["worker tcp://w:1 has python 3.12, the driver 3.11"],
        ),
        (
            {"worker": {"sklearn": "1.6.1"}},
            ["worker tcp://w:1 has scikit-learn 1.6.1, the driver 1.7.0"],
        ),
        ({"worker": {"olscale": None}}, ["worker tcp://w:1 has no olscale"]),
        ({"scheduler": {"olscale": None, "numba": None}}, []),
        (
            {"scheduler": {"distributed": "2026.9.0"}},
            ["the scheduler has distributed 2026.9.0, the driver 2026.8.0"],
        ),
    ],
)
def test_versions_that_matter_must_be_the_driver_s(
    sides: dict[str, Any], lines: list[str]
) -> None:
    assert list(different_versions(versions(**sides))) == lines


def test_every_setting_we_ship_is_one_that_the_installed_dask_knows() -> None:
    """A key that Dask renames would be ignored without a word."""
    known = yaml.safe_load(
        (Path(distributed.__file__).parent / "distributed.yaml").read_text()
    )

    def check(ours: dict[str, Any], theirs: dict[str, Any], prefix: str) -> None:
        for key, value in ours.items():
            assert key in theirs, (
                f"{prefix}{key} is no setting of distributed {distributed.__version__}"
            )
            # that one holds any variable
            if isinstance(value, dict) and key != "pre-spawn-environ":
                check(value, theirs[key], f"{prefix}{key}.")

    check(settings(), known, "")


def test_other_settings_are_named_whatever_their_spelling() -> None:
    ours = settings()["distributed"]
    assert list(differing_settings({"scheduler": ours, "worker tcp://w:1": ours})) == []
    other = deepcopy(ours)
    del other["scheduler"]["work-stealing"]
    other["scheduler"]["work_stealing"] = True
    other["worker"]["memory"]["pause"] = 0.8
    lines = list(differing_settings({"scheduler": other, "worker tcp://w:1": other}))
    assert [line.partition(", olscale")[0] for line in lines] == [
        "scheduler runs with distributed.scheduler.work-stealing = True",
        "worker tcp://w:1 runs with distributed.worker.memory.pause = 0.8",
    ]


def test_workers_with_other_sources_are_refused_before_any_work(
    shelf: Path, tmp_path: Path
) -> None:
    """A real cluster whose olscale differs by one comment; its worker is there when it is looked for."""
    # python -m looks in the working directory first
    other = tmp_path / "other"
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(
        ROOT / "olscale",
        other / "olscale",
        ignore=shutil.ignore_patterns("*.nbi", "*.nbc"),
    )
    elsewhere.mkdir()
    with (other / "olscale" / "compiled" / "decorator.py").open("a") as file:
        file.write("# another\n")
    code = "import sys; from distributed import Client; from olscale.cli import main\n"
    code += (
        "with Client(sys.argv[-1]) as client: client.wait_for_workers(1, "
        "timeout=100)\nmain(sys.argv[1:])"
    )
    evaluate = [
        sys.executable,
        "-c",
        code,
        "evaluate",
        "--dataset",
        str(shelf / "dense"),
        "--learner",
        "pa1",
    ]
    evaluate += ["--store", str(tmp_path / "store"), "--scheduler", "{}"]
    done = subprocess.run(
        [
            str(ROOT / "cluster" / "local.sh"),
            "1",
            "env",
            f"PYTHONPATH={ROOT}",
            *evaluate,
        ],
        env=environment() | {"PYTHONPATH": str(other), "PYTHON": sys.executable},
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("olscale: error: worker tcp://127.0.0.1:"), done.stderr
    assert "has other sources of olscale; " in last
    assert not [*tmp_path.glob("store/runs/*"), *tmp_path.glob("store/compacted/*")]


@pytest.mark.parametrize(
    ("user", "steals"),
    [({}, False), ({"DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "1"}, 1)],
)
def test_settings_of_the_user_win_and_are_ours_elsewhere(
    user: dict[str, str], steals: object
) -> None:
    """In a process of its own: Dask's other tests put back what they found, but not which of it were defaults.

    A lost worker's nanny is waited for: Dask would close it where the worker is not there again 15
    s later, as one that is ended twice for its budget may be.
    """
    code = (
        "import dask; from dask.utils import parse_timedelta; from olscale.execution import "
        "cluster; "
        "from olscale.execution.settings import SETTINGS; "
        "cluster.configure_dask(); closes = dask.config.get('distributed.deploy.lost-worker-timeout'); "
        "print(dask.config.get('distributed.scheduler.work-stealing'), "
        "parse_timedelta(closes) > 10 * SETTINGS.no_worker_seconds)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **user},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == f"{steals} True", done.stderr


class OneWorker:
    """A client of a cluster of one worker, which has the learners `there` and is otherwise like this process."""

    def __init__(self, there: dict[str, tuple[str, str]]) -> None:
        self._there = there

    async def get_versions(self, **_: Any) -> dict[str, Any]:
        ours = {"packages": agreement.software()["packages"]}
        return {"client": ours, "scheduler": ours, "workers": {"tcp://w:1": ours}}

    async def run(self, asked: Any, *args: Any, **_: Any) -> dict[str, Any]:
        answer = (
            {name: self._there[name] for name in args[0]}
            if asked is agreement.learner_modules
            else asked(*args)
        )
        return {"tcp://w:1": answer}

    async def run_on_scheduler(self, asked: Any, *args: Any) -> Any:
        return asked(*args)


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (
            ("0+bb", ""),
            "has another source of learner 'mine:A' (version 0+bb, the driver 0+aa); give it the "
            "same file",
        ),
        (
            (
                "",
                "learner 'mine:A' cannot be imported (No module named 'mine'); expected",
            ),
            "(No module named 'mine'); put its module",
        ),
    ],
)
def test_a_worker_with_another_source_of_a_learner_gets_no_work(
    there: tuple[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that has imported it before an edit, or cannot import it: neither may compute under this id."""
    monkeypatch.setattr(
        agreement, "learner_modules", lambda names: {"mine:A": ("0+aa", "")}
    )
    client = OneWorker({"mine:A": there})
    like_ours = OneWorker({"mine:A": ("0+aa", "")})
    with pytest.raises(ExecutionError) as caught:
        asyncio.run(agree(client, ["mine:A"]))
    assert said in str(caught.value)
    assert said in asyncio.run(misfit(client, "tcp://w:1", ["mine:A"]))
    assert asyncio.run(misfit(like_ours, "tcp://w:1", ["mine:A"])) == ""


def test_a_class_of_a_notebook_is_told_where_workers_find_it() -> None:
    """No path helps: only the process that ran the cell has it."""
    why = "learner '__main__:Mine' cannot be imported (module __main__ has no attribute 'Mine'); x"
    said = other_learners("tcp://w:1", {"__main__:Mine": ("", why)}, ["__main__:Mine"])
    assert said.startswith(
        "workers cannot have learner '__main__:Mine': it is defined in a notebook or a script"
    )
    assert said.endswith(
        "(%%writefile mine.py), and name it mine:Mine, or evaluate in process"
    )
