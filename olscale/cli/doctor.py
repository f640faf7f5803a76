"""``olscale doctor``."""

import click

from olscale.cli.say import say
from olscale.errors import ExecutionError


@click.command()
def doctor() -> None:
    """Look whether olscale can work here: versions, memory, folders, machine code, workers.

    A line for each; exit code 1 where an evaluation would fail, with what to do.
    """
    from olscale.execution.doctor import CHECKS, examine

    width = max(map(len, CHECKS))
    wrong = []
    for finding in examine():
        say(f"{'ok   ' if finding.fine else 'FAULT'}  {finding.name:<{width}}  {finding.says}")
        if not finding.fine:
            wrong.append(finding.name)
    if wrong:
        raise ExecutionError(f"olscale cannot work here as it should: {', '.join(wrong)}")
