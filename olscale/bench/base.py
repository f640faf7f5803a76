"""Contestants, rounds and ratios: each is measured next to its peers, in one process, in turns.

A B C A B C ...: what slows the machine for a while slows all of them, and the median
over the rounds of the ratio within a round is what is reported. Nothing before the first round
counts (compilation, page faults of peers). Where all work is in memory, time is the processor's:
that another program has the core for a while is in no round.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time

ENOUGH_SECONDS = 5.0
# By the wall clock, ratios of five short rounds were off by a third under load; by the processor
# they stay within 3 % at a load of seven a core.
MOST_ROUNDS = 8
"""Contestants that take less time together get up to this many times the rounds.

A measurement of a few milliseconds is off by a tenth.
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a benchmark.

    Attributes
    ----------
    name : str
        What was measured.
    value : float or None
        Median over the rounds; None if it was not measured.
    unit : str
        Unit of `value`.
    ratio : float or None
        Speed as a multiple of that of `peer`, median over the rounds.
    peer : str
        What `ratio` compares with.
    target : str
        What the ratio should be, such as ``">= 0.9"``; empty if there is no target.
    note : str
        Why it was not measured, or what to know about the figure.
    """

    name: str
    value: float | None = None
    unit: str = ""
    ratio: float | None = None
    peer: str = ""
    target: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if not self.target or self.ratio is None:
            return None
        return self.ratio >= float(self.target.removeprefix(">=").removesuffix("x"))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a contestant returns whose work is in another process, which our clock does not see.

    Parameters
    ----------
    seconds : float
        What the work took there.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Contestant:
    """One of those that are timed in turns.

    Parameters
    ----------
    name : str
    run : callable
        The work that is timed; gets what `prepare` returned. It may return `Elsewhere`.
    work : float
        Units of work of one call, so that ``work / seconds`` is the value.
    prepare : callable, optional
        Untimed preparation before each call, such as an untrained model.
    peer : str, optional
        Name of the contestant to compare with.
    target : str, optional
    note : str, optional
    """

    name: str
    run: Callable[[object], object]
    work: float
    prepare: Callable[[], object] = lambda: None
    peer: str = ""
    target: str = ""
    note: str = ""


def compare(
    contestants: Sequence[Contestant],
    unit: str,
    rounds: int = 5,
    clock: Callable[[], float] = process_time,
) -> list[Figure]:
    """Time the contestants in turns, after one round that does not count.

    Parameters
    ----------
    contestants : sequence of Contestant
    unit : str
        Unit of ``work / second``.
    rounds : int
        Rounds that count, at least.
    clock : callable
        Seconds; `time.perf_counter` for contestants that wait for disks or have threads of their
        own.
    """
    speeds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    spent = 0.0
    for number in range(MOST_ROUNDS * rounds + 1):
        if number > rounds and spent >= ENOUGH_SECONDS:
            break
        for contestant in contestants:
            prepared = contestant.prepare()
            # Nothing but the work is between the two looks at the clock.
            start = clock()
            result = contestant.run(prepared)
            seconds = clock() - start
            if isinstance(result, Elsewhere):
                seconds = result.seconds
            # Two large models at once might not fit into memory.
            del prepared
            # The first round compiles, and touches the memory of peers.
            if number:
                spent += seconds
                speeds[contestant.name].append(contestant.work / seconds)
    return [_figure(contestant, speeds, unit) for contestant in contestants]


def _figure(
    contestant: Contestant, speeds: dict[str, list[float]], unit: str
) -> Figure:
    subject = contestant
    own = speeds[contestant.name]
    ratio = None
    if subject.peer:
        # Ratios within a round, whose contestants met the same load of the machine.
        rounds = zip(own, speeds[subject.peer], strict=True)
        ratio = statistics.median(a / b for a, b in rounds)
    return Figure(
        subject.name,
        statistics.median(own),
        unit,
        ratio,
        subject.peer,
        subject.target,
        subject.note,
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread: every figure is that of one core."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield
