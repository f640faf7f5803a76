"""How a tree splits its numeric columns: parameters of the learners."""

from typing import Any

from olscale.learners.contract.learner import Learner
from olscale.learners.contract.parameters import Choice, Whole, param

_GAUSSIAN = "gaussian"
_HISTOGRAM = "histogram"


class SplitsNumeric(Learner):
    """Base of trees that choose how they split numeric columns: adds `splits` and `bins`."""

    splits: str = param(
        _GAUSSIAN,
        Choice((_GAUSSIAN, _HISTOGRAM)),
        "How numeric columns are split: by a normal distribution of each class, or at the bounds "
        "of a histogram, for which naive Bayes has no densities, so that `leaf` is best mc.",
    )
    bins: int = param(10, Whole(1), "Bins of a histogram.")

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form, those of splits only if there are histograms."""
        params = super().resolved_params()
        if params["splits"] == _GAUSSIAN:
            # Runs and models of normal distributions stay what they were.
            del params["splits"]
            del params["bins"]
        return params

    def has_histograms(self) -> bool:
        """Return whether numeric columns are split at bounds of histograms."""
        return self.splits == _HISTOGRAM

    def most_bins(self) -> int:
        """Return how many bins a histogram may have, 0 where there are none."""
        return int(self.bins) if self.has_histograms() else 0
