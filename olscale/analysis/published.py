"""Published tables: what papers print, cell by cell, and how far our figures are from it."""

import csv
import math
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from olscale.errors import FormatError

COLUMNS = [
    "source",
    "table",
    "dataset",
    "learner",
    "metric",
    "mean_percent",
    "std_percent",
]
METRICS = ("test_error", "cumulative_error")
AFTER = "@"
"""``test_error@40`` is the test error of the model of the first 40 rows."""
_JOINED = "(train+test)"
# Runs behind a paper's figures. PAMO and OSPVM state 20; LOL states 10 splits and 10 projections
# and no other number.
_RUNS = {"lol-2016": 10, "pamo-2018": 20, "ospvm-2016": 20}


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """A cell of a published table.

    Parameters
    ----------
    source : str
        Paper, under the name of the pipeline that reproduces it: ``"lol-2016"``.
    table : str
        As the paper numbers it: ``"Table 3"``.
    dataset : str
        Name in the catalogue.
    learner : str
        What the table calls the method.
    metric : str
        ``"test_error"`` or ``"cumulative_error"``, or ``"test_error@40"``: of the model of the
        first 40 rows.
    mean : float
        As a fraction.
    std : float or None
        As a fraction; None where the paper prints none.
    runs : int or None
        How many runs were averaged; None where that is not known.
    """

    source: str
    table: str
    dataset: str
    learner: str
    metric: str
    mean: float
    std: float | None
    runs: int | None = None


def read_published(path: Path | None = None) -> list[PublishedCell]:
    """Read published tables; those that come with olscale when no file is named.

    The file is CSV with the columns source, table, dataset, learner, metric, mean_percent and
    std_percent (empty where a paper has none). Sets whose parts a paper joins, ``a9a(train+test)``,
    get the name of the catalogue, ``a9a-joined``.

    Raises
    ------
    FormatError
        If a line does not fit (it is named), or a cell occurs twice.

    Examples
    --------
    >>> cell = read_published()[0]
    >>> cell.table, cell.dataset, cell.learner, round(100 * cell.mean, 2)
    ('Table 3', 'svmguide1', 'PA', 30.35)
    """
    text = (path or files("olscale.analysis").joinpath("published.csv")).read_text(
        encoding="utf-8"
    )
    source = str(path or "published.csv")
    lines = csv.reader(text.splitlines())
    header = next(lines, [])
    if header != COLUMNS:
        raise FormatError(
            source,
            f"the columns are {','.join(header)}, expected {','.join(COLUMNS)}",
            1,
        )
    cells: dict[tuple[str, ...], PublishedCell] = {}
    for number, line in enumerate(lines, 2):
        try:
            cell = _cell(line)
        except ValueError as fault:
            raise FormatError(source, str(fault), number) from fault
        # A cell printed twice would be judged twice.
        names = tuple(line[:5])
        if names in cells:
            raise FormatError(
                source,
                f"{', '.join(names)} occurs a second time",
                number,
            )
        cells[names] = cell
    return list(cells.values())


def _cell(line: list[str]) -> PublishedCell:
    """Return the cell of a line; a `ValueError` says what does not fit."""
    if len(line) != len(COLUMNS):
        raise ValueError(f"{len(line)} fields, expected {len(COLUMNS)}")
    source, table, dataset, learner, metric, mean, std = line
    name, _, _ = metric.partition(AFTER)
    if not all(line[:4]) or name not in METRICS:
        raise ValueError(
            f"expected four names and one of {', '.join(METRICS)}, got {line[:5]}"
        )
    return PublishedCell(
        source=source,
        table=table,
        dataset=dataset.replace(_JOINED, "-joined"),
        learner=learner,
        metric=metric,
        mean=_fraction(mean),
        std=_fraction(std) if std else None,
        runs=_RUNS.get(source),
    )


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ValueError(f"{text!r} is no percentage, expected a number from 0 to 100")
    return value / 100


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
