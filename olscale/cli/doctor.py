"""``olscale doctor``."""

import click

from olscale.cli.say import say
from olscale.errors import ExecutionError


@click.command()
def doctor() -> None:
    """Check the installation: versions, memory, folders, machine code, workers.

    Prints one line per check; exits with 1 if an evaluation would fail, and suggests a fix.
    """
    from olscale.execution.doctor import CHECKS, examine

    width = max(map(len, CHECKS))
    failed = []
    # Printed one by one: the check of workers takes seconds.
    for finding in examine():
        mark = "ok"
        if not finding.fine:
            mark = "FAULT"
            failed.append(finding.name)
        say(f"{mark:<5}  {finding.name:<{width}}  {finding.says}")
    if failed:
        raise ExecutionError(
            f"olscale does not work here as it should: {', '.join(failed)}"
        )
