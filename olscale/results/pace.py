"""The time left, from what has been done and how long it took."""

from math import isnan, nan

COMPILING = "making machine code"
"""What is said where nothing else goes on, for seconds, once for each version of the sources."""

LONGEST_PAUSE = 10.0
"""Seconds without a step that count as work at most: in longer ones a worker starts, or a machine is suspended."""

USUAL_PAUSES = 4.0
"""More is taken for work where steps are so many times as far apart as they mostly are."""

KNOWN_SHARE = 0.25
"""What was expected of all the work counts as so much of it done in that time, where work like it has been timed."""

FIRST_SHARE = 0.05
"""Before the second step the first one tells the pace, if it is so much: it has in it what comes before the first row."""

MEMORY = 0.4
"""After such a share of the work what came before counts half: the machine may have got other work to do."""


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
    >>> share_of_group(100, 100, 50, (0, 0)), share_of_group(100, 100, 100, (25, 50)), share_of_group(100, 0, 50, (1, 1))
    (0.25, 0.75, 0.5)
    """
    scored, to_score = scoring
    held_done = held * scored / to_score if rows_done >= rows and to_score else 0.0
    return min(1.0, (rows_done + held_done) / (rows + held)) if rows + held else 0.0


class Pace:
    """How fast a share of work grows, and how long the rest will take.

    Parameters
    ----------
    expected : float
        Seconds that all of it is expected to take; 0 where nobody knows.

    Examples
    --------
    >>> pace = Pace()
    >>> for share, now in (0.0, 100.0), (0.1, 102.0), (0.25, 105.0):
    ...     pace.step(share, now)
    >>> round(pace.seconds_left(105.0), 6)
    15.0
    """

    def __init__(self, expected: float = 0.0) -> None:
        self._share = self._at = nan
        self._done, self._seconds = (
            (KNOWN_SHARE, KNOWN_SHARE * expected) if expected > 0.0 else (0.0, 0.0)
        )
        self._first = (0.0, 0.0)  # share and seconds of the first step
        self._pauses, self._pause_seconds = 0, 0.0
        self._clock, self._looked, self._idle = 0.0, nan, 0.0

    def compiling(self, share: float, now: float) -> None:
        """Note that from now on such a share of those at work makes machine code: that time is no work."""
        self._clock, self._looked, self._idle = self.worked(now), now, share

    def worked(self, now: float) -> float:
        """Return the seconds since the first step or note, without those in which machine code is made."""
        since = 0.0 if isnan(self._looked) else max(0.0, now - self._looked)
        return self._clock + since * (1.0 - self._idle)

    def step(self, share: float, now: float) -> None:
        """Note that `share` of the work is done; the clock starts with the first one noted."""
        if isnan(self._looked):
            self._looked = now
        clock = self.worked(now)
        if self._at != self._at:
            self._share, self._at = share, clock
        if share == self._share:
            return
        if share < self._share:  # what a worker had done is lost with it
            self._done = max(0.0, self._done - (self._share - share))
            self._share = share
            return
        pause, done = self._pause(clock), share - self._share
        begins, self._share, self._at = self._share == 0.0 and not self._first[0], share, clock
        if begins:  # rows were read before, code loaded
            self._first = done, pause
            return
        fading = 0.5 ** (done / MEMORY)
        self._done, self._seconds = self._done * fading + done, self._seconds * fading + pause
        self._pauses, self._pause_seconds = self._pauses + 1, self._pause_seconds + pause

    def _pause(self, clock: float) -> float:
        """Return the time since the last step, as far as it counts as work."""
        usual = self._pause_seconds / self._pauses if self._pauses else 0.0
        return min(max(0.0, clock - self._at), max(LONGEST_PAUSE, USUAL_PAUSES * usual))

    def seconds_left(self, now: float) -> float:
        """Return the time left at this pace; NaN while nothing is known of it."""
        if self._share >= 1.0:
            return 0.0
        left = 1.0 - (0.0 if isnan(self._share) else self._share)
        if self._done > 0.0:
            waited = self._pause(self.worked(now)) if self._share > 0.0 else 0.0
            return left / self._done * (self._seconds + waited)
        done, seconds = self._first
        return left / done * seconds if done >= FIRST_SHARE else nan
