"""What goes on in a store, in a terminal: drawn again while it changes, or printed once and at the end."""

import sys
from time import sleep

import click

from olscale.cli.say import show

_EVERY_SECONDS = 2.0


def watch_store(path: str) -> None:
    """Show the evaluations of a store until none goes on; where the output is no terminal, at the start and at the end."""
    from olscale.report.live_text import live_text
    from olscale.results.live import LiveReader, going_on
    from olscale.results.store import open_store

    reader, terminal = LiveReader(open_store(path)), sys.stdout.isatty()
    text = ""
    while True:
        shown = going_on(reader.read())
        goes_on = any(evaluation.state() == "running" for evaluation in shown)
        if terminal or not text or not goes_on:
            before, text = text, live_text(shown)
            if terminal and before:
                # As many lines up as were printed: what stood above them stays.
                click.echo(f"\x1b[{before.count(chr(10))}F\x1b[0J", nl=False)
            show(text)
        if not goes_on:
            return
        sleep(_EVERY_SECONDS)
