"""Watch evaluations from a notebook or a terminal, in a view updated from the journals.

No widget, port or address: the view is one display of the cell, HTML with pictures as SVG and text
besides, changed by its id. The last state stays in the saved notebook, and a view that was
closed is simply opened again.
"""

from __future__ import annotations

import os
import sys
from threading import Event, Thread
from typing import Any, Self

from olscale.errors import StoreError
from olscale.report.live_html import live_html
from olscale.report.live_text import live_text
from olscale.results.live import LiveEvaluation, going_on
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store
from olscale.results.store import Store

_EVERY_SECONDS = 1.0


class LiveView:
    """A view of a store's running evaluations; a notebook displays it, elsewhere it is text.

    Parameters
    ----------
    store : Store or path
        Metrics store, which need not exist yet.
    only : str, optional
        Show only this journal, and end with it; by default the newest ones.

    Examples
    --------
    >>> print(LiveView(open_store("memory://doctest-watch", create=True)))
    no evaluation is running
    """

    def __init__(self, store: Store | str | os.PathLike[str], only: str = "") -> None:
        self._store = store
        self._only = only
        self._reader: LiveReader | None = None
        self._ended = Event()
        self._thread: Thread | None = None
        self._display: Any = None
        self._shown: tuple[Any, ...] = ()

    def start(self) -> Self:
        """Show the view in the running cell, and update it until the cell ends or is stopped."""
        from IPython import display

        self._display = display.display(self, display_id=True)  # type: ignore[no-untyped-call]
        self._thread = Thread(target=self._follow, daemon=True, name="olscale-watch")
        self._thread.start()
        return self

    def stop(self) -> None:
        """Update the view once more, and leave it in that state."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def evaluations(self) -> list[LiveEvaluation]:
        """Return the evaluations shown: those that are running, or else the newest."""
        try:
            store = (
                self._store
                if isinstance(self._store, Store)
                else open_store(self._store)
            )
        except StoreError:  # the store does not exist yet
            return []
        self._reader = self._reader or LiveReader(store)
        evaluations = self._reader.read()
        if self._only:
            return [
                evaluation for evaluation in evaluations if evaluation.id == self._only
            ]
        return going_on(evaluations)

    def _follow(self) -> None:
        while True:
            over = self._ended.wait(_EVERY_SECONDS)
            shown = self.evaluations()
            # Update only after changes, since each update sends the whole view.
            state = tuple(
                (evaluation.id, evaluation.heard, evaluation.state())
                for evaluation in shown
            )
            if state != self._shown or over:
                self._shown = state
                self._display.update(self)
            if over or (self._only and shown and shown[0].end):
                return

    def __repr__(self) -> str:
        return live_text(self.evaluations()).rstrip()

    def _repr_html_(self) -> str:
        return live_html(self.evaluations())


class NoView:
    """A stand-in for a `LiveView` where nothing is displayed."""

    def stop(self) -> None:
        """Do nothing."""


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook, for any front end."""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def show(store: Store | str | os.PathLike[str], journal: str = "") -> LiveView | NoView:
    """Return a view of one evaluation, or of future ones, which displays itself in a notebook."""
    return LiveView(store, journal).start() if in_notebook() else NoView()


def watch(store: Store | str | os.PathLike[str]) -> LiveView:
    """Return a live view of a store's evaluations, from any process and machine, also past ones.

    In a notebook the view is shown and kept up to date while the kernel is free for other cells;
    elsewhere the returned view prints its current state as text.

    Parameters
    ----------
    store : Store or path
        Metrics store.

    Returns
    -------
    LiveView
        ``stop()`` leaves the view as it is.

    Raises
    ------
    StoreError
        If there is no such store.

    Examples
    --------
    >>> _ = open_store("memory://doctest-watching", create=True)
    >>> watch("memory://doctest-watching")
    no evaluation is running
    """
    view = LiveView(store if isinstance(store, Store) else open_store(store))
    return view.start() if in_notebook() else view
