"""An evaluation in a thread of its own, so that whoever started it can go on: a notebook with its next cells."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from olscale.execution.evaluation import Evaluation
from olscale.execution.shutdown import Stop


class Background:
    """An evaluation that goes on; `olscale.evaluate` returns it where it is asked for ``background=True``.

    Parameters
    ----------
    call : callable
        Takes what can ask it to stop, evaluates, and returns the evaluation.
    view : optional
        Shows it in a notebook: a `LiveView`.

    Attributes
    ----------
    view : LiveView or None
        What shows it.
    """

    def __init__(self, call: Callable[[Stop], Evaluation], view: Any = None) -> None:
        self.view = view
        self._stop = Stop()
        pool = ThreadPoolExecutor(1, thread_name_prefix="olscale-evaluate")
        self._future: Future[Evaluation] = pool.submit(self._run, call)
        pool.shutdown(wait=False)

    def _run(self, call: Callable[[Stop], Evaluation]) -> Evaluation:
        try:
            return call(self._stop)
        finally:  # before anybody who waits goes on: the view then shows the end
            if self.view is not None:
                self.view.stop()

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return not self._future.done()

    def wait(self, seconds: float | None = None) -> Evaluation:
        """Wait for the end and return what it did; what it raised is raised here.

        Raises
        ------
        TimeoutError
            If it goes on after so many seconds.
        """
        return self._future.result(seconds)

    def stop(self) -> None:
        """Ask it to save what it is at and to stop; `wait` then raises `StoppedError`, and the same call goes on with it."""
        self._stop.ask()

    def __repr__(self) -> str:
        if self.running:
            return "an evaluation that goes on; wait() for its end"
        error: Any = self._future.exception()
        return f"an evaluation that has ended: {error or self._future.result()}"
