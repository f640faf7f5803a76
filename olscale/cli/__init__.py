"""The ``olscale`` command.

Each command has its own module, named in `COMMANDS` and imported when it is called: asking
for help must not wait for NumPy. A user's mistake (`OlscaleError`) becomes one line on standard
error and exit code 1.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from types import FrameType
from typing import Any, NoReturn

import click

from olscale import __version__
from olscale.cli.command import Group, put_off, with_examples
from olscale.cli.say import say
from olscale.cli.streams import (
    discard_output,
    folder_is_gone,
    open_closed_streams,
    why_output_fails,
)
from olscale.errors import OlscaleError, StoppedError
from olscale.system.interrupts import UserInterrupt

__all__ = ["COMMANDS", "LazyGroup", "main", "olscale"]

COMMANDS = {
    "ingest": ("olscale.cli.ingest", "Convert source files to a chunked dataset."),
    "datasets": (
        "olscale.cli.datasets",
        "List, show, verify, export, fetch and generate datasets.",
    ),
    "learners": (
        "olscale.cli.learners",
        "List and describe learners, check one of your own.",
    ),
    "evaluate": (
        "olscale.cli.evaluate",
        "Evaluate learners on datasets; results go to a metrics store.",
    ),
    "reproduce": (
        "olscale.cli.reproduce",
        "Run a paper's experiments and compare its tables with ours.",
    ),
    "status": (
        "olscale.cli.results",
        "Show the contents of a metrics store and the progress of experiments.",
    ),
    "results": ("olscale.cli.results", "Print the results of a metrics store."),
    "compare": (
        "olscale.cli.compare",
        "Compare learners: ranks, significance tests, pairwise tables.",
    ),
    "report": (
        "olscale.cli.report",
        "Write a page with the tables and figures of a metrics store.",
    ),
    "dashboard": ("olscale.cli.dashboard", "Serve a live page of metrics stores."),
    "compact": (
        "olscale.cli.results",
        "Merge the many small files of a metrics store into a few large ones.",
    ),
    "models": ("olscale.cli.models", "Save, show and export the final models of runs."),
    "predict": ("olscale.cli.predict", "Predict rows with a saved model."),
    "store": ("olscale.cli.store", "Compare, merge and clear metrics stores."),
    "jobs": ("olscale.cli.jobs", "Run nightly benchmark jobs and report regressions."),
    "cluster": ("olscale.cli.cluster", "Print scripts and manifests for clusters."),
    "bench": ("olscale.cli.bench", "Run speed benchmarks, as ratios to peers."),
    "warm": ("olscale.cli.warm", "Compile the loops of learners ahead of time."),
    "doctor": (
        "olscale.cli.doctor",
        "Check the installation and suggest fixes.",
    ),
    "completion": (
        "olscale.cli.completion",
        "Print a script with which a shell completes commands and names.",
    ),
}
"""Command name -> the module with its click command, and its line in ``olscale --help``.

The lines stand here so that help imports no command.
"""


_WITHOUT_ALGEBRA = {"ingest", "datasets", "status", "results", "compact", "store"}
"""Commands that multiply no matrices.

OpenBLAS starts its threads when NumPy is imported, and each turns for a while before it sleeps: in
processor time half as much as importing NumPy takes.
"""


# No Exception: the `except Exception` around learners and files must not swallow the
# end of the process.
class _Ended(UserInterrupt):
    """A signal to end this process, or the end of its terminal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


# Shells have 128 + 2 for a program that Ctrl-C, signal 2, has ended.
INTERRUPTED = 130
CALL_AGAIN = 75

_NO_FOLDER = "the working folder no longer exists: change to another one (cd)"


class LazyGroup(Group):
    """The group of olscale's commands, and the one place where errors become exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which users need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module and return the command."""
        if cmd_name not in COMMANDS:
            return None
        # A command is called as the function in its module is: one entry in the table
        # says both.
        command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        path = f"{ctx.command_path} {cmd_name}"
        if ctx.resilient_parsing:
            # Only a shell that completes a word parses without running anything.
            from olscale.cli.completion import complete_values

            complete_values(command, path)
        return with_examples(command, path)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an empty word, which a shell makes of an unset variable.

        As a path it would be the working directory.
        """
        # With the word before it, so that the message can say which variable is empty.
        for before, word in pairwise([self.name or "olscale", *args]):
            if not word:
                ctx.fail(
                    f"the word after {before!r} is empty: a variable that is not set?"
                )
            if word.startswith("--") and word.endswith("="):
                ctx.fail(f"{word} has no value: a variable that is not set?")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an interrupt ends it here, before click adds lines of its own."""
        try:
            return super().invoke(ctx)
        except _Ended as ended:
            _fail(
                f"olscale: ended by {signal.Signals(ended.number).name}",
                128 + ended.number,
            )
        except KeyboardInterrupt as why:
            _fail(f"olscale: interrupted: {why}".removesuffix(": "), INTERRUPTED)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = "olscale",
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run and exit: 0 on success, 1 on failure, 2 on bad usage, 75 at the stop time.

        The code is 130 after Ctrl-C and 143 after SIGTERM.

        With ``standalone_mode=False`` exceptions reach the caller, as in click.
        """
        # Tests and programs that embed the group want the exception, not an exit code.
        if not standalone_mode:
            return super().main(
                args, prog_name, complete_var, standalone_mode=False, **extra
            )
        try:
            code = super().main(
                args, prog_name, complete_var, standalone_mode=False, **extra
            )
            sys.stdout.flush()  # here, where a broken pipe can still be handled
        except click.ClickException as usage:
            command = "olscale"
            if isinstance(usage, click.UsageError) and usage.ctx:
                command = usage.ctx.command_path
            _fail(
                f"{command}: error: {usage.format_message().removesuffix('.')} (see {command} "
                "--help)",
                usage.exit_code,
            )
        except (KeyboardInterrupt, click.Abort):
            _fail("olscale: interrupted", INTERRUPTED)
        except BrokenPipeError:
            # The reader (head, less) has ended.
            discard_output()
            sys.exit(1)
        except StoppedError as stopped:
            # 75 is EX_TEMPFAIL of sysexits.h, which batch systems take as "run again".
            exit_code = CALL_AGAIN
            if stopped.signal:
                exit_code = 128 + stopped.signal
            _fail(f"olscale: {stopped}", exit_code)
        except OlscaleError as fault:
            cure = f"; {_NO_FOLDER}" if folder_is_gone() else ""
            _fail(f"olscale: error: {fault}{cure}", 1)
        except Exception as fault:
            if isinstance(fault, OSError):
                _fail_for_surroundings()
            # Users get one line, which says how those who mend olscale get the
            # traceback.
            if os.environ.get("OLSCALE_DEBUG"):
                _show_traceback(fault)
            _fail(
                f"olscale: internal error: {type(fault).__name__}: {fault} "
                "(run with OLSCALE_DEBUG=1 for the traceback)",
                1,
            )
        # Without its standalone mode, click returns what the command returns: None, mostly.
        if not isinstance(code, int):
            code = 0
        sys.exit(code)


def _fail_for_surroundings() -> None:
    """Exit with a line if the shell's output or folder is at fault, which no command can mend."""
    if (reason := why_output_fails()) is not None:
        discard_output()
        _fail(f"olscale: error: standard output cannot be written ({reason})", 1)
    if folder_is_gone():
        _fail(f"olscale: error: {_NO_FOLDER}", 1)


def _show_traceback(fault: Exception) -> NoReturn:
    """Print a traceback as Python does, but for secrets of addresses in it, and exit."""
    import traceback

    for line in "".join(traceback.format_exception(fault)).splitlines():
        say(line, err=True)
    sys.exit(1)


def _fail(message: str, code: int) -> NoReturn:
    # One line, whatever is in the message: scripts read the last line of standard error.
    say(" ".join(message.split()), err=True)
    sys.exit(code)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def olscale() -> None:
    """Evaluate single-pass (one-pass, streaming) learners at scale."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the ``olscale`` command and exit.

    Parameters
    ----------
    args : sequence of str, optional
        Arguments; those of the process by default.
    """
    # A program that calls `olscale.cli.olscale` itself keeps its own garbage collection.
    put_off()
    open_closed_streams()
    words = sys.argv[1:] if args is None else args
    if words and words[0] in _WITHOUT_ALGEBRA:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _ended_by_signals():
        olscale.main(args)
    raise AssertionError("unreachable: LazyGroup.main exits")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and a closed terminal leave the block as Ctrl-C does, so that it cleans up."""
    # Python lets only the main thread set handlers of signals.
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        # one signal suffices: the cleanup is running
        signal.signal(number, signal.SIG_IGN)
        raise _Ended(number)

    # nohup ignores SIGHUP, and a program around this one may have handlers of its own.
    signals = [
        candidate
        for candidate in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(candidate) is signal.SIG_DFL
    ]
    for candidate in signals:
        signal.signal(candidate, end)
    try:
        yield
    finally:
        for candidate in signals:
            signal.signal(candidate, signal.SIG_DFL)
