"""The time left, from what has been done and how long it took."""

from math import isnan, nan

COMPILING = "making machine code"
"""What is shown while nothing else is done, for seconds, once for each version of the sources."""

LONGEST_PAUSE = 10.0
"""Seconds without a step that count as work at most.

In longer ones a worker starts, or a machine is suspended.
"""

USUAL_PAUSES = 4.0
"""Longer pauses count as work where steps are mostly more than a fourth of them apart."""

KNOWN_SHARE = 0.25
"""An expected time of all the work weighs as much as this share of it, done in that time."""

FIRST_SHARE = 0.05
"""Before the second step the first one gives the pace, if it is so large a share.

It has in it what comes before the first row.
"""

MEMORY = 0.4
"""After such a share of the work what came before counts half: the load of a machine changes."""


def share_of_group(rows: int, held: int, rows_done: int, scoring: tuple[int, int]) -> float:
    """Return how much of a run group is done.

    Parameters
    ----------
    rows, held : int
        Row-passes that its runs learn from, and what it takes to predict held-out rows in the end,
        in row-passes of learning.
    rows_done : int
        Row-passes that they have learned from.
    scoring : tuple of int
        Row-passes predicted, and to predict; models along the stream are scored as well.

    Examples
    --------
    >>> share_of_group(100, 100, 50, (0, 0)), share_of_group(100, 100, 100, (25, 50))
    (0.25, 0.75)
    """
    if rows + held == 0:
        return 0.0
    scored, to_score = scoring
    passes = float(rows_done)
    if rows_done >= rows and to_score:
        passes += held * scored / to_score
    return min(1.0, passes / (rows + held))


class Pace:
    """How fast a share of work grows, and how long the rest will take.

    Parameters
    ----------
    expected : float
        Seconds that all of it is expected to take; 0 where that is unknown.

    Examples
    --------
    >>> pace = Pace()
    >>> for share, now in (0.0, 100.0), (0.1, 102.0), (0.25, 105.0):
    ...     pace.step(share, now)
    >>> round(pace.seconds_left(105.0), 6)
    15.0
    """

    def __init__(self, expected: float = 0.0) -> None:
        self._share = nan  # of the last step
        self._step_clock = nan  # when that was
        # The share done and its seconds, what is long ago less and less.
        self._done = 0.0
        self._seconds = 0.0
        if expected > 0.0:
            self._done = KNOWN_SHARE
            self._seconds = KNOWN_SHARE * expected
        self._first_share = 0.0
        self._first_seconds = 0.0
        self._pauses = 0
        self._pause_seconds = 0.0
        # The clock stands still while machine code is made.
        self._clock = 0.0
        self._clock_set = nan
        self._idle = 0.0

    def compiling(self, share: float, now: float) -> None:
        """Note that from now on such a share of the groups makes machine code, which is no work."""
        self._clock = self.worked(now)
        self._clock_set = now
        self._idle = share

    def worked(self, now: float) -> float:
        """Return the seconds since the first step or note in which no machine code was made."""
        if isnan(self._clock_set):
            return self._clock
        since = max(0.0, now - self._clock_set)
        return self._clock + since * (1.0 - self._idle)

    def step(self, share: float, now: float) -> None:
        """Note that `share` of the work is done; the clock starts with the first one noted."""
        if isnan(self._clock_set):
            self._clock_set = now
        clock = self.worked(now)
        if isnan(self._step_clock):
            self._share = share
            self._step_clock = clock
        if share == self._share:
            return
        if share < self._share:  # what a worker had done is lost with it
            self._done = max(0.0, self._done - (self._share - share))
            self._share = share
            return
        pause = self._pause(clock)
        growth = share - self._share
        is_first = self._share == 0.0 and not self._first_share
        self._share = share
        self._step_clock = clock
        if is_first:  # rows were read before, code loaded
            self._first_share = growth
            self._first_seconds = pause
            return
        fading = 0.5 ** (growth / MEMORY)
        self._done = self._done * fading + growth
        self._seconds = self._seconds * fading + pause
        self._pauses += 1
        self._pause_seconds += pause

    def _pause(self, clock: float) -> float:
        """Return the time since the last step, as far as it counts as work."""
        usual = 0.0
        if self._pauses:
            usual = self._pause_seconds / self._pauses
        longest = max(LONGEST_PAUSE, USUAL_PAUSES * usual)
        return min(max(0.0, clock - self._step_clock), longest)

    def seconds_left(self, now: float) -> float:
        """Return the time left at this pace; NaN while it is unknown."""
        if self._share >= 1.0:
            return 0.0
        remaining = 1.0
        if not isnan(self._share):
            remaining -= self._share
        if self._done > 0.0:
            waited = 0.0
            if self._share > 0.0:
                waited = self._pause(self.worked(now))
            return remaining / self._done * (self._seconds + waited)
        if self._first_share >= FIRST_SHARE:
            return remaining / self._first_share * self._first_seconds
        return nan
