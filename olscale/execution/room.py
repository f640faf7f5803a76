"""Room on workers: which one gets the next group. Updates keep this fast for a thousand workers."""

from collections import Counter, defaultdict

ACTORS_A_WORKER = 1
TASKS_A_THREAD = 2
"""Tasks per thread: the second one runs while the first result travels; a death would lose more."""


class Room:
    """Which workers have room for a task or an actor.

    Attributes
    ----------
    threads : dict of str to int
        Threads of each worker that may get work; their sum is `total`.
    waiting : int
        Tasks that are waiting for room.
    alone : set of str
        Workers that get no more than the work that they were chosen for.

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
        """Add a worker."""
        self.total += threads - self.threads.get(worker, 0)
        self.threads[worker] = threads
        self._sort(worker)
        self.wait(0)

    def remove(self, worker: str) -> None:
        """Remove a worker."""
        self.total -= self.threads.pop(worker, 0)
        self._sort(worker)
        self.wait(0)

    def wait(self, more: int) -> None:
        """Add `more` tasks that wait for room; a negative number removes them."""
        self.waiting += more
        # The last tasks are not handed out ahead: they would wait for the task before while other
        # threads are idle.
        per_thread = 1
        if self.waiting > self.total:
            per_thread = TASKS_A_THREAD
        if per_thread != self._ahead:
            self._ahead = per_thread
            for worker in self.threads:
                self._sort(worker)

    def take(self, worker: str, actor: bool, count: int = 1) -> None:
        """Give a worker a task or an actor; a `count` of -1 takes it away again."""
        (self._actors if actor else self._tasks)[worker] += count
        self._sort(worker)

    def keep_alone(self, worker: str, alone: bool = True) -> None:
        """Exclude a worker from further work, or include it again."""
        (self.alone.add if alone else self.alone.discard)(worker)
        self._sort(worker)

    def load(self, worker: str) -> int:
        """Return the load of a worker."""
        return self._actors[worker] + self._tasks[worker]

    def first(self, actor: bool) -> str | None:
        """Return the worker with room and the least load, or None."""
        return self._open[actor].first()

    def _sort(self, worker: str) -> None:
        load = self.load(worker)
        threads = 0
        if worker not in self.alone:
            threads = self.threads.get(worker, 0)
        self._open[False].put(worker, load if self._tasks[worker] < self._ahead * threads else None)
        self._open[True].put(
            worker, load if threads and self._actors[worker] < ACTORS_A_WORKER else None
        )


class _ByLoad:
    """Workers by load; loads take few values, no matter how many workers there are."""

    def __init__(self) -> None:
        self._loads: dict[str, int] = {}
        self._workers: defaultdict[int, dict[str, None]] = defaultdict(dict)

    def put(self, worker: str, load: int | None) -> None:
        """Set the load of a worker; None removes it."""
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
        if least is None:
            return None
        return next(iter(self._workers[least]))
