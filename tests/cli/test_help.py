"""Help that is found at once: two examples per command that exist as they stand, and groups of options."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest

from olscale.cli import olscale
from olscale.cli.help_texts import EXAMPLES, GROUPS
from tests.cli.command import run


def commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is no group, by how it is called."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from commands(command, inner)
        else:
            yield inner.command_path, command


COMMANDS = dict(commands(olscale, click.Context(olscale, info_name="olscale")))


def test_the_first_help_says_of_groups_what_their_own_says() -> None:
    context = click.Context(olscale, info_name="olscale")
    lines = run("--help").stdout.splitlines()
    for name in olscale.list_commands(context):
        group = olscale.get_command(context, name)
        if isinstance(group, click.Group):
            [line] = [line for line in lines if line.split()[:1] == [name]]
            assert line.split(maxsplit=1)[1] == group.get_short_help_str(limit=200)


def test_each_command_has_two_examples() -> None:
    assert COMMANDS.keys() == EXAMPLES.keys()
    assert {len(set(examples)) for examples in EXAMPLES.values()} == {2}


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_are_as_they_would_be_typed(path: str) -> None:
    """Their options exist, nothing that must be given is missing, and the help has them whole."""
    command = COMMANDS[path]
    help_text = run(*path.split()[1:], "--help").stdout
    for example in EXAMPLES[path]:
        assert f"    {example}\n" in help_text
        words = shlex.split(example.partition("olscale ")[2])
        given = words[len(path.split()) - 1 :]
        context = click.Context(command, info_name=path)
        values, left, _ = command.make_parser(context).parse_args(args=list(given))
        assert left == []
        missing = [
            p.name for p in command.params if p.required and not values.get(str(p.name))
        ]
        assert missing == []


@pytest.mark.parametrize("path", GROUPS)
def test_each_option_stands_in_one_group(path: str) -> None:
    grouped = [name for names in GROUPS[path].values() for name in names]
    assert len(set(grouped)) == len(grouped)
    options = {p.opts[-1] for p in COMMANDS[path].params if isinstance(p, click.Option)}
    assert options <= set(grouped)
    help_text = run(*path.split()[1:], "--help").stdout
    assert all(f"\n{heading}:\n" in help_text for heading in GROUPS[path])
    assert help_text.count("\n  --dry-run") == 1


@pytest.mark.parametrize(
    ("path", "older"),
    [
        ("olscale bench", "--json"),
        ("olscale models export", "--onnx"),
        ("olscale predict", "--to"),
        ("olscale reproduce", "--markdown"),
    ],
)
def test_what_a_command_writes_is_named_by_out_and_by_its_older_spelling(
    path: str, older: str
) -> None:
    command = COMMANDS[path]
    help_text = run(*path.split()[1:], "--help").stdout
    assert "\n  --out FILE" in help_text
    assert older not in help_text
    context = click.Context(command, info_name=path)
    by_spelling = [
        command.make_parser(context).parse_args(args=[spelling, "here"])[0]
        for spelling in ("--out", older)
    ]
    assert by_spelling[0] == by_spelling[1]
    assert "here" in by_spelling[0].values()
