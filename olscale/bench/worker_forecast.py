"""How long an evaluation takes on so many workers, simulated from what the parts of a cluster cost.

A group of runs goes from the driver to the scheduler to a worker and back. Driver and scheduler are
one thread each and serve one message after another; the file system of the store takes a limited
number of files per second from all workers together; a worker does one group at a time. Nothing in
it is random.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush


@dataclass(frozen=True, slots=True)
class Costs:
    """What the parts of a cluster take, in seconds.

    Attributes
    ----------
    driver, scheduler : float
        Time of the driver's and of the scheduler's thread for a group, from its submission to its
        answer.
    driver_report, scheduler_report : float
        The same for a report of progress.
    start : float
        Time of a worker for a group besides its work: opening the dataset, unpacking the group.
    trip : float
        From an answer leaving a worker to the next group arriving there, both threads being idle.
    record : float
        Writing the record of a run, as the worker waits for it.
    file : float
        The file system's time for a record, all workers together; less than `record` where it takes
        several at once.
    """

    driver: float
    scheduler: float
    driver_report: float
    scheduler_report: float
    start: float
    trip: float
    record: float
    file: float


@dataclass(frozen=True, slots=True)
class Load:
    """A group: its work in seconds, its number of runs, and its reports of progress."""

    seconds: float
    runs: int = 1
    reports: int = 0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Wall time, work per wall time and worker, and the share of it in which each part is busy."""

    seconds: float
    efficiency: float
    busy: dict[str, float]

    @property
    def bottleneck(self) -> str:
        """The part that is busy for the largest share of the time."""
        return max(self.busy, key=lambda part: self.busy[part])


class _Server:
    """Serves one request after another, in the order in which they come."""

    def __init__(self) -> None:
        self.free = self.busy = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """Return when a request that comes `now` is done."""
        # A request that comes while it is busy waits for those before it.
        self.free = max(self.free, now) + seconds
        self.busy += seconds
        return self.free


def forecast(
    groups: Sequence[Load], workers: int, costs: Costs, ahead: int = 2
) -> Forecast:
    """Simulate `groups`, given out in their order, on `workers` workers.

    So many groups a worker are given out `ahead` of the first that comes back; one, when no more
    are left than workers.

    Examples
    --------
    >>> free = Costs(*8 * [0.0])
    >>> forecast(8 * [Load(1.0)], 4, free).seconds
    2.0
    >>> slow = Costs(0.5, *7 * [0.0])
    >>> forecast(8 * [Load(1.0)], 4, slow).bottleneck
    'driver'
    """
    driver = _Server()
    scheduler = _Server()
    files = _Server()
    waiting: deque[int] = deque()
    idle = workers
    sent = 0
    back = 0
    work = 0.0
    clock = 0.0
    events: list[tuple[float, int, str]] = []

    def give(at: float) -> None:
        nonlocal sent
        while sent < len(groups):
            # The last groups are not given out ahead: one worker would have two, another none.
            ahead_now = ahead if len(groups) - sent > workers else 1
            if sent - back >= workers * ahead_now:
                break
            heappush(events, (driver.serve(at, costs.driver / 2), sent, "submitted"))
            sent += 1

    give(0.0)
    while events:
        clock, number, what = heappop(events)
        group = groups[number]
        if what == "submitted":
            heappush(
                events, (scheduler.serve(clock, costs.scheduler / 2), number, "ready")
            )
        elif what == "ready":
            waiting.append(number)
        elif what == "written":
            # Reports came all along; served here they take the same time of both threads.
            end = scheduler.serve(
                clock, costs.scheduler / 2 + group.reports * costs.scheduler_report
            )
            heappush(events, (end, number, "answered"))
        elif what == "answered":
            idle += 1
            end = driver.serve(
                clock, costs.driver / 2 + group.reports * costs.driver_report
            )
            heappush(events, (end, number, "done"))
        else:
            back += 1
            give(clock)
        while idle and waiting:
            idle -= 1
            next_group = groups[waiting[0]]
            end = clock + costs.trip + costs.start + next_group.seconds
            work += costs.start + next_group.seconds + next_group.runs * costs.record
            # Whichever is slower: the file system may be busy with the records of others.
            written = files.serve(end, next_group.runs * costs.file)
            end = max(end + next_group.runs * costs.record, written)
            heappush(events, (end, waiting.popleft(), "written"))
    busy = {
        "driver": driver.busy,
        "scheduler": scheduler.busy,
        "file system": files.busy,
        "workers": work / workers,
    }
    # Without costs and work nothing takes time.
    if not clock:
        return Forecast(clock, 1.0, {})
    efficiency = sum(group.seconds for group in groups) / (clock * workers)
    shares = {part: time / clock for part, time in busy.items()}
    return Forecast(clock, efficiency, shares)
