"""``olscale learners``."""

import inspect
from typing import Any

import click

from olscale.cli.command import Group, find_modules_here
from olscale.cli.say import say
from olscale.cli.say import show as print_lines
from olscale.task import TASKS


@click.group(cls=Group, short_help="List and describe learners, check one of your own.")
def learners() -> None:
    """List and describe learners, check one of your own."""


@learners.command("list")
@click.option("--task", type=click.Choice(TASKS), help="Only learners of this task.")
def list_(task: str | None) -> None:
    """List the registered learners by task: classification, regression or novelty detection.

    Marks show which of them are not strictly online.
    """
    from olscale.errors import OlscaleError
    from olscale.learners.registry import learner_class, learner_names

    names = learner_names()
    width = max(map(len, names))
    groups: dict[str, list[str]] = {task_name: [] for task_name in TASKS}
    for name in names:
        kind = None
        try:
            kind = learner_class(name)
            summary = (inspect.getdoc(kind) or "").partition("\n")[0].replace("`", "")
        except OlscaleError as error:
            # one broken package must not hide all other learners
            summary = f"({error})"
        line = f"{name:<{width}} {_sign(name, kind)} {summary}"
        # A learner whose package is missing has no class to ask, and is listed all the
        # same.
        groups[getattr(kind, "task", "classification")].append(line)
    shown = {
        task_name: lines
        for task_name, lines in groups.items()
        if lines and task in (task_name, None)
    }
    for number, (task_name, lines) in enumerate(shown.items()):
        if number:
            say()
        if not task:
            say(f"{task_name}:")
        for line in lines:
            say(line)
    say()
    say(
        "^ looks ahead with its defaults, (^) with some parameters: it sees rows before they are "
        "predicted."
    )
    say("r is a batch reference, not a one-pass learner: it keeps all rows.")


def _sign(name: str, learner: Any) -> str:
    """Return the mark of a learner that is not, or may not be, strictly online."""
    from olscale.learners.contract.capability import LooksAhead, looks_ahead
    from olscale.learners.foresight import REFERENCES

    if name in REFERENCES:
        return " r "
    if not (inspect.isclass(learner) and issubclass(learner, LooksAhead)):
        return "   "
    try:
        items = looks_ahead(learner())
    except Exception:
        # a class of another package: `learners check` says what is wrong with it
        return "   "
    if items:
        return " ^ "
    return "(^)"


@learners.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the update rule, parameters, cost and source of learner NAME."""
    from olscale.learners.contract.version import learner_version, source_note
    from olscale.learners.registry import is_learner, learner_class, learner_path

    find_modules_here()
    kind = learner_class(name)
    path = learner_path(name)
    made_of = kind
    # A name may be that of an estimator, an object, which has no name of its own.
    if not (inspect.isclass(kind) or inspect.isfunction(kind)):
        made_of = type(kind)
    say(f"{name} ({made_of.__module__}:{made_of.__qualname__})")
    print_lines(f"\n{inspect.getdoc(made_of) or 'no description'}\n")
    if not is_learner(kind):
        _show_arguments(kind)
    elif not kind.declared and (params := kind().get_params()):
        # Declared parameters are in the docstring.
        print_lines("\nDefaults and domains\n--------------------\n")
        for parameter, value in sorted(params.items()):
            say(f"{parameter} = {value!r}: {kind.domains[parameter]}")
    if made_of.__module__.partition(".")[0] != "olscale":
        print_lines("\n")
        say(
            f"Version {learner_version(path, kind)}, which is part of the id of its runs, as the "
            "parameters are."
        )
        if note := source_note(path, kind):
            say(note)


def _show_arguments(learner: Any) -> None:
    print_lines("\nParameters and defaults\n-----------------------\n")
    if not callable(learner):
        say(repr(learner))
        return
    try:
        arguments = list(inspect.signature(learner).parameters.values())
    except (TypeError, ValueError):  # of classes written in C
        arguments = []
    for argument in arguments:
        is_required = argument.default is argument.empty and argument.kind not in (
            argument.VAR_KEYWORD,
            argument.VAR_POSITIONAL,
        )
        if is_required:
            say(f"{argument.name} (required)")
        else:
            say(str(argument.replace(annotation=argument.empty)))
    if not arguments:
        say("none")


@learners.command(short_help="Check MODULE:CLASS or NAME.")
@click.argument("target", metavar="MODULE:CLASS")
def check(target: str) -> None:
    """Check a learner of your own, MODULE:CLASS or MODULE:CLASS:param=value, or a registered name.

    A subclass of olscale.learners.Learner is checked against the learner contract, a scikit-learn
    or River estimator for what an evaluation relies on: it can be cloned, learns, predicts its
    task, is deterministic, also in another process, does not modify rows, and does not continue
    with non-finite numbers.
    """
    from olscale.cli.evaluate import parse_learner
    from olscale.errors import OlscaleError
    from olscale.learners.registry import is_learner, learner_class, make_learner
    from olscale.system.interrupts import text_of
    from olscale.testing import foreign_checks, learner_checks

    find_modules_here()
    parsed = parse_learner(target)
    name = parsed["name"]
    params = parsed["params"]
    kind = learner_class(name)
    if is_learner(kind):
        make_learner(name, params)  # names an optional package that is missing
        if params:
            raise OlscaleError(
                f"{name} is checked with its defaults; leave its parameters out"
            )
        checks = learner_checks(kind)
        what = "the learner contract"
    else:
        checks = foreign_checks(name, params)
        what = "what an evaluation relies on"
    failed = 0
    reasons = set[str]()
    for title, run in checks:
        try:
            run()
        except Exception as error:
            failed += 1
            reason = text_of(error).removeprefix("AssertionError: ")
            # One fault of a constructor fails every check with the same long line.
            if reason in reasons:
                say(f"FAILED  {title}: as above")
            else:
                say(f"FAILED  {title}: {reason}")
            reasons.add(reason)
        else:
            say(f"passed  {title}")
    if failed:
        raise OlscaleError(f"{name} fails {failed} of {len(checks)} checks of {what}")
