"""Parameters of several learners of trees: what they mean, and the values they may have."""

from typing import Any

from olscale.learners.contract.parameters import Choice, Real, Whole, param

SHARE: Any = param(
    0.6,
    Real(0.0, 1.0, open_="low"),
    "Share of the features at which a leaf looks, one at least.",
)
RATE: Any = param(
    6.0,
    Real(0.0, 100.0, open_="both"),
    "How often a tree learns a row, on average.",
)
TIE: Any = param(
    0.05,
    Real(0.0),
    "Bound below which the best split is made, however close the second is.",
)
LEAF: Any = param(
    "nba",
    Choice(("mc", "nb", "nba")),
    "How a leaf predicts: the majority class, naive Bayes, or whichever of them has been "
    "correct more often in this leaf.",
)
WARNING: Any = param(
    0.01,
    Real(0.0, 1.0, open_="both"),
    "Probability of a false warning, as far as ADWIN's bound holds.",
)


def grace_param(default: int) -> Any:
    """Declare after how many rows a leaf compares splits."""
    return param(
        default, Whole(1), "Rows of a leaf from one comparison of splits to the next."
    )


def confidence_param(default: float) -> Any:
    """Declare how sure a split has to be."""
    return param(
        default,
        Real(1e-300, 1.0, open_="high"),
        "Probability that another split was the best one, as far as the bound holds.",
    )


def drift_param(default: float) -> Any:
    """Declare how sure ADWIN has to be of a drift."""
    return param(
        default,
        Real(0.0, 1.0, open_="both"),
        "Probability of a false alarm of drift, as far as ADWIN's bound holds.",
    )


def max_leaves_param(meaning: str) -> Any:
    """Declare how many leaves a tree may have; which count is in the `meaning`."""
    return param(1_000, Whole(1), meaning)
