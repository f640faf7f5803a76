"""A page for each command of ``olscale``, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from docs.site.docstrings import literals, table
from olscale.cli import olscale as olscale_command


def command_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages: an overview, then one for each first-level command."""
    context = click.Context(olscale_command, info_name="olscale")
    rows = []
    for name in olscale_command.list_commands(context):
        command = _command(olscale_command, context, name)
        rows.append(
            (
                f"[`olscale {name}`]({name}.md)",
                literals(command.get_short_help_str(200)),
            )
        )
        text = "\n\n".join(_parts(command, click.Context(command, context, name), 1))
        yield f"reference/commands/{name}.md", text + "\n"
    overview = (
        "Every command has `--help`. Errors are one line and exit code 1, usage 2."
    )
    yield (
        "reference/commands/index.md",
        f"# Commands\n\n{overview}\n\n{table(('Command', 'What it does'), rows)}\n",
    )


def _command(group: click.Group, context: click.Context, name: str) -> click.Command:
    command = group.get_command(context, name)
    assert command is not None
    return command


def _parts(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}"
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"```text\n{' '.join(usage.split())}\n```"
    yield from _help(command)
    rows = [_row(option, context) for option in command.get_params(context)]
    options = [row for row in rows if row]
    if options:
        yield table(("Option", "Values", "Meaning"), options)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = _command(command, context, name)
            yield from _parts(inner, click.Context(inner, context, name), level + 1)


def _help(command: click.Command) -> Iterator[str]:
    r"""Yield paragraphs; what stands below ``\b`` keeps its lines."""
    for paragraph in re.split(r"\n{2,}", (command.help or "").strip()):
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n")
            yield f"```text\n{lines}\n```"
        else:
            yield literals(" ".join(paragraph.split()))


def _row(parameter: click.Parameter, context: click.Context) -> tuple[str, ...]:
    if not isinstance(parameter, click.Option) or parameter.hidden:
        return ()
    record = parameter.get_help_record(context)
    if record is None:
        return ()
    words, meaning = record
    values = parameter.make_metavar(context) if not parameter.is_flag else ""
    names = words.replace(f" {values}", "") if values else words
    return f"`{names}`", _choices(values), literals(meaning)


def _choices(values: str) -> str:
    """Return the values of an option: a word, or the words that it may be."""
    if not values:
        return ""
    return " ".join(f"`{word}`" for word in values.strip("[]").split("|"))
