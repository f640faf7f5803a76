"""The time left, from what has been done and how long it took."""

from math import nan

LONGEST_PAUSE = 10.0
"""Seconds without a step that count as work at most: in longer ones machine code is made, or a worker starts."""

USUAL_PAUSES = 4.0
"""More is taken for work where steps are so many times as far apart as they mostly are."""

MEMORY = 0.4
"""After such a share of the work what came before counts half: the machine may have got other work to do."""


def share_of_group(rows: int, held: int, rows_done: int, scoring: tuple[int, int]) -> float:
    """Return how much of a run group is done: to predict a row takes about as long as to learn from it.

    Parameters
    ----------
    rows, held : int
        Row-passes that its runs learn from, and of held-out rows that its models predict in the end.
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

    Examples
    --------
    >>> pace = Pace()
    >>> for share, now in (0.0, 100.0), (0.1, 102.0), (0.25, 105.0):
    ...     pace.step(share, now)
    >>> round(pace.seconds_left(105.0), 6)
    15.0
    """

    def __init__(self) -> None:
        self._share = self._at = nan
        self._done = self._seconds = 0.0
        self._pauses, self._pause_seconds = 0, 0.0

    def step(self, share: float, now: float) -> None:
        """Note that `share` of the work is done; the clock starts with the first one noted."""
        if self._at != self._at:
            self._share, self._at = share, now
        if share == self._share:
            return
        if share < self._share:  # what a worker had done is lost with it
            self._done = max(0.0, self._done - (self._share - share))
            self._share = share
            return
        pause, done = self._pause(now), share - self._share
        fading = 0.5 ** (done / MEMORY)
        self._done, self._seconds = self._done * fading + done, self._seconds * fading + pause
        self._pauses, self._pause_seconds = self._pauses + 1, self._pause_seconds + pause
        self._share, self._at = share, now

    def _pause(self, now: float) -> float:
        """Return the time since the last step, as far as it counts as work."""
        usual = self._pause_seconds / self._pauses if self._pauses else 0.0
        return min(max(0.0, now - self._at), max(LONGEST_PAUSE, USUAL_PAUSES * usual))

    def seconds_left(self, now: float) -> float:
        """Return the time left at this pace; NaN while nothing is known of it."""
        if self._share >= 1.0:
            return 0.0
        if self._done <= 0.0:
            return nan
        return (1.0 - self._share) / self._done * (self._seconds + self._pause(now))
