"""``olscale warm``."""

from __future__ import annotations

import click

from olscale.cli.say import say


@click.command()
@click.argument("learners", metavar="[LEARNER]...", nargs=-1)
@click.option(
    "--for-wheel",
    is_flag=True,
    help="Compile the machine code that a wheel ships, for all processors of its level.",
)
def warm(learners: tuple[str, ...], for_wheel: bool) -> None:
    """Compile the loops of LEARNERs (default: all) ahead of time.

    For container images and cluster nodes: the first evaluation then compiles nothing. The machine
    code goes to numba's cache, in the folder NUMBA_CACHE_DIR if that is set.
    """
    from olscale.compiled.code_files import FOLDER, LEVEL
    from olscale.execution.warm import ship
    from olscale.execution.warm import warm as compile_ahead

    if for_wheel:
        files = ship(learners)
        say(f"machine code for {LEVEL} in {FOLDER}: {files} files")
    else:
        say(f"machine code is ready for {', '.join(compile_ahead(learners))}")
