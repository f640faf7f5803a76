"""Reports of workers, which let no exception out.

Otherwise Dask's own faults could not be distinguished from those of the data or the store.
"""

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
        Run id, rows learned and error so far of some or all runs.
    memory : int
        Memory of the process in bytes.
    scoring : tuple of int
        Row-passes of held-out rows that the models have predicted so far, and the total that they
        will predict.
    compiling : bool
        Whether machine code is being compiled, so that nothing else runs.
    failed : tuple of (str, int)
        Run id and rows learned of some or all runs that have failed.
    """

    rows: int = 0
    error: float = 0.0
    errors: tuple[tuple[str, int, float], ...] = ()
    memory: int = 0
    scoring: tuple[int, int] = (0, 0)
    compiling: bool = False
    failed: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A worker's report on a group of runs.

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
        Messages for the user.
    stopped : bool
        Whether the group was left unfinished on request.
    """

    position: int = 0
    chunks: int = 0
    stand: Stand = field(default_factory=Stand)
    outcomes: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    notes: tuple[str, ...] = ()
    stopped: bool = False


class Reports:
    """Reports where a group stands, at once or when a report is due.

    Parameters
    ----------
    tell : callable
        Receives the reports.
    stand : callable
        Returns where the group stands.
    seconds : float
        Time between two reports.
    """

    def __init__(
        self, tell: Callable[[Stand], None], stand: Callable[[], Stand], seconds: float
    ) -> None:
        self._tell = tell
        self._stand = stand
        self._seconds = seconds
        self._last = monotonic()
        self._last_stand = stand()

    def tell(self) -> None:
        """Report now."""
        self._last_stand = self._stand()
        self._tell(self._last_stand)
        self._last = monotonic()

    def tell_compiling(self) -> None:
        """Report that machine code is being compiled, unless the last report did.

        It does not ask runs for anything, since they may be in the middle of a row.
        """
        if not self._last_stand.compiling:
            self._last_stand = self._last_stand._replace(compiling=True)
            self._tell(self._last_stand)

    def note(self, stand: Stand) -> None:
        """Note a report that was made in another way."""
        self._last_stand = stand

    def tell_if_due(self) -> None:
        """Report if the last report is old enough."""
        if monotonic() - self._last > self._seconds:
            self.tell()


@dataclass(slots=True)
class Answer:
    """Holds the report that a worker answers with."""

    report: TaskReport = TaskReport()


@contextmanager
def answering() -> Iterator[Answer]:
    """Yield an answer for the report of the block; an exception becomes the report's fault.

    The fault is one line: the message of one of our errors, type and message of others. Ctrl-C is
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
