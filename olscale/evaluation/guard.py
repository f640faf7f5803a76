"""The one place where learners are called: what one raises, takes or changes affects its run only.

A learner may raise any exception, change the directory, change how NumPy treats overflow, filter
warnings, seed the global random numbers, limit what the process may open or write, remove modules
or fork. None of this reaches the other runs of the process.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from olscale.arrays import FloatArray
from olscale.errors import DivergedError
from olscale.evaluation.budget import Meter, Metered, TimeUp
from olscale.system.interrupts import let_interrupt_out, text_of
from olscale.system.plain_arrays import refuse_masked

T = TypeVar("T")


class Failure(NamedTuple):
    """How a run that fails ends.

    Parameters
    ----------
    outcome : str
        ``"diverged"``, ``"learner_error"``, ``"timeout"`` or ``"oom"``.
    reason : str
        One printable line.
    row : int
        Position in the stream, if the learner reports it.
    """

    outcome: str
    reason: str
    row: int | None = None


class Guarded(Metered, Protocol):
    """A run in mid-stream, as far as calls need it."""

    meter: Meter
    random: GlobalRandom | None

    def fail(
        self, outcome: str, reason: str, raised: bool = True, row: int | None = None
    ) -> None:
        """End the run unless it has failed already."""


@contextmanager
def guarded(runs: Sequence[Guarded], counts: bool = True) -> Iterator[None]:
    """Call into the learner of `runs` in the block; exceptions and exceeded budgets end the runs.

    The block lets no exception out. As a context manager it adds no frame between a run and its
    learner.

    Parameters
    ----------
    runs : sequence of Guarded
        The runs for which the learner is called, at least one.
    counts : bool
        Whether the time counts as the learner's, rather than as a compiler's.
    """
    failure = None
    process = os.getpid()
    try:
        # None for olscale's own learners, which change no settings
        random_numbers = runs[0].random
        with (
            nullcontext() if random_numbers is None else _settings_kept(random_numbers),
            runs[0].meter.calling(runs, counts),
        ):
            try:
                yield
            except BaseException as error:
                failure = failure_of(error)  # the learner's code also makes the text
            finally:
                if os.getpid() != process:
                    # The learner forked, and this is the child: it must not continue the
                    # evaluation.
                    os._exit(1)
    except BaseException as error:
        # Restoring the settings may fail, too, if a learner lowered a limit for good.
        failure = failure or failure_of(error)
    if failure is not None:
        for run in runs:
            run.fail(failure.outcome, failure.reason, row=failure.row)


def attempt(
    runs: Sequence[Guarded], call: Callable[[], T], counts: bool = True
) -> T | None:
    """Return the result of a `guarded` call; None if the call ended the runs."""
    with guarded(runs, counts):
        return call()
    return None


def check_scores(scores: Any, rows: int, outputs: tuple[int, ...]) -> FloatArray:
    """Return the scores that a learner returned; raise an error if they are invalid."""
    shape = getattr(scores, "shape", None)
    kind = getattr(getattr(scores, "dtype", None), "kind", "")
    refuse_masked(scores, "the array that the learner returned as scores")
    if (
        isinstance(scores, np.ndarray)
        and shape in [(rows, count) for count in outputs]
        and kind in "fiub"  # booleans and integers are scores, too
    ):
        return scores
    got = (
        f"an array of shape {shape} and type {scores.dtype}"
        if kind
        else f"a {type(scores).__name__}"
    )
    raise TypeError(
        f"the learner returned {got} as scores; expected numbers of shape ({rows}, {outputs[0]})"
    )


def failure_of(error: BaseException) -> Failure:
    """Return the failure that an exception means for its run; re-raise the user's Ctrl-C."""
    let_interrupt_out(error)
    if isinstance(error, TimeUp):
        return Failure(error.excess.outcome, error.excess.reason)
    text = text_of(error)
    message = text.partition(": ")[2]
    if isinstance(error, DivergedError):
        row = getattr(error, "row", None)
        return Failure("diverged", message, row if isinstance(row, int) else None)
    if isinstance(error, MemoryError):
        return Failure("oom", f"MemoryError: {message}")
    if _asks_too_much(error):
        return Failure("oom", text)
    return Failure("learner_error", text)


def _asks_too_much(error: BaseException) -> bool:
    """Return whether `error` is a message of the system or of NumPy that an array does not fit."""
    # Systems report a lack of memory in several ways besides `MemoryError`.
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, ValueError) and str(error).startswith(
        ("array is too big", "Maximum allowed dimension exceeded")
    )


class GlobalRandom:
    """Global random numbers of NumPy and Python for one run, in place while its learner is called.

    What a learner draws from them without a seed is then the same in every evaluation, and a seed
    that a learner sets does not affect other learners.

    Parameters
    ----------
    entropy : sequence of int
        Distinguishes the run from its repetitions.
    """

    def __init__(self, entropy: Sequence[int]) -> None:
        seed = np.random.SeedSequence([*entropy, 0])
        self._numpy = np.random.MT19937(seed)
        python_seed = int(seed.generate_state(1)[0])
        self._python: Any = random.Random(python_seed).getstate()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Use them in place of the process's own within the block."""
        of_numpy: Any = np.random  # whose stubs leave these out
        before = of_numpy.get_bit_generator(), random.getstate()
        of_numpy.set_bit_generator(self._numpy)
        random.setstate(self._python)
        try:
            yield
        finally:
            # The state of NumPy's generator lives in the object; Python's must be saved.
            self._python = random.getstate()
            of_numpy.set_bit_generator(before[0])
            random.setstate(before[1])


@contextmanager
def _settings_kept(own: GlobalRandom) -> Iterator[None]:
    """Restore the settings of the process after the block."""
    with np.errstate():
        _settings.hold()
        try:
            with own.in_place():
                yield
        finally:
            _settings.release()


_LIMITS = {
    # Systems differ in which limits they have.
    name: getattr(resource, name)
    for name in dir(resource)
    if name.startswith("RLIMIT_")
}


class _Settings:
    """The settings that a process has once, shared by all threads that call learners.

    These are the working directory, the filters of warnings, the limits of the system and the
    modules.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = 0
        self._directory: str | None = None
        self._filters: list[Any] = []
        self._limits: dict[str, tuple[int, int]] = {}
        self._modules: dict[str, ModuleType] = {}

    def hold(self) -> None:
        """Save the settings, unless another thread has done so already."""
        with self._lock:
            # The first thread to enter saves the settings: later ones may see those of a learner.
            if not self._held:
                self._directory = _directory()
                self._filters = list(warnings.filters)
                self._limits = _limits()
                self._modules = dict(sys.modules)
            self._held += 1

    def release(self) -> None:
        """Restore the settings once no thread is in a learner any more."""
        with self._lock:
            self._held -= 1
            if self._held:
                return
            # A module may replace another one; only modules that are gone were removed by a
            # learner.
            if not self._modules.keys() <= sys.modules.keys():
                sys.modules.update(self._modules)
            if self._directory is not None and _directory() != self._directory:
                with suppress(OSError):
                    os.chdir(self._directory)
            # Python caches which filter matches, so that changed filters need a reset of the cache.
            if warnings.filters != self._filters:
                warnings.filters[:] = self._filters  # type: ignore[index]
                warnings._filters_mutated()  # type: ignore[attr-defined]
            if _limits() != self._limits:
                _restore_limits(self._limits)


_settings = _Settings()


def _limits() -> dict[str, tuple[int, int]]:
    return {name: resource.getrlimit(limit) for name, limit in _LIMITS.items()}


def _restore_limits(limits: Mapping[str, tuple[int, int]]) -> None:
    """Restore the limits of the process; end the process if a learner lowered a hard limit.

    Only root may raise a hard limit, so later runs in the process would fail for no fault of their
    own.
    """
    for name, limit in _LIMITS.items():
        if resource.getrlimit(limit) == limits[name]:
            continue
        try:
            resource.setrlimit(limit, limits[name])
        except (OSError, ValueError):
            # Only root may raise a hard limit again.
            leave_process()
            raise PermissionError(
                f"the learner has lowered {name} of its process for good"
            ) from None


def _stay() -> None:
    """Do nothing: the process is the user's."""


leave_process: Callable[[], None] = _stay
"""How a process ends that a learner has spoilt: a worker exits, and its nanny starts another."""


def _directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # the directory was removed
        return None
