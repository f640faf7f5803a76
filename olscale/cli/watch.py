"""Running evaluations of a store in a terminal, redrawn as they change, or printed twice."""

import sys
from time import sleep

from olscale.cli.say import show

_EVERY_SECONDS = 2.0


def watch_store(path: str) -> None:
    """Show the evaluations of a store until none is running.

    If the output is no terminal, show them only at the start and at the end.
    """
    from rich.console import Console, Group
    from rich.live import Live

    from olscale.cli.live_screen import live_screen
    from olscale.report.live_text import live_text
    from olscale.results.live import LiveEvaluation, going_on
    from olscale.results.live_reader import LiveReader
    from olscale.results.opening import open_store

    reader = LiveReader(open_store(path))

    def look() -> tuple[list[LiveEvaluation], bool]:
        shown = going_on(reader.read())
        return shown, any(evaluation.state() == "running" for evaluation in shown)

    shown, goes_on = look()
    if not sys.stdout.isatty():
        show(live_text(shown))
        while goes_on:
            sleep(_EVERY_SECONDS)
            shown, goes_on = look()
            if not goes_on:
                # What goes to a file is read later: states in between would only repeat
                # each other.
                show(live_text(shown))
        return
    console = Console()

    def screen() -> Group:
        # The terminal may have another size by now.
        return live_screen(shown, console.width, console.height - 1)

    with Live(
        screen(), console=console, auto_refresh=False, vertical_overflow="crop"
    ) as live:
        while goes_on:
            sleep(_EVERY_SECONDS)
            shown, goes_on = look()
            live.update(screen(), refresh=True)
