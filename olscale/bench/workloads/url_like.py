"""Made-up rows in the shape of the URL reputation set: sparse, in time order, with drift.

The real set has 2,396,130 rows with about 115 nonzeros each, 3,231,961 features and 121 days. Here
likewise:

- A day is 19,803 rows and a segment; on day d the features born so far are the first ``N_d`` (and
  the head), and `N_d` grows evenly.
- Columns 0 to 63 are real-valued, in (0, 1], 12 of them in a row, most often the same. A column has
  7 to 1,792 different values, multiples of a fraction in six decimals, such as 0.142857. All others
  are 0 or 1.
- 102 features are the head: 54 of them are in 98.5 % of the rows, the others in 78 down to 20 %,
  less in the class that they speak against. They stand in runs: 36 follow the real-valued ones, 66
  stand at 0.048 of all columns (in the real set from 155,153 on).
- 20 to 27 features come from a tail that is near a power law, one from each of as many equal strata
  of u in [0, 1), feature ``N_d t^32`` with t rising from near 0.7 to 1, and 3 from the newest
  tenth, the newer the more. A feature drawn twice is there once. The 100 most frequent features
  hold seven tenths of the nonzeros, the 1,000 most frequent nine.
- A row is of one of 100 sites, most often of the first ones, and has what is drawn for its site,
  but for a quarter of the values, a twentieth of the head and three tenths of the tail, which are
  its own: real rows repeat one another, so that gzip packs their text to a ninth. These it packs to
  a seventh.
- One row in three is malicious (+1). Every second feature is more frequent in one class than in the
  other; which ones, and in which class, is drawn anew every 64 days, for every feature on another
  day. One label in a hundred is wrong.

Row i depends on the seed and i alone, by a counter-based generator (splitmix64) and exact
arithmetic without transcendental functions, so every machine makes the same bits and any part can
be made by itself.

References
----------
J. Ma, L. K. Saul, S. Savage, G. M. Voelker, Identifying suspicious URLs: an application of
large-scale online learning, ICML 2009: the real set.
"""

from collections.abc import Iterator

import numpy as np

from olscale.arrays import IntArray
from olscale.compiled.csr import CSR
from olscale.data.chunk import Chunk
from olscale.data.formats.base import Batch
from olscale.errors import ParameterError

ROWS = 2_396_130
COLUMNS = 3_231_961
DAYS = 121
REAL = 64
SEGMENTS = True

DAY_ROWS = 19_803
_FEWEST_COLUMNS = 1_000


# Ratios of speeds depend on how many features are frequent: a linear learner waits for memory
# twice as long on real rows as on rows of a power law. So a head of 86 features and a tail are
# fitted to 5,700 real rows: 72 % of the nonzeros are in the 100 most frequent features (real
# rows: 71 %).
def batches(rows: int, seed: int, columns: int = COLUMNS) -> Iterator[Batch]:
    """Yield `rows` rows, a day at a time.

    Parameters
    ----------
    rows : int
        Their number; fewer rows are the beginning of more rows.
    seed : int
        Seed.
    columns : int
        Number of features, at least 1,000.

    Yields
    ------
    Batch
        CSR, of at most 19,803 rows, with targets -1 and +1.
    """
    for day in range(-(-rows // DAY_ROWS)):
        yield _day(day, rows, seed, columns)


def _day(day: int, rows: int, seed: int, columns: int) -> Batch:
    start = day * DAY_ROWS
    X, malicious = _rows(start, min(start + DAY_ROWS, rows), seed, columns, DAY_ROWS)
    return Batch(X, np.where(malicious == 1, 1.0, -1.0), columns)


def members(
    rows: int, seed: int, columns: int = COLUMNS
) -> Iterator[tuple[str, Batch | bytes]]:
    """Yield the files of the published archive, in its order, with the rows of `batches`.

    Parameters
    ----------
    rows, seed, columns
        As for `batches`.

    Yields
    ------
    tuple of str and Batch or bytes
        ``url_svmlight/FeatureTypes`` (numbers of the real-valued features), then
        ``url_svmlight/DayN.svm``, sorted as text.
    """
    yield (
        "url_svmlight/FeatureTypes",
        "".join(f"{feature + 1}\n" for feature in range(REAL)).encode(),
    )
    # As text: Day10 comes before Day2 in the published archive.
    for day in sorted(range(-(-rows // DAY_ROWS)), key=str):
        yield f"url_svmlight/Day{day}.svm", _day(day, rows, seed, columns)


def chunks(
    rows: int,
    chunk_rows: int = 16_384,
    seed: int = 0,
    columns: int = COLUMNS,
    day_rows: int | None = None,
) -> Iterator[Chunk]:
    """Yield rows in memory, as a dataset would give them.

    Parameters
    ----------
    rows, seed, columns
        As for `batches`.
    chunk_rows : int
        Rows of a chunk.
    day_rows : int, optional
        Rows of a day. When left out, `rows` cover all 121 days, so that few rows reach all features
        too.

    Yields
    ------
    Chunk
        CSR with codes 0 (benign) and 1 (malicious).

    Examples
    --------
    >>> chunk = next(chunks(1000, chunk_rows=500))
    >>> len(chunk), chunk.columns, 100 < len(chunk.X.data) / 500 < 130
    (500, 3231961, True)
    """
    day = max(1, -(-rows // DAYS)) if day_rows is None else day_rows
    for start in range(0, rows, chunk_rows):
        X, malicious = _rows(start, min(start + chunk_rows, rows), seed, columns, day)
        yield Chunk(X, malicious, columns)


def _rows(
    start: int, stop: int, seed: int, columns: int, day_rows: int
) -> tuple[CSR, IntArray]:
    # Compiled loops take long to import, and most users of the names of workloads make no rows.
    from olscale.bench.workloads._url_loop import MOST_NONZEROS, fill

    if columns < _FEWEST_COLUMNS:
        raise ParameterError(
            f"columns is {columns}, expected at least {_FEWEST_COLUMNS:,}"
        )
    count = stop - start
    indptr = np.zeros(count + 1, dtype=np.int64)
    indices = np.empty(count * MOST_NONZEROS, dtype=np.int32)
    data = np.empty(count * MOST_NONZEROS)
    malicious = np.empty(count, dtype=np.int64)
    used = fill(start, seed, columns, day_rows, DAYS, indptr, indices, data, malicious)
    # Copies give back the space that rows of the most features would have needed.
    X = CSR(indptr, indices[:used].copy(), data[:used].copy())
    return X, malicious
