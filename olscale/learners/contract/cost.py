"""Cost: the time and memory of a run, estimated before it starts.

Plans warn of long runs, refuse states that do not fit, and share learners among workers by it.
"""

from math import inf

from olscale.errors import ParameterError
from olscale.learners.contract.capability import Capability, targets_of
from olscale.learners.contract.learner import Learner, score_columns
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text

_MOST_MEMORIES = 1_000
"""Times that a row may go through a full memory: more would take hours per row."""
LARGE = 1_000_000
"""A whole number from which a parameter is reported as possibly mistyped."""

_OUTPUT_NUMBERS = 16.0
"""Numbers in the time that an output takes in addition to its products: to sum and compare."""

_LOOKUP_SECONDS = 0.5e-9
"""Seconds of a stored value of a sparse row in addition to its numbers: to look up weights."""


def in_dense_values(columns: int, values: float, factor: float) -> float:
    """Return how many values of a dense row take as long as `values`, of which each may be stored.

    Parameters
    ----------
    columns, values
        As in `EstimatesCost.row_numbers`.
    factor : float
        How many times as long as a value of a dense row one of a sparse row takes.

    Examples
    --------
    >>> [in_dense_values(columns=100, values=values, factor=3.0) for values in (100.0, 20.0)]
    [100.0, 60.0]
    """
    if values < columns:
        return factor * values
    return values


class EstimatesCost(Capability):
    """A learner that estimates its cost; the defaults are those of a small linear learner."""

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through.

        Apart from `Learner.row_seconds`, time is about proportional to it: on rows of 10 to 5,000
        columns within 1.3 times for most linear, local and budgeted kernel learners.

        Parameters
        ----------
        columns, classes : int
            Features and classes of the stream.
        values : float
            Stored values per row: all of them in a dense row.
        """
        del columns
        outputs = max(score_columns(classes), targets_of(self))
        return values * (outputs + 1.0) + _OUTPUT_NUMBERS * outputs

    # Kernel learners without a budget and batch machines take the square of the rows, so a
    # stream is no multiple of a row.
    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through: more per row where a state grows.

        Parameters
        ----------
        columns, classes, values
            As in `row_numbers`.
        rows : int
            Rows to learn from.
        """
        return rows * self.row_numbers(columns, classes, values)

    def score_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through that is only predicted.

        It matters where that is less than learning from the row.

        Parameters
        ----------
        columns, classes, values
            As in `row_numbers`.
        """
        del columns, classes, values
        return inf

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of a state that may fill the memory, 0 for one that never does."""
        del columns, classes
        return 0

    def reserved_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes that the learner asks of the system at its start, in one piece.

        The process grows by them only as they are written, so that a budget of memory compares
        these before a run begins. 0 if there are none.
        """
        del columns, classes
        return 0

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse a state that this machine cannot hold; plans ask, and so does `begin`.

        Raises
        ------
        ParameterError
            With the size that is needed and what to do instead.
        """

    def start_rows(self, apart: bool) -> tuple[int, str]:
        """Return how many rows are learned before any is predicted by them, and a remedy.

        The remedy says what to do to need fewer rows.

        Parameters
        ----------
        apart : bool
            Whether rows are predicted that are not learned at once: rows of a test, or rows whose
            labels come late.
        """
        del apart
        return 0, ""

    def cheaper(self) -> str:
        """Return what to do if a run takes too much time or memory, as half a sentence.

        The text is empty if there is nothing to do.
        """
        return ""


def require_memory(learner: Learner, needed: int, what: str) -> None:
    """Refuse a state of `needed` bytes where the machine has less memory.

    Parameters
    ----------
    learner : Learner
    needed : int
    what : str
        What takes them, with its verb: "a window of 1,000 rows needs".

    Raises
    ------
    ParameterError
    """
    memory = memory_bytes()
    if needed > memory:
        raise ParameterError(
            f"learner {learner.name}: {what} {size_text(needed)}, "
            f"this machine has {size_text(memory)}; {cost_of(learner).cheaper()}"
        )


def cost_of(learner: object) -> EstimatesCost:
    """Return the estimates of `learner`: its own, or those of a linear learner.

    Examples
    --------
    >>> from olscale.learners import AROW, PA1
    >>> costs = [cost_of(PA1()), cost_of(AROW())]
    >>> [cost.row_numbers(columns=100, classes=2, values=100.0) for cost in costs]
    [216.0, 3246.0]
    """
    if isinstance(learner, EstimatesCost):
        return learner
    return EstimatesCost()


def learning_seconds(
    learner: Learner, columns: int, classes: int, values: float, rows: int = 1
) -> float:
    """Return about how many seconds a core takes to learn from `rows` rows.

    Parameters
    ----------
    learner : Learner
    columns, classes, values, rows
        As in `EstimatesCost.stream_numbers`.

    Examples
    --------
    >>> from olscale.learners import PA1
    >>> narrow = learning_seconds(PA1(), columns=10, classes=2, values=10.0)
    >>> wide = learning_seconds(PA1(), columns=1000, classes=2, values=1000.0)
    >>> bool(5.0 * narrow < wide < 50.0 * narrow)
    True
    """
    numbers = cost_of(learner).stream_numbers(columns, classes, values, rows)
    of_row = learner.row_seconds
    if values < columns:
        of_row += values * _LOOKUP_SECONDS
    return float(numbers) / learner.numbers_per_second + rows * of_row


def check_row_numbers(learner: Learner, columns: int, classes: int) -> None:
    """Refuse a learner with excessive sizes, or with an invalid speed.

    Raises
    ------
    ParameterError
        With the parameters that cause the size, or the speed.
    """
    speed = learner.numbers_per_second
    if not 0.0 < speed < inf:
        raise ParameterError(
            f"learner {learner.name}: numbers_per_second was {speed!r}, expected a finite number "
            "above 0; leave it out, or "
            "measure it as olscale bench costs does"
        )
    fixed = learner.row_seconds
    if not 0.0 <= fixed < inf:
        raise ParameterError(
            f"learner {learner.name}: row_seconds was {fixed!r}, expected a finite number of at "
            "least 0; leave it out, or measure it as olscale bench costs does"
        )
    numbers = cost_of(learner).row_numbers(columns, classes, 1.0)
    memory = memory_bytes()
    if 8.0 * numbers > _MOST_MEMORIES * memory:
        params = learner.get_params(deep=False)
        # Small parameters cannot cause such a size: naming them would mislead.
        sizes = {
            name: value
            for name, value in params.items()
            if isinstance(value, int | float) and value >= LARGE
        }
        large = (
            ", ".join(f"{name} was {value:g}" for name, value in sizes.items())
            or f"columns were {columns:,}"
        )
        raise ParameterError(
            f"learner {learner.name}: {large}, and a row would go through {numbers:.1g} numbers, "
            "where this machine has "
            f"{size_text(memory)} of memory; expected sizes that fit it"
        )


def check_rows(learner: Learner, rows: int, apart: bool) -> None:
    """Refuse a stream that is too short for a learner to predict even its last row.

    Raises
    ------
    ParameterError
        With how many rows are needed and what to do.
    """
    least, cure = cost_of(learner).start_rows(apart)
    if rows < least:
        raise ParameterError(
            f"learner {learner.name}: {rows:,} rows are learned from before the last is "
            "predicted, and nothing is before "
            f"{least:,}; {cure}"
        )
