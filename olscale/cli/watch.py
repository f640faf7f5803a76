"""Running evaluations of a store in a terminal, redrawn as they change, or printed twice."""

import sys
from time import sleep

from olscale.cli.say import show

_EVERY_SECONDS = 2.0


def watch_store(path: str) -> None:
    """Show the evaluations of a store until none is running.

    If the output is no terminal, show them only at the start and at the end.
    """
    from rich.live import Live
    from rich.text import Text

    from olscale.report.live_text import live_text
    from olscale.results.live import going_on
    from olscale.results.live_reader import LiveReader
    from olscale.results.store import open_store

    reader = LiveReader(open_store(path))

    def look() -> tuple[str, bool]:
        shown = going_on(reader.read())
        return live_text(shown), any(evaluation.state() == "running" for evaluation in shown)

    text, goes_on = look()
    if not sys.stdout.isatty():
        show(text)
        while goes_on:
            sleep(_EVERY_SECONDS)
            text, goes_on = look()
            if not goes_on:
                show(text)
        return
    with Live(Text(text.rstrip()), auto_refresh=False, vertical_overflow="crop") as live:
        while goes_on:
            sleep(_EVERY_SECONDS)
            text, goes_on = look()
            live.update(Text(text.rstrip()), refresh=True)
