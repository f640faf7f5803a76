"""Room on workers: which of them gets the next group. It is kept up to date, so that a thousand take no longer than two."""

from collections import Counter, defaultdict

ACTORS_A_WORKER = 1
TASKS_A_THREAD = 2
"""The second keeps a thread busy while the first result travels; more would be lost with a worker that dies."""


class Room:
    """Who has room for a task or an actor.

    Attributes
    ----------
    threads : dict of str to int
        Those of each worker that may get work; all of them together are `total`.
    waiting : int
        Tasks that wait for room.
    alone : set of str
        Workers that get no more than what they were chosen for.

    Examples
    --------
    >>> room = Room()
    >>> room.put("a", 1)
    >>> room.put("b", 1)
    >>> room.take("a", actor=False)
    >>> room.first(actor=False)
    'b'
    """

    def __init__(self) -> None:
        self.threads: dict[str, int] = {}
        self.total = self.waiting = 0
        self.alone: set[str] = set()
        self._tasks: Counter[str] = Counter()
        self._actors: Counter[str] = Counter()
        self._ahead = 1
        self._open = {False: _ByLoad(), True: _ByLoad()}

    def put(self, worker: str, threads: int) -> None:
        """Count on a worker."""
        self.total += threads - self.threads.get(worker, 0)
        self.threads[worker] = threads
        self._sort(worker)
        self.wait(0)

    def remove(self, worker: str) -> None:
        """Count on a worker no more."""
        self.total -= self.threads.pop(worker, 0)
        self._sort(worker)
        self.wait(0)

    def wait(self, more: int) -> None:
        """Have so many more tasks wait for room, or fewer."""
        self.waiting += more
        # Of the last ones none is handed out ahead: it would wait for the one before while other
        # threads have nothing.
        ahead = TASKS_A_THREAD if self.waiting > self.total else 1
        if ahead != self._ahead:
            self._ahead = ahead
            for worker in self.threads:
                self._sort(worker)

    def take(self, worker: str, actor: bool, count: int = 1) -> None:
        """Give a worker a task or an actor; take it away again with a `count` of -1."""
        (self._actors if actor else self._tasks)[worker] += count
        self._sort(worker)

    def keep_alone(self, worker: str, alone: bool = True) -> None:
        """Let a worker get nothing more, or let it again."""
        (self.alone.add if alone else self.alone.discard)(worker)
        self._sort(worker)

    def load(self, worker: str) -> int:
        """Return how much a worker has."""
        return self._actors[worker] + self._tasks[worker]

    def first(self, actor: bool) -> str | None:
        """Return the worker with least to do of those that have room, if one has."""
        return self._open[actor].first()

    def _sort(self, worker: str) -> None:
        load = self.load(worker)
        threads = self.threads.get(worker, 0) if worker not in self.alone else 0
        self._open[False].put(worker, load if self._tasks[worker] < self._ahead * threads else None)
        self._open[True].put(
            worker, load if threads and self._actors[worker] < ACTORS_A_WORKER else None
        )


class _ByLoad:
    """Workers by what they have to do; few loads differ, however many workers there are."""

    def __init__(self) -> None:
        self._loads: dict[str, int] = {}
        self._workers: defaultdict[int, dict[str, None]] = defaultdict(dict)

    def put(self, worker: str, load: int | None) -> None:
        """Say what a worker has to do; nothing takes it out."""
        before = self._loads.get(worker)
        if before == load:
            return
        if before is not None:
            del self._workers[before][worker], self._loads[worker]
        if load is not None:
            self._workers[load][worker] = None
            self._loads[worker] = load

    def first(self) -> str | None:
        least = min((load for load, workers in self._workers.items() if workers), default=None)
        return None if least is None else next(iter(self._workers[least]))
