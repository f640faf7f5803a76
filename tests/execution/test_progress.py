"""Progress is true: no more is shown than is done, and the time left is right or not known."""

from __future__ import annotations

import io
from collections import deque
from dataclasses import dataclass, field
from hashlib import sha256
from math import isnan, nan
from typing import Any

import pytest

from olscale.cli.progress import LineProgress
from olscale.evaluation.run import Run, StreamKey
from olscale.execution.progress import LiveProgress
from olscale.execution.task_report import Stand
from olscale.execution.work import Work

STEP = 0.5
ROWS = 100_000


@dataclass
class Part:
    """A run group that a simulated worker runs: its seconds, and what happens to it."""

    name: str
    seconds: float
    costs: tuple[float, ...] = (1.0,)
    held: int = 0
    begun: float = 0.0  # share that a checkpoint has
    compiles: float = 0.0
    # share after which a run fails
    fails: dict[int, float] = field(default_factory=dict)
    dies: float = 2.0  # share at which its worker dies
    share: float = 0.0

    @property
    def runs(self) -> tuple[Run, ...]:
        stream = StreamKey(self.name, sha256(self.name.encode()).hexdigest(), (), None)
        return tuple(
            Run(stream, "pa1", 1, {"C": float(i)}) for i in range(len(self.costs))
        )

    @property
    def work(self) -> Work:
        count = len(self.costs)
        rows = ROWS * count
        return Work(
            rows,
            sum(self.costs),
            self.runs,
            held=self.held * count,
            costs=self.costs,
            begun=int(self.begun * (rows + self.held * count)),
        )

    def cost_until(self, share: float) -> float:
        """Return what its runs cost up to a share of it; one that has failed costs nothing more."""
        shares = (min(share, self.fails.get(i, 1.0)) for i in range(len(self.costs)))
        return sum(cost * each for cost, each in zip(self.costs, shares, strict=True))

    def learn(self) -> None:
        """Do the work of a step: faster, once a run has failed."""
        going = sum(
            cost
            for i, cost in enumerate(self.costs)
            if self.share < self.fails.get(i, 1.0)
        )
        speed = sum(self.costs) / (self.seconds * going) if going else 1.0 / STEP
        self.share = min(1.0, self.share + STEP * speed)

    def has_surprises(self) -> bool:
        """Return whether a failure or machine code to be made is still to come."""
        return self.compiles > 0.0 or any(
            self.share < share for share in self.fails.values()
        )

    def stand(self) -> Stand:
        count = len(self.costs)
        passes = self.share * (ROWS + self.held)
        scored = (
            (int((passes - ROWS) * count), self.held * count)
            if passes > ROWS
            else (0, 0)
        )
        failed = tuple(
            (run.id, int(self.fails[i] * (ROWS + self.held)))
            for i, run in enumerate(self.runs)
            if self.share >= self.fails.get(i, 2.0)
        )
        return Stand(int(min(passes, ROWS)) * count, 0.25, (), 0, scored, False, failed)


class Clock:
    """Seconds since 1970 that a simulation sets."""

    now = 1e9

    def __call__(self) -> float:
        return self.now


@dataclass
class Moment:
    """What was shown at a time, and what was so."""

    seconds: float
    share: float
    true_share: float
    left: float
    compiling: bool = False
    is_foreseeable: bool = True  # no failure is to come, and no machine code to be made


def played(
    parts: list[Part], workers: int, progress: LiveProgress, clock: Clock
) -> list[Moment]:
    """Return each moment of a simulated evaluation, which reports its events as drivers do."""
    progress.start(
        "plan",
        sum(len(part.costs) for part in parts),
        0,
        {p.name: p.work for p in parts},
    )
    for part in parts:
        progress.details(part.name, Stand(), "")
        part.share = part.begun
    queue = deque(parts)
    busy: dict[int, Part] = {}
    total = sum(part.cost_until(1.0) for part in parts)
    moments = []
    while queue or busy:
        for worker in range(workers):
            if worker not in busy and queue:
                busy[worker] = queue.popleft()
        clock.now += STEP
        for worker, part in list(busy.items()):
            if part.compiles > 0.0:
                part.compiles -= STEP
                progress.details(
                    part.name, Stand(compiling=part.compiles > 0.0), f"w{worker}"
                )
                continue
            part.learn()
            if part.share >= part.dies:
                part.share, part.dies = part.dies / 2, 2.0
                queue.appendleft(busy.pop(worker))
                progress.details(part.name, Stand(), f"w{worker}")
                continue
            progress.details(part.name, part.stand(), f"w{worker}")
            if part.share == 1.0:
                del busy[worker]
                for i, run in enumerate(part.runs):
                    progress.finish(
                        run.id, "learner_error" if i in part.fails else "ok"
                    )
        shown = progress.evaluation
        done = sum(part.cost_until(part.share) for part in parts)
        moment = Moment(clock.now, shown.share_done, done / total, shown.seconds_left)
        moment.compiling = shown.compiling
        moment.is_foreseeable = not any(part.has_surprises() for part in parts)
        moments.append(moment)
    return moments


def like(count: int, seconds: float, dataset: str = "d", **more: Any) -> list[Part]:
    return [Part(f"{dataset}, {i}", seconds, **more) for i in range(count)]


CASES = {
    "permutations": (like(12, 10.0), 2),
    "time order": ([Part("d", 40.0, (1.0, 2.0, 1.0, 4.0))], 1),
    "held-out rows": ([Part("d", 60.0, (1.0, 1.0), held=2 * ROWS)], 1),
    "folds": (like(10, 6.0, held=ROWS // 9), 2),
    "bundles": (like(200, 0.4), 2),
    "learners of other costs": (
        like(4, 20.0, costs=(4.0,)) + like(8, 10.0, "e", costs=(2.0,)),
        2,
    ),
    "machine code": (like(2, 10.0, "e", compiles=40.0) + like(8, 10.0), 2),
    "machine code later": (like(6, 10.0) + like(2, 10.0, "e", compiles=30.0), 2),
    "checkpoints": (like(4, 50.0, begun=0.6), 2),
    "a worker dies": (like(1, 20.0, "e", dies=0.6) + like(4, 20.0), 1),
    "a learner fails midway": ([Part("d", 100.0, (1.0, 1.0, 8.0), fails={2: 0.1})], 1),
    "a learner fails at once": (
        like(1, 900.0, "e", costs=(90.0,), fails={0: 0.0}) + like(9, 8.0),
        1,
    ),
    "all fail": (like(8, 20.0, fails={0: 0.3}), 1),
}


@pytest.mark.parametrize("name", CASES)
def test_no_more_is_shown_than_is_done_and_the_time_left_is_right(name: str) -> None:
    """From a quarter of the way on, and from the last failure, within 30 % or two reports."""
    parts, workers = CASES[name]
    clock = Clock()
    moments = played(parts, workers, LiveProgress(clock=clock), clock)
    assert all(moment.share <= moment.true_share + 0.01 for moment in moments)
    assert (moments[-1].share, moments[-1].left) == (1.0, 0.0)
    quarter = moments[0].true_share + 0.25 * (1.0 - moments[0].true_share)
    known = 0
    for moment in moments:
        left = clock.now - moment.seconds
        if moment.compiling or moment.true_share < 0.01:
            assert isnan(moment.left)
        elif moment.is_foreseeable and moment.true_share >= quarter:
            known += 1
            assert moment.left == pytest.approx(left, rel=0.3, abs=2 * STEP)
    assert known


def test_tuning_and_what_comes_after_it_have_a_time_each() -> None:
    clock = Clock()
    progress = LiveProgress(clock=clock)
    for count, seconds in ((20, 2.0), (6, 30.0)):
        moments = played(like(count, seconds), 2, progress, clock)
        assert isnan(moments[0].left)
        middle = moments[len(moments) // 2]
        assert middle.left == pytest.approx(clock.now - middle.seconds, rel=0.3)


def test_a_machine_that_was_suspended_has_not_worked() -> None:
    clock = Clock()
    progress = LiveProgress(clock=clock)
    [part] = like(1, 100.0)
    progress.start("plan", 1, 0, {part.name: part.work})
    for share in range(1, 41):
        clock.now += 28_800.0 if share == 20 else 1.0
        part.share = share / 100
        progress.details(part.name, part.stand(), "w")
    assert progress.evaluation.seconds_left < 300.0


def test_half_of_a_group_counts_when_its_runs_end() -> None:
    """It has a name of its own, which no plan has."""
    progress = LiveProgress()
    part = Part("d", 10.0, (1.0, 3.0))
    progress.start("plan", 2, 0, {"d": part.work})
    progress.details("d", Stand(), "")
    progress.details("half of d", Stand(ROWS, 0.25), "w")
    assert (progress.evaluation.share_done, progress.evaluation.rows_done) == (
        0.0,
        ROWS,
    )
    progress.finish(part.runs[0].id, "ok")
    assert progress.evaluation.share_done == 0.25
    progress.finish(part.runs[1].id, "lost")
    assert progress.evaluation.share_done == 1.0


def test_without_costs_rows_count() -> None:
    """Rows without values have none."""
    progress = LiveProgress()
    progress.start("plan", 2, 0, {"a": Work(100, 0.0), "b": Work(300, 0.0)})
    progress.details("a", Stand(100), "")
    assert progress.evaluation.share_done == pytest.approx(0.25)
    progress.details("a", Stand(), "")  # its worker died
    assert (progress.evaluation.share_done, progress.evaluation.rows_done) == (0.0, 0)


def test_a_terminal_shows_the_mean_error_of_each_dataset() -> None:
    out = io.StringIO()
    progress = LiveProgress(LineProgress(out, every=-1.0))
    parts = [
        Part(name, 10.0, (1.0, 1.0)) for name in ("usps", "letter", "third", "fourth")
    ]
    progress.start("plan", 8, 0, {part.name: part.work for part in parts})
    for part, errors in zip(
        parts[:3], ((0.5, 0.25), (nan, 0.125), (0.5, 0.5)), strict=True
    ):
        stands = zip(part.runs, errors, strict=True)
        progress.details(
            part.name,
            Stand(2, 0.25, tuple((run.id, 1, error) for run, error in stands)),
            "w",
        )
    *_, first, second, third = out.getvalue().splitlines()
    assert first.endswith(", error so far 37.50 %")
    assert second.endswith(", error so far usps 37.50 %, letter 12.50 %")
    [run, _] = parts[3].runs
    progress.details("fourth", Stand(2, 0.25, ((run.id, 1, 0.5),)), "w")
    assert "so far" in third
    assert "so far" not in out.getvalue().splitlines()[-1], "too many for a line"


def test_nothing_to_do_is_one_line() -> None:
    out = io.StringIO()
    progress = LiveProgress(LineProgress(out))
    progress.start("plan", 2, 2, {})
    progress.note("a note")
    assert out.getvalue() == "plan: 2 runs, 2 in the store, 0 to do\na note\n"
    assert progress.evaluation.share_done == 1.0
