"""Streams of concepts: generators with options, and the drift from one concept to the next.

A generator of this kind is a class derived from `ConceptStream`; `batches_of` makes the function
``batches`` of its module, which adds the options of drift to those of the class.
"""

import inspect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.base import Batch
from olscale.data.generators.drift import ConceptChange, RecurringConcepts
from olscale.data.generators.option_values import is_several, values_of, whole
from olscale.errors import ParameterError

ROWS = 100_000

_BATCH_ROWS = 4_096


class ConceptStream(ABC):
    """An endless stream of rows of one concept, the same for the same seed.

    Attributes
    ----------
    feature_names : tuple of str
        One for each column.
    """

    feature_names: tuple[str, ...]

    @abstractmethod
    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the next `count` rows, of shape (count, columns), and their classes' numbers."""


_DRIFT = """position : int, optional
    Of several concepts: the row in the middle of each change to the next one, counted from the
    first row of the stream that the concept begins. MOA's ``ConceptDriftStream``.
period : int, optional
    Of several concepts, instead: rows from one change to the next; after the last concept the
    first recurs. With two concepts MOA's ``RecurrentConceptDriftStream``.
width : int, default 1
    Rows that a change takes: the probability of the new concept at ``t`` rows after its middle is
    ``1 / (1 + exp(-4 t / width))``. With 1 the change is abrupt."""


def batches_of(kind: type[ConceptStream]) -> Callable[..., Iterator[Batch]]:
    """Return the function ``batches(rows, seed, ...)`` of a generator.

    Its options are those of the constructor of `kind` behind ``seed``, and those of drift. An
    option with several values makes a concept of each: a sequence, or text with ``/`` in between.
    Concept k, counted from 0, has the seed ``seed + k``, and the changes have `seed`. With `rows`
    None the stream does not end.

    Examples
    --------
    >>> from olscale.data.generators import sea
    >>> drifting = sea.batches(9_000, seed=1, function=(1, 4), position=5_000)
    >>> [len(batch) for batch in drifting]
    [4096, 4096, 808]
    """
    options = list(inspect.signature(kind).parameters.values())[1:]

    def batches(
        rows: int | None,
        seed: int,
        *,
        position: int | None = None,
        period: int | None = None,
        width: int = 1,
        **chosen: Any,
    ) -> Iterator[Batch]:
        stream = _stream(kind, seed, chosen, position, period, width)
        return _rows_of(stream, rows)

    plain = inspect.signature(batches).parameters
    own = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    batches.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            plain["rows"],
            plain["seed"],
            *own,
            plain["position"],
            plain["period"],
            plain["width"],
        ]
    )
    batches.__doc__ = f"{inspect.getdoc(kind)}\n{_DRIFT}\n"
    return batches


def _rows_of(stream: ConceptStream, rows: int | None) -> Iterator[Batch]:
    starts: Iterator[int] = itertools.count(0, _BATCH_ROWS)
    if rows is not None:
        starts = iter(range(0, rows, _BATCH_ROWS))
    for start in starts:
        count = _BATCH_ROWS if rows is None else min(_BATCH_ROWS, rows - start)
        X, y = stream.take(count)
        yield Batch(X, y, X.shape[1], stream.feature_names, regression=False)


def _stream(
    kind: type[ConceptStream],
    seed: int,
    chosen: Mapping[str, Any],
    position: int | None,
    period: int | None,
    width: int,
) -> ConceptStream:
    """Return the one concept that the options `chosen` describe, or the changes among several."""
    several = {
        name: values_of(value) for name, value in chosen.items() if is_several(value)
    }
    if not several:
        if position is not None or period is not None:
            raise ParameterError(
                "position and period are of changes between concepts, but every option has one "
                "value; expected several values of one, such as function=1/2"
            )
        return kind(seed, **chosen)  # type: ignore[call-arg]
    counts = {name: len(values) for name, values in several.items()}
    if len(set(counts.values())) > 1:
        raise ParameterError(
            f"options have different numbers of values ({counts}); expected one value for each "
            "concept, or one for all"
        )
    if (position is None) == (period is None):
        raise ParameterError(
            f"{_given(position, period)}; several concepts need position, for changes that stay, "
            "or period, for concepts that recur"
        )
    concepts = []
    for number, values in enumerate(zip(*several.values(), strict=True)):
        options = {**chosen, **dict(zip(several, values, strict=True))}
        concepts.append(kind(seed + number, **options))  # type: ignore[call-arg]
    width = whole("width", width, 1)
    if period is not None:
        choice = RecurringConcepts(
            len(concepts), whole("period", period, 1), width, seed
        )
        return _Drift(concepts, choice)
    position = whole("position", position, 0)
    # As nested `ConceptDriftStream`s: each change counts the rows from where its concept begins.
    stream: ConceptStream = concepts[-1]
    for earlier in reversed(concepts[:-1]):
        stream = _Drift([earlier, stream], ConceptChange(position, width, seed))
    return stream


def _given(position: int | None, period: int | None) -> str:
    if position is None and period is None:
        return "an option has several values, but neither position nor period is given"
    return f"both position, {position}, and period, {period}, are given"


class _Drift(ConceptStream):
    """Several streams, each row of which a choice takes from one of them."""

    def __init__(
        self, streams: list[ConceptStream], choice: ConceptChange | RecurringConcepts
    ) -> None:
        self.feature_names = streams[0].feature_names
        self._streams = streams
        self._choice = choice
        if any(stream.feature_names != self.feature_names for stream in streams):
            raise ParameterError(
                "the concepts have different columns; expected the same ones in each"
            )

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        chosen = self._choice.take(count)
        X = np.empty((count, len(self.feature_names)))
        y = np.empty(count)
        for number, stream in enumerate(self._streams):
            (places,) = np.nonzero(chosen == number)
            X[places], y[places] = stream.take(len(places))
        return X, y
