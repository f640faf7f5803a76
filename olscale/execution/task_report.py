"""What a worker reports; it lets no exception out, so that no fault of the data or the store is taken for one of Dask."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from olscale.errors import OlscaleError
from olscale.system.interrupts import let_interrupt_out, text_of


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What a worker reports of a group of runs.

    Attributes
    ----------
    position : int
        Chunks fed so far.
    chunks, rows : int
        Chunks of the stream, and rows fed so far.
    error : float
        Mean cumulative error so far.
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
    rows: int = 0
    error: float = 0.0
    outcomes: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    notes: tuple[str, ...] = ()
    stopped: bool = False


@dataclass(slots=True)
class Answer:
    """Holds the report that a worker answers with."""

    report: TaskReport = TaskReport()


@contextmanager
def answering() -> Iterator[Answer]:
    """Yield what the block is to put its report into; an exception in the block is the report's fault.

    A line for each: the message of an error of our own, type and message of others. Ctrl-C is raised again.
    """
    answer = Answer()
    try:
        yield answer
    except BaseException as error:
        let_interrupt_out(error)
        answer.report = TaskReport(fault=str(error) if isinstance(error, OlscaleError) else text_of(error))
