"""``olscale learners``."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click

from olscale.cli.group import Group
from olscale.cli.say import say
from olscale.cli.say import show as print_lines

__all__ = ["find_modules_here", "learners"]


@click.group(cls=Group, short_help="List and describe learners, check one of your own.")
def learners() -> None:
    """List and describe learners, check one of your own."""


@learners.command("list")
def list_() -> None:
    """List the registered learners."""
    from olscale.learners.registry import learner_class, learner_names

    names = learner_names()
    width = max(map(len, names))
    for name in names:
        summary = (inspect.getdoc(learner_class(name)) or "").partition("\n")[0].replace("`", "")
        say(f"{name:<{width}}  {summary}")


@learners.command()
@click.argument("name")
def show(name: str) -> None:
    """Describe learner NAME: its update, parameters, cost and source."""
    from olscale.learners.base import Learner
    from olscale.learners.registry import learner_class

    find_modules_here()
    found = learner_class(name)
    say(f"{name} ({found.__module__}:{found.__qualname__})")
    print_lines(f"\n{inspect.getdoc(found) or 'no description'}\n")
    if issubclass(found, Learner):
        print_lines("\nDefaults and domains\n--------------------\n")
        for parameter, value in sorted(found().get_params().items()):
            say(f"{parameter} = {value!r}: {found.domains[parameter]}")


@learners.command(short_help="Check the contract of MODULE:CLASS or NAME.")
@click.argument("target", metavar="MODULE:CLASS")
def check(target: str) -> None:
    """Check that MODULE:CLASS (or a registered name) keeps the learner contract."""
    from olscale.errors import OlscaleError
    from olscale.learners.base import Learner
    from olscale.learners.registry import learner_class, make_learner
    from olscale.testing import learner_checks

    find_modules_here()
    found = learner_class(target)
    if not issubclass(found, Learner):
        make_learner(target, {})  # says what is missing
        raise OlscaleError(
            f"{target} is no subclass of olscale.learners.base.Learner, so the contract's checks do not apply; "
            "`olscale evaluate` can run it all the same, row by row, from the first row after a loss"
        )
    failed = 0
    for name, run in learner_checks(found):
        try:
            run()
        except Exception as error:
            failed += 1
            say(f"FAILED  {name}: {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
        else:
            say(f"passed  {name}")
    if failed:
        raise OlscaleError(f"{target} fails {failed} checks of the learner contract")


def find_modules_here() -> None:
    """Let ``module:Class`` name a module in the working directory, as ``python -m`` does."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
