"""``olscale learners``."""

from __future__ import annotations

import inspect

import click

__all__ = ["learners"]


@click.group(short_help="List and describe learners, check one of your own.")
def learners() -> None:
    """List and describe learners, check one of your own."""


@learners.command("list")
def list_() -> None:
    """List the registered learners."""
    from olscale.learners.registry import learner_class, learner_names

    names = learner_names()
    width = max(map(len, names))
    for name in names:
        summary = (inspect.getdoc(learner_class(name)) or "").partition("\n")[0]
        click.echo(f"{name:<{width}}  {summary}")


@learners.command()
@click.argument("name")
def show(name: str) -> None:
    """Describe learner NAME: its update, parameters, cost and source."""
    from olscale.learners.base import Learner
    from olscale.learners.registry import learner_class

    found = learner_class(name)
    click.echo(f"{name} ({found.__module__}:{found.__qualname__})\n")
    click.echo(inspect.getdoc(found) or "no description")
    if issubclass(found, Learner):
        click.echo("\nDefaults and domains\n--------------------")
        for parameter, value in sorted(found().get_params().items()):
            click.echo(f"{parameter} = {value!r}: {found.domains[parameter]}")


@learners.command()
@click.argument("target", metavar="MODULE:CLASS")
def check(target: str) -> None:
    """Check that MODULE:CLASS (or a registered name) keeps the learner contract."""
    from olscale.errors import OlscaleError
    from olscale.learners.registry import learner_class
    from olscale.testing import learner_checks

    found = learner_class(target)
    failed = 0
    for name, run in learner_checks(found):
        try:
            run()
        except Exception as error:
            failed += 1
            click.echo(f"FAILED  {name}: {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
        else:
            click.echo(f"passed  {name}")
    if failed:
        raise OlscaleError(f"{target} fails {failed} checks of the learner contract")
