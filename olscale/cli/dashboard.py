"""``olscale dashboard``."""

import click

from olscale.cli.command import collect_as_usual
from olscale.cli.say import say


@click.command()
@click.argument("stores", nargs=-1, required=True, metavar="STORE...")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port; a free one when left out.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; others may read all results.",
)
@click.option(
    "--prefix",
    default="",
    metavar="PATH",
    help="Path under which a proxy passes requests on.",
)
def dashboard(stores: tuple[str, ...], port: int, host: str, prefix: str) -> None:
    """Show running evaluations, results and reports of the metrics stores STORE... on a page.

    It only reads. Ctrl-C ends it.

    A folder of nights (`olscale jobs`) stands for its page and for the store of its last night,
    also when another night has come. Also for evaluations of other processes and machines, as long
    as the store can be read here. A page of a store that does not exist yet waits for it.
    """
    import asyncio
    from collections.abc import Callable
    from contextlib import suppress
    from functools import partial
    from pathlib import Path

    from olscale.errors import StoreError
    from olscale.jobs.home import JobHome
    from olscale.report.dashboard_server import serve
    from olscale.results.opening import open_store
    from olscale.results.store import Store

    def latest_of(home: JobHome) -> Store:
        return open_store(home.latest_store() or home.path)

    def store_or(waiting: Store, path: str) -> Store:
        try:
            return open_store(path)
        except StoreError:
            return waiting

    names: dict[int, str] = {}
    pages: list[Path] = []
    opened: list[Store] = []
    latest: dict[int, Callable[[], Store]] = {}
    for store in stores:
        # The same word may name a folder of nights or a store; a store has neither
        # history nor nights.
        home = JobHome(Path(store).absolute())
        if home.history.is_dir() or home.nights():
            pages.append(home.path / "page" / "index.html")
            if home.latest_store():
                # Looked up at each request, since a night that comes has a store of its
                # own.
                latest[len(opened)] = partial(latest_of, home)
                opened.append(latest_of(home))
        elif "://" in store or Path(store).exists():
            opened.append(open_store(store))
        else:
            # Nothing is made in its place: an empty store in the memory is shown meanwhile.
            waiting = open_store(
                f"memory://olscale-dashboard-{len(opened)}", create=True
            )
            names[len(opened)] = store
            latest[len(opened)] = partial(store_or, waiting, store)
            opened.append(waiting)

    def ready(url: str) -> None:
        say(f"olscale dashboard: {url} (Ctrl-C ends it)")

    collect_as_usual()
    with suppress(KeyboardInterrupt):
        asyncio.run(
            serve(
                opened,
                port,
                host,
                prefix,
                None,
                ready,
                pages=pages,
                latest=latest,
                names=names,
            )
        )
