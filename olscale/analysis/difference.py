"""How far a figure of ours is from a published one, in three ways, and the verdict."""

import math
from dataclasses import dataclass

from olscale.analysis.published import PublishedCell

REPRODUCED = "reproduced"
WIDE = "compatible, wide"
BETTER = "better"
NOT_REPRODUCED = "not reproduced"

LIMIT = 2.0
"""Joint standard deviations within which a figure is compatible with the published one."""

CLOSE = 0.2
"""Share of the published mean within which a compatible figure counts as reproduced."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a mean of ours and a published one.

    Parameters
    ----------
    distance : float
        Ours minus published, in joint standard deviations ``sqrt(ours^2 + published^2)`` of single
        runs.
    relative : float
        Ours minus published, as a share of the published mean.
    p : float
        Of Welch's test that both means are estimates of one figure; NaN with less than two runs of
        ours.
    """

    distance: float
    relative: float
    p: float

    @property
    def verdict(self) -> str:
        """One of ``reproduced``, ``compatible, wide``, ``better`` and ``not reproduced``.

        Spread widens the band of the distance, theirs as well as ours, and it makes Welch's p
        large: both would reward noise. A figure in the band is reproduced where it is close to the
        published one, and only compatible elsewhere.
        """
        if self.distance < -LIMIT:
            return BETTER
        if self.distance > LIMIT:
            return NOT_REPRODUCED
        if abs(self.relative) <= CLOSE:
            return REPRODUCED
        return WIDE


def difference(mean: float, std: float, n: int, published: PublishedCell) -> Difference:
    """Compare the mean and sample deviation of `n` runs of ours with a published cell.

    A deviation that a paper does not print counts as 0: the published mean is then taken as exact,
    the distance is in deviations of ours alone, and Welch's test becomes Student's of our runs
    against that mean. A paper that does not say how many runs it averaged is taken to have averaged
    as many as we.

    Examples
    --------
    >>> cell = PublishedCell("lol-2016", "Table 4", "letter", "LOL", "test_error", 0.20, 0.03, 10)
    >>> ours = difference(0.25, 0.04, 10, cell)
    >>> round(ours.distance, 9), round(ours.relative, 9), round(ours.p, 4), ours.verdict
    (1.0, 0.25, 0.0058, 'compatible, wide')
    """
    gap = mean - published.mean
    joint_std = math.hypot(std, published.std or 0.0)
    return Difference(
        distance=_ratio(gap, joint_std),
        relative=_ratio(gap, published.mean),
        p=_welch(mean, std, n, published),
    )


def _ratio(gap: float, unit: float) -> float:
    if gap == 0.0:
        return 0.0
    if unit == 0.0:
        return math.copysign(math.inf, gap)
    return gap / unit


def _welch(mean: float, std: float, n: int, published: PublishedCell) -> float:
    from scipy.stats import ttest_ind_from_stats

    published_std = published.std or 0.0
    runs = published.runs or n
    if n < 2 or (published_std and runs < 2):
        return math.nan
    if std == published_std == 0.0:
        return float(mean == published.mean)
    # Without a deviation of theirs the number of their runs has no influence; it must only be a
    # valid one.
    test = ttest_ind_from_stats(
        mean,
        std,
        n,
        published.mean,
        published_std,
        max(2, runs),
        equal_var=False,
    )
    return float(test.pvalue)
