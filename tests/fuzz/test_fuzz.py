"""Every reader accepts or refuses a few hundred inputs; what the fuzzing must notice, it notices."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from olscale.errors import OlscaleError
from tests.fuzz import work as work_module
from tests.fuzz.run import ROOT, run
from tests.fuzz.target import Bench, Broken, Target
from tests.fuzz.targets import TARGETS
from tests.fuzz.work import shrink

INPUTS = 100
# a mat file is read in a process of its own
SLOW = {"mat": 12, "runs": 30, "zarr-chunks": 30}


@pytest.mark.parametrize(
    "name", [name for name, target in TARGETS.items() if not target.takes_minutes]
)
def test_reader_accepts_or_refuses(name: str, tmp_path: Path):
    target = TARGETS[name]
    bench = Bench(target, tmp_path)
    assert [bench.attempt(base, {}) for base in range(len(target.valid))] == [
        "accepted"
    ] * len(target.valid)
    outcomes = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(SLOW.get(name, INPUTS)):
            base, changed = target.input(number)
            try:
                outcomes.add(bench.attempt(base, changed))
            except Exception as error:
                raise AssertionError(
                    f"python -m tests.fuzz --show {number} {name}"
                ) from error
    assert outcomes == {"accepted", "refused"}


def test_an_input_is_a_function_of_its_number():
    """Another process makes the same bytes."""
    code = (
        "from tests.fuzz.targets import TARGETS as t; print([t[n].input(7) for n in ('npz', "
        "'archive', 'runs')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(
        [TARGETS[name].input(7) for name in ("npz", "archive", "runs")]
    )


def fake(read) -> Target:
    def guarded(folder: Path) -> None:
        data = (folder / "file").read_bytes()
        if data != b"valid":
            read(data)

    return Target("fake", lambda: [{"file": b"valid"}], guarded)


def crash(data: bytes) -> None:
    import ctypes

    ctypes.string_at(0)


def allocate(data: bytes) -> None:
    bytearray(work_module.MEMORY * 2)


def spin(data: bytes) -> None:
    while True:
        pass


def two_lines(data: bytes) -> None:
    error = OlscaleError("one")
    error.args = ("one\ntwo",)
    raise error


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (crash, "SIGSEGV"),
        (spin, "SIGPROF"),
        (allocate, "MemoryError at check"),
        (lambda data: int(b"x"), "ValueError at check"),
        (two_lines, "Broken at check"),
        (lambda data: None, None),
    ],
)
def test_findings_are_told_apart(
    read, kind: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(work_module, "DEADLINE", 0.2)
    monkeypatch.setattr(work_module.start_deadline, "__defaults__", (0.2,))
    assert shrink(fake(read), 3, 0, tries=5)[0] == kind


def test_shrinking_keeps_what_matters(tmp_path: Path):
    def read(data: bytes) -> None:
        if b"val" not in data:
            raise ValueError

    before = resource.getrlimit(resource.RLIMIT_AS)
    found, _, changed = shrink(
        fake(read),
        next(n for n in range(99) if b"val" not in fake(read).input(n)[1]["file"]),
        0,
    )
    assert (found, changed) == ("ValueError at check", {"file": b""})
    # the tests that follow need their memory
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_contract_is_checked():
    import numpy as np

    from olscale.compiled.csr import CSR
    from olscale.data.formats.base import Batch
    from tests.fuzz.batches import checked

    good = CSR(np.array([0, 2, 3]), np.array([0, 4, 1], np.int32), np.ones(3))
    assert len(checked([Batch(good, np.zeros(2), 5)], 5)) == 1
    for bad, columns in (
        (good, 4),
        (good._replace(indptr=np.array([0, 2, 2])), 5),
        (good._replace(indptr=np.array([0, 3, 3])), 5),
        (good._replace(indices=np.array([0, -1, 1], np.int32)), 5),
        (np.zeros((2, 3)), 5),
    ):
        with pytest.raises(Broken):
            checked([Batch(bad, np.zeros(2), columns)], 5)


@pytest.mark.slow
def test_a_run_counts_every_input():
    began = time.monotonic()
    outcome = run("plans", 300)
    assert outcome.clean, outcome
    assert sum(outcome.counts.values()) == 300
    assert outcome.seconds <= time.monotonic() - began
