"""Evaluations in a background thread, so that a notebook can run its next cells."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from olscale.execution.evaluation import Evaluation
from olscale.execution.shutdown import Stop


class Background:
    """A running evaluation, as returned by `olscale.evaluate` with ``background=True``.

    Parameters
    ----------
    call : callable
        Takes an object that can request a stop, evaluates, and returns the evaluation.
    view : optional
        View that displays it in a notebook: a `LiveView`.

    Attributes
    ----------
    view : LiveView or None
        The view that displays it.
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
        finally:  # before waiting threads continue, so that the view shows the end
            if self.view is not None:
                self.view.stop()

    @property
    def running(self) -> bool:
        """Whether the evaluation is running."""
        return not self._future.done()

    def wait(self, seconds: float | None = None) -> Evaluation:
        """Wait for the end and return the evaluation; re-raise its exception, if any.

        Raises
        ------
        TimeoutError
            If the evaluation still runs after so many seconds.
        """
        return self._future.result(seconds)

    def stop(self) -> None:
        """Ask the evaluation to save its work and to stop.

        `wait` then raises `StoppedError`, and repeating the call continues the evaluation.
        """
        self._stop.ask()

    def __repr__(self) -> str:
        if self.running:
            return "an evaluation that goes on; wait() for its end"
        error: Any = self._future.exception()
        return f"an evaluation that has ended: {error or self._future.result()}"
