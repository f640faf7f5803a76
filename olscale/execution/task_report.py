"""What a worker reports; it lets no exception out, so that no fault of the data or the store is taken for one of Dask."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from olscale.errors import OlscaleError
from olscale.system.interrupts import let_interrupt_out, text_of


class Stand(NamedTuple):
    """Where a group of runs stands.

    Attributes
    ----------
    rows : int
        Row-passes fed: one row learned by one learner is one.
    error : float
        Mean cumulative error so far.
    errors : tuple of (str, int, float)
        Run id, rows learned from and error so far of runs, not always of all.
    memory : int
        Bytes of the process.
    scoring : tuple of int
        Row-passes of held-out rows that the models have predicted since they began to, and how many
        they are to predict.
    compiling : bool
        Whether machine code is being made, so that nothing else goes on.
    """

    rows: int = 0
    error: float = 0.0
    errors: tuple[tuple[str, int, float], ...] = ()
    memory: int = 0
    scoring: tuple[int, int] = (0, 0)
    compiling: bool = False


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What a worker reports of a group of runs.

    Attributes
    ----------
    position : int
        Chunks fed so far.
    chunks : int
        Chunks of the stream.
    stand : Stand
        Where the runs stand.
    outcomes : dict
        Outcome of each finished run, by id.
    fault : str
        What went wrong, empty if nothing did.
    notes : tuple of str
        What the user should know.
    stopped : bool
        Whether the group was left where it is, because that was asked for.
    """

    position: int = 0
    chunks: int = 0
    stand: Stand = field(default_factory=Stand)
    outcomes: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    notes: tuple[str, ...] = ()
    stopped: bool = False


class Reports:
    """Tells where a group stands, now or when it is time to again.

    Parameters
    ----------
    tell : callable
        Hears of it.
    stand : callable
        Returns where the group stands.
    seconds : float
        Between two reports.
    """

    def __init__(
        self, tell: Callable[[Stand], None], stand: Callable[[], Stand], seconds: float
    ) -> None:
        self._tell = tell
        self._stand = stand
        self._seconds = seconds
        self._last = monotonic()
        self._told = stand()

    def tell(self) -> None:
        """Tell it now."""
        self._told = self._stand()
        self._tell(self._told)
        self._last = monotonic()

    def tell_compiling(self) -> None:
        """Tell that machine code is made, unless that was the last word; nothing is asked of runs in the midst of a row."""
        if not self._told.compiling:
            self._told = self._told._replace(compiling=True)
            self._tell(self._told)

    def note(self, told: Stand) -> None:
        """Note what was told in another way."""
        self._told = told

    def tell_if_due(self) -> None:
        """Tell it, if the last report is old enough."""
        if monotonic() - self._last > self._seconds:
            self.tell()


@dataclass(slots=True)
class Answer:
    """Holds the report that a worker answers with."""

    report: TaskReport = TaskReport()


@contextmanager
def answering() -> Iterator[Answer]:
    """Yield what the block is to put its report into; an exception in the block is the report's fault.

    A line for each: the message of an error of our own, type and message of others. Ctrl-C is
    raised again.
    """
    answer = Answer()
    try:
        yield answer
    except BaseException as error:
        let_interrupt_out(error)
        answer.report = TaskReport(
            fault=str(error) if isinstance(error, OlscaleError) else text_of(error)
        )
