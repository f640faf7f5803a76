"""Every error olscale raises on purpose.

The tree::

    OlscaleError
    ├── FormatError        a source file is malformed (names file and line)
    │   └── NoRowsError    a source file that holds no rows, as an empty part of a table
    ├── DatasetError       a dataset is missing, unfinished, damaged or unsuitable
    ├── UnknownNameError   a learner, transform, format, key ... that does not exist
    ├── ParameterError     a parameter outside its domain (also a ValueError)
    ├── ExperimentError    an experiment that cannot be planned
    ├── StoreError         a metrics store that cannot be read or written
    ├── ModelError         a model that cannot be saved or loaded
    ├── ExecutionError     a scheduler or worker that cannot be used
    │   └── StoppedError   an evaluation that was told to stop, and has saved its work
    ├── ReportError        a figure or report that cannot be made
    └── DivergedError      a learner whose numbers broke down (names the row)

A message says what was wrong, what was got, what was expected and what to do, on one line: the
command line prints it as it is and exits with 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from olscale.addresses import redacted
from olscale.printable import printable


class OlscaleError(Exception):
    """Base of every error olscale raises on purpose.

    Parameters
    ----------
    message : str
        Kept on one line, printable, and of a readable length: what a damaged file says may be
        anything, and stands in messages.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


_LONGEST = 1_500
_END = 500


def one_line(text: str) -> str:
    r"""Return `text` as one line that can be printed and stored, of a readable length.

    Escape sequences would reach terminals, surrogates no file at all; secrets in addresses are
    hidden.

    Examples
    --------
    >>> one_line("no such\nfile: \x1b[31m\udc80")
    'no such file: \\x1b[31m\\udc80'
    """
    text = redacted(text)
    # Escaping megabytes of a damaged file only to cut them would take seconds.
    if len(text) > 20 * _LONGEST:
        text = text[: 10 * _LONGEST] + text[-10 * _LONGEST :]
    line = " ".join(text.splitlines())
    if not line.isprintable():
        line = printable("".join(" " if char.isspace() else char for char in line))
    # The end says what to do.
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _END - 5]} ... {line[-_END:]}"


class FormatError(OlscaleError):
    """A source that does not follow its format.

    Parameters
    ----------
    source : str
        File (or archive member) at fault.
    problem : str
        What was got and what was expected.
    line : int, optional
        One-based line in `source`.
    """

    def __init__(self, source: str, problem: str, line: int | None = None) -> None:
        where = source
        if line is not None:
            where = f"{source}, line {line}"
        super().__init__(f"{where}: {problem}")
        self.source = source
        self.problem = problem
        self.line = line

    # Workers send errors by pickle, which makes them anew from `args`: those are the message only.
    def __reduce__(self) -> tuple[type[FormatError], tuple[str, str, int | None]]:
        return type(self), (self.source, self.problem, self.line)


class NoRowsError(FormatError):
    """A source that holds no rows; among several parts of one table it may be passed over."""


class DatasetError(OlscaleError):
    """A dataset that is missing, unfinished, damaged or unsuitable."""


class ParameterError(OlscaleError, ValueError):
    """A parameter outside its domain."""


class ExperimentError(OlscaleError):
    """An experiment that cannot be read or planned."""


class StoreError(OlscaleError):
    """A metrics store that cannot be read or written."""


class ModelError(OlscaleError):
    """A final model that cannot be saved or loaded."""


class ExecutionError(OlscaleError):
    """A scheduler, worker or actor that cannot be used."""


class StoppedError(ExecutionError):
    """An evaluation that was told to stop, and has saved its work.

    Parameters
    ----------
    message : str
    signal : int
        Number of the signal, 0 where it was the time: the exit code is 128 more, or 75.
    """

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal

    def __reduce__(self) -> tuple[type[StoppedError], tuple[str, int]]:
        return type(self), (str(self), self.signal)


class ReportError(OlscaleError):
    """A figure or report that cannot be made."""


class DivergedError(OlscaleError):
    """A learner whose numbers are no longer finite or whose covariance lost definiteness.

    Parameters
    ----------
    reason : str
        What broke down.
    row : int
        Zero-based position in the stream of the row where it was first seen.
    where : str
        ``"row"``, or ``"test row"`` for one that the model is tested on.
    """

    def __init__(self, reason: str, row: int, where: str = "row") -> None:
        super().__init__(f"diverged at {where} {row}: {reason}")
        self.reason = reason
        self.row = row
        self.where = where

    def __reduce__(self) -> tuple[type[DivergedError], tuple[str, int, str]]:
        return type(self), (self.reason, self.row, self.where)


class UnknownNameError(OlscaleError, LookupError):
    """A name that is not registered; the message offers the nearest one and lists the rest.

    Parameters
    ----------
    kind : str
        What was named: ``"learner"``, ``"transform"``, ``"key in [protocol]"`` ...
    got : str
        The name as it was written.
    known : iterable of str
        The names that exist.

    Examples
    --------
    >>> str(UnknownNameError("parameter", "c", ["C", "dtype"]))
    "unknown parameter 'c'; did you mean 'C'? there are: C, dtype"
    >>> str(UnknownNameError("learner", "knn", ["knn-window", "olk-n"]))
    "unknown learner 'knn'; did you mean 'knn-window'? there are: knn-window, olk-n"
    """

    def __init__(self, kind: str, got: str, known: Iterable[str]) -> None:
        self.kind = kind
        # Kept with the message, since errors go through pickle and are made anew from
        # these.
        self.got = got
        self.known = tuple(sorted(known))
        # The nearest name of `c` is `C`, which differs in every character otherwise.
        folded = {name.casefold(): name for name in self.known}
        # Callers in Python may give anything for a name.
        word = str(got).casefold()
        begun = [name for name in folded if len(word) > 1 and name.startswith(word)]
        nearest = [
            folded[name]
            for name in difflib.get_close_matches(
                # `knn` is the beginning of `knn-window`, however many letters `olk-n` shares.
                word,
                begun or folded,
                n=1,
                cutoff=0.0 if begun else 0.5,
            )
        ]
        hint = ";"
        if nearest:
            hint = f"; did you mean {nearest[0]!r}?"
        super().__init__(
            f"unknown {kind} {got!r}{hint} there are: {', '.join(self.known) or 'none'}"
        )

    def __reduce__(
        self,
    ) -> tuple[type[UnknownNameError], tuple[str, str, tuple[str, ...]]]:
        return type(self), (self.kind, self.got, self.known)
