"""What an evaluation did, and where its results are."""

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
    """What an evaluation did.

    Attributes
    ----------
    store : Store
        Where the results are.
    runs : int
        Runs of the plan, those of tuning included.
    computed : int
        Runs computed now; the others were in the store already.
    changed : int
        Runs that were computed again and came out otherwise than the store had them.
    outcomes : dict of str to int
        How the runs of the experiment ended, those of tuning left out: outcome -> runs.
    left_out : tuple of LeftOut
        Optional datasets and learners that could not be had, and why.
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
        """Runs of the experiment that have no result; a candidate of tuning that failed is out and does not count."""
        return sum(runs for outcome, runs in self.outcomes.items() if outcome != "ok")

    def check(self, strict: bool = False) -> None:
        """Raise an error if every run of the experiment failed, or, where `strict`, if any did.

        Raises
        ------
        ExecutionError
            With the number of runs and how they failed.
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
        """Return the results of this experiment, which show themselves as tables.

        Parameters
        ----------
        metric : str, optional
            The metric to show in place of the errors.
        """
        results: Results = make_view("results", self.store, self.ids, metric, self.experiment)
        return results
