"""The summary of an evaluation, and evaluations in a thread while a notebook runs other cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olscale.errors import ExecutionError
from olscale.execution.shutdown import Stop
from olscale.results.plans import LeftOut
from olscale.results.store import Store
from olscale.views import make_view

if TYPE_CHECKING:
    from olscale.report.notebook import Results


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The summary of an evaluation.

    Attributes
    ----------
    store : Store
        Store with the results.
    runs : int
        Runs of the plan, including those of tuning.
    computed : int
        Runs computed now; the store had the others already.
    changed : int
        Runs that were computed again with results that differ from the store's.
    outcomes : dict of str to int
        Outcomes of the experiment's runs, without those of tuning: outcome -> number of runs.
    left_out : tuple of LeftOut
        Optional datasets and learners that were unavailable, and why.
    experiment : str
        Name of the experiment.
    ids : tuple of str
        Ids of its runs, without those of tuning.
    """

    store: Store
    runs: int
    computed: int
    left_out: tuple[LeftOut, ...] = ()
    experiment: str = ""
    ids: tuple[str, ...] = field(default=(), repr=False)
    changed: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Runs of the experiment without a result; failed candidates of tuning do not count."""
        return sum(runs for outcome, runs in self.outcomes.items() if outcome != "ok")

    def check(self, strict: bool = False) -> None:
        """Raise an error if every run of the experiment failed, or if any did with `strict`.

        Raises
        ------
        ExecutionError
            States the number of runs and their outcomes.
        """
        runs = sum(self.outcomes.values())
        if not self.failed or (self.failed < runs and not strict):
            return
        how = ", ".join(
            f"{count} {outcome}"
            for outcome, count in sorted(self.outcomes.items())
            if outcome != "ok"
        )
        which = (
            f"all {runs} runs"
            if self.failed == runs
            else f"{self.failed} of {runs} runs"
        )
        which = "the only run" if runs == 1 else which
        raise ExecutionError(
            f"{which} failed ({how}); `olscale status {self.store.path}` says why"
        )

    def results(self, metric: str | None = None) -> Results:
        """Return the results of this experiment, which display as tables.

        Parameters
        ----------
        metric : str, optional
            Metric to show in place of the errors.
        """
        results: Results = make_view(
            "results", self.store, self.ids, metric, self.experiment
        )
        return results


class Background:
    """A running evaluation, as returned by `olscale.evaluate` with ``background=True``.

    Parameters
    ----------
    call : callable
        Takes an object that can request a stop, evaluates, and returns the evaluation.
    view : optional
        View that displays it in a notebook: a `LiveView`.

    Attributes
    ----------
    view : LiveView or None
        The view that displays it.
    """

    def __init__(self, call: Callable[[Stop], Evaluation], view: Any = None) -> None:
        self.view = view
        self._stop = Stop()
        pool = ThreadPoolExecutor(1, thread_name_prefix="olscale-evaluate")
        self._future: Future[Evaluation] = pool.submit(self._run, call)
        pool.shutdown(wait=False)

    def _run(self, call: Callable[[Stop], Evaluation]) -> Evaluation:
        try:
            return call(self._stop)
        finally:  # before waiting threads continue, so that the view shows the end
            if self.view is not None:
                self.view.stop()

    @property
    def running(self) -> bool:
        """Whether the evaluation is running."""
        return not self._future.done()

    def wait(self, seconds: float | None = None) -> Evaluation:
        """Wait for the end and return the evaluation; re-raise its exception, if any.

        Raises
        ------
        TimeoutError
            If the evaluation still runs after so many seconds.
        """
        return self._future.result(seconds)

    def stop(self) -> None:
        """Ask the evaluation to save its work and to stop.

        `wait` then raises `StoppedError`, and repeating the call continues the evaluation.
        """
        self._stop.ask()

    def __repr__(self) -> str:
        if self.running:
            return "a running evaluation; wait() for its end"
        error: Any = self._future.exception()
        return f"an evaluation that has ended: {error or self._future.result()}"
