"""The summary of an evaluation and the location of its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from olscale.errors import ExecutionError
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
        which = f"all {runs} runs" if self.failed == runs else f"{self.failed} of {runs} runs"
        which = "the only run" if runs == 1 else which
        raise ExecutionError(f"{which} failed ({how}); `olscale status {self.store.path}` says why")

    def results(self, metric: str | None = None) -> Results:
        """Return the results of this experiment, which display as tables.

        Parameters
        ----------
        metric : str, optional
            Metric to show in place of the errors.
        """
        results: Results = make_view("results", self.store, self.ids, metric, self.experiment)
        return results
