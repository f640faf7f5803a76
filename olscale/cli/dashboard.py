"""``olscale dashboard``."""

import click

from olscale.cli.say import say


@click.command()
@click.argument("stores", nargs=-1, required=True, metavar="STORE...")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port; a free one when left out.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; others may read all results."
)
@click.option("--prefix", default="", metavar="PATH", help="Path under which a proxy passes requests on.")
def dashboard(stores: tuple[str, ...], port: int, host: str, prefix: str) -> None:
    """Show the metrics stores STORE... on a page: what goes on now, results, and the report. Reads only; Ctrl-C ends it.

    Also for evaluations of other processes and machines, as long as the store can be read here.
    """
    import asyncio
    from contextlib import suppress

    from olscale.report.dashboard import serve
    from olscale.results.store import open_store

    opened = [open_store(store) for store in stores]
    with suppress(KeyboardInterrupt):
        asyncio.run(
            serve(opened, port, host, prefix, ready=lambda url: say(f"olscale dashboard: {url} (Ctrl-C ends it)"))
        )
