"""What commands share: groups that help, modules of the working directory, and when to collect.

Garbage is collected neither while a command imports nor at its end: a collection inspects every
object, and imported ones stay until the end. Of a command that evaluates one tiny run, inspecting
them took a quarter of the time.
"""

import atexit
import gc
import sys

import click

from olscale.cli.help_texts import EXAMPLES, GROUPS
from olscale.errors import UnknownNameError


class Group(click.Group):
    """A group whose usage errors help: exit code 2, and a correction on standard error."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, with its examples at the end of its help."""
        command = super().get_command(ctx, cmd_name)
        path = f"{ctx.command_path} {cmd_name}"
        # Only a shell that completes a word parses without running anything.
        if command is not None and ctx.resilient_parsing:
            from olscale.cli.completion import complete_values

            complete_values(command, path)
        return with_examples(command, path)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the help if no command is given."""
        # Shell completion parses without arguments, too.
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the one that was probably meant."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            ctx.fail(str(UnknownNameError("command", args[0], names)))
        return super().resolve_command(ctx, args)


def with_examples(command: click.Command | None, path: str) -> click.Command | None:
    """Return a command whose help ends with examples; `path` is how it is called."""
    examples = EXAMPLES.get(path, ())
    if command is not None and examples and "Examples:" not in (command.epilog or ""):
        lines = "\n".join(f"  {example}" for example in examples)
        # Without the sign click would fill the lines up, and they could not be copied.
        command.epilog = f"{command.epilog or ''}\n\n\b\nExamples:\n{lines}".strip("\n")
    return command


class GroupedCommand(click.Command):
    """A command of many options, which stand in its help under headings."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options group by group; those without a group come last."""
        records = {
            parameter.opts[-1]: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        }
        for heading, names in GROUPS[ctx.command_path].items():
            rows = [records.pop(name) for name in names if name in records]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        if records:
            with formatter.section("More"):
                # An option outside all groups is still shown.
                formatter.write_dl(list(records.values()))


class Respelled(click.Option):
    """An option under its present spelling, which help shows, and its older ones, which work."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help, with the first spelling alone."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        spellings, text = record
        # What stands behind the last space is the metavar.
        return f"{self.opts[0]} {spellings.rpartition(' ')[2]}", text


def find_modules_here() -> None:
    """Let ``module:Class`` name a module in the working directory, as ``python -m`` does."""
    from pathlib import Path  # `olscale --help` needs none of it

    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        # Last, so that a file here called like a package hides no package.
        sys.path.append(str(Path.cwd()))


_OBJECTS = 200_000
"""More objects than the largest command imports; with more than these, garbage is collected."""

_COUNTED = ("duckdb", "jaxlib")
"""Packages that report objects not freed at the end as leaks."""

_usual: tuple[int, int, int] | None = None


def put_off() -> None:
    """Begin a command: collect nothing until `collect_as_usual`, and free nothing at its end."""
    global _usual
    if _usual is None:
        # At exit the interpreter collects once more, whatever the threshold is.
        atexit.register(_end)
        _usual = gc.get_threshold()
        gc.set_threshold(_OBJECTS, *_usual[1:])


def collect_as_usual() -> None:
    """End the imports of a long command; objects present by now are no longer inspected."""
    global _usual
    if _usual is not None:
        # What is imported by now stays until the end: no later collection needs to inspect it.
        gc.freeze()
        gc.set_threshold(*_usual)
        _usual = None


def _end() -> None:
    """Leave all memory to the system, which frees it at once, unless a package counts leaks."""
    if sys.modules.keys().isdisjoint(_COUNTED):
        gc.freeze()
    else:
        # A last collection passes over frozen objects, which these packages would
        # report as leaks.
        gc.unfreeze()
