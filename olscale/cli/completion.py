"""``olscale completion``, and the names that a shell completes.

Commands and options are completed by click; here are the values: learners and their parameters,
datasets, metrics, transforms, stores, formats, papers. A word that cannot be completed by any of
these is a path, which shells complete themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from olscale.cli.say import say

_VARIABLE = "_OLSCALE_COMPLETE"
_NAME = "olscale"

Complete = Callable[[str], Iterable[str]]
"""Returns the words that an unfinished one may become."""


def _learners(word: str) -> Iterable[str]:
    """Return names of learners, or of parameters behind ``NAME:``."""
    from olscale.learners.registry import learner_class, learner_names

    name, colon, rest = word.partition(":")
    if not colon:
        return learner_names()
    # A learner of the user's own would have to be imported, which runs code at a press
    # of the tab key.
    if name not in learner_names():
        return []
    # Shells replace the whole word, so each proposal repeats what is complete of it.
    settled, comma, _ = rest.rpartition(",")
    used = {pair.partition("=")[0] for pair in settled.split(",")}
    begun = f"{name}:{settled}{comma}"
    return [
        f"{begun}{key}="
        for key in sorted(learner_class(name).domains)
        if key not in used
    ]


def _metrics(word: str) -> Iterable[str]:
    """Return names of measures, the last of several with commas between them."""
    from olscale.measures import MEASURES

    begun, comma, _ = word.rpartition(",")
    used = begun.split(",")
    return [f"{begun}{comma}{name}" for name in MEASURES if name not in used]


def _transforms(word: str) -> Iterable[str]:
    """Return names of transforms, the last of several with commas between them."""
    from olscale.data.transforms.pipeline import TRANSFORMS

    begun, comma, _ = word.rpartition(",")
    return [f"{begun}{comma}{name}" for name in TRANSFORMS]


def _formats(word: str) -> Iterable[str]:
    from olscale.data.formats import FORMATS

    del word
    return list(FORMATS)


def _papers(word: str) -> Iterable[str]:
    from olscale.report.papers import PAPERS

    del word
    return list(PAPERS)


def _catalogue(word: str) -> Iterable[str]:
    from olscale.data.catalogue.entries import catalogue

    del word
    return list(catalogue())


def _folders_with(file: str) -> Complete:
    def complete(word: str) -> Iterable[str]:
        """Return folders that hold `file`, and those on the way to them."""
        parent, _, begun = word.rpartition("/")
        root = Path(f"{parent}/" if "/" in word else ".")
        names = []
        # A store may lie deeper: folders on the way get a slash, and the next press
        # looks into them.
        for folder in sorted(root.glob("*/")) if root.is_dir() else []:
            is_hidden = folder.name.startswith(".") and not begun.startswith(".")
            if is_hidden or not folder.is_dir():
                continue
            text = f"{parent}/{folder.name}" if "/" in word else folder.name
            names.append(text if (folder / file).is_file() else f"{text}/")
        return names

    return complete


_stores = _folders_with("store.json")
_datasets = _folders_with("manifest.json")

# By the names of parameters, which mean the same in all commands: a new option is
# completed without a line here.
_BY_PARAMETER: dict[str, Complete] = {
    "learners": _learners,
    "learner": _learners,
    "baseline": _learners,
    "metrics": _metrics,
    "metric": _metrics,
    "measures": _metrics,
    "curve": _metrics,
    "transforms": _transforms,
    "transform": _transforms,
    "format": _formats,
    "paper": _papers,
    "dataset": _datasets,
    "datasets": _datasets,
    "like": _datasets,
    "store": _stores,
    "stores": _stores,
}
_OF_COMMAND: dict[tuple[str, str], Complete] = {
    ("learners show", "name"): _learners,
    ("datasets fetch", "name"): _catalogue,
    ("reproduce", "names"): _papers,
    ("store diff", "a"): _stores,
    ("store diff", "b"): _stores,
    ("store merge", "a"): _stores,
    ("store merge", "b"): _stores,
}
"""Parameters whose name alone does not say what they are."""


def complete_values(command: click.Command, path: str) -> None:
    """Let the parameters of a command complete their values; `path` is how it is called."""
    called = path.removeprefix(f"{_NAME} ")
    for parameter in command.params:
        name = parameter.name or ""
        complete = _OF_COMMAND.get((called, name), _BY_PARAMETER.get(name))
        # A choice completes its values itself.
        if complete is not None and not isinstance(parameter.type, click.Choice):
            # click wants this at the declaration of a parameter, where every command
            # would have to import the completion.
            parameter._custom_shell_complete = _as_click_wants(complete)


def _as_click_wants(
    complete: Complete,
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def items(
        context: click.Context, parameter: click.Parameter, word: str
    ) -> list[CompletionItem]:
        del context, parameter
        # Shells take each line for a word, so a name with a newline cannot be completed.
        return [
            CompletionItem(text)
            for text in complete(word)
            if text.startswith(word) and text.isprintable()
        ]

    return items


_MORE_OF_BASH = """
_olscale_open_ended() {
    _olscale_completion "$@"
    # More follows behind a folder and behind the name of a parameter.
    [[ ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o nosort -F _olscale_open_ended olscale
# The colon of LEARNER:PARAMETER begins no new word.
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
"""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that lets SHELL complete commands, options and names.

    Names are those of learners and their parameters, datasets, metrics, transforms and stores.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click knows all three
    # The command is a stand-in: the script calls olscale itself for its proposals.
    completer = kind(click.Command(_NAME), {}, _NAME, _VARIABLE)
    # `source()` would also ask which bash this machine has.
    script = completer.source_template % completer.source_vars()
    if shell == "bash":
        script += _MORE_OF_BASH
    for line in script.strip().splitlines():
        say(line)
