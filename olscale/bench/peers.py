"""The same learners on the same streams in MOA, CapyMOA, River and olscale, side by side.

Each evaluates prequentially, as its user would have it do: MOA by its command line on an ARFF file,
CapyMOA on that file, River on dictionaries made row by row, olscale on its stored dataset. Each
line has the mistakes: where the method is the same to the bit, so are they.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from olscale.bench import other_learners
from olscale.bench.base import Contestant, Elsewhere, Figure, compare
from olscale.bench.moa.capymoa_loops import Request
from olscale.bench.moa.command_line import evaluate, write_arff
from olscale.bench.moa.process import CapyMOA
from olscale.bench.own_loops import river_loop, run_of, step
from olscale.data.catalogue.fetch import fetch
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.generators import generate
from olscale.errors import OlscaleError
from olscale.evaluation.run_state import RunState

# River, and CapyMOA on arrays, go through Python row by row: they get the first rows only.
_FEW = 10_000
# Java takes a while to start: the seconds of so few rows are subtracted.
_START_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Method:
    """A learning method under the names that it has in each program.

    Attributes
    ----------
    name : str
        olscale's learner.
    moa : str
        Command line of MOA.
    capymoa : str
        Class in ``capymoa.classifier``.
    river : str
        ``module:Class``, or a function that makes a model.
    like_moa, like_river : mapping
        Parameters with which olscale's learner is the one of MOA, or that of River.
    of_capymoa : mapping
        Parameters of CapyMOA's class.
    """

    name: str
    moa: str
    capymoa: str
    river: str
    like_moa: Mapping[str, Any] = field(default_factory=dict)
    like_river: Mapping[str, Any] = field(default_factory=dict)
    of_capymoa: Mapping[str, Any] = field(default_factory=dict)

    def spelled(self, params: Mapping[str, Any]) -> str:
        """Return olscale's learner with parameters as users write it."""
        pairs = ",".join(f"{key}={value}" for key, value in params.items())
        return f"{self.name}:{pairs}" if pairs else self.name

    def untrained_river(self) -> Any:
        """Return a new model of River."""
        return resolve_name(self.river)()


METHODS = (
    Method(
        "hoeffding-tree",
        "trees.HoeffdingTree",
        "HoeffdingTree",
        "river.tree:HoeffdingTreeClassifier",
        # CapyMOA's own default is 0.001, that of the others 1e-7.
        of_capymoa={"confidence": 1e-7},
    ),
    Method(
        "naive-bayes",
        "bayes.NaiveBayes",
        "NaiveBayes",
        "river.naive_bayes:GaussianNB",
    ),
    Method(
        "knn-window",
        "lazy.kNN -k 5 -w 1000",
        "KNN",
        "olscale.bench.other_learners:river_neighbours",
        # MOA divides features by their ranges in the window, River takes them as they are.
        like_moa={"scaling": "range"},
        of_capymoa={"k": 5, "window_size": 1000},
    ),
    Method(
        "arf",
        "meta.AdaptiveRandomForest -s 10",
        "AdaptiveRandomForestClassifier",
        "river.forest:ARFClassifier",
        like_moa={"trees": 10},
        like_river={"trees": 10},
        of_capymoa={"ensemble_size": 10, "random_seed": 1},
    ),
)


@dataclass(frozen=True, slots=True)
class SharedStream:
    """A dataset, and the same rows in memory and in the files of other programs.

    Attributes
    ----------
    dataset : Dataset
    rows : Chunk
        All rows of the dataset.
    path : Path
        Path without suffix of an ARFF and an NPZ file.
    classes : int
    """

    dataset: Dataset
    rows: Chunk
    path: Path
    classes: int

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.path.name

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """Read the first rows of the dataset."""
        first = 0
        for chunk in self.dataset.chunks():
            if first >= rows:
                return
            yield chunk[: rows - first]
            first += len(chunk)


def figures(rows: int = 50_000, rounds: int = 3, python: str = "") -> list[Figure]:
    """Return the speeds of each method on each stream, in each program that is there.

    Parameters
    ----------
    rows : int
        Length of the streams that are generated.
    rounds : int
    python : str
        Interpreter that has CapyMOA; this one if empty.
    """
    lines: list[Figure] = []
    absent = other_learners.missing("River", "river")
    has_river = not absent
    with other_learners.scratch() as folder, ExitStack() as stack:
        streams = [
            _written(dataset) for dataset in _datasets(Path(folder), rows, absent)
        ]
        capymoa = None
        try:
            capymoa = stack.enter_context(CapyMOA(python or sys.executable))
        except OlscaleError as error:
            absent.append(Figure("MOA, CapyMOA", note=str(error)))
        for stream in streams:
            for method in METHODS:
                table = _Table(method, stream)
                if capymoa is not None:
                    table.add_moa(capymoa.jar)
                    table.add_capymoa(capymoa)
                if has_river:
                    table.add_river()
                lines += table.figures(rounds)
    return lines + absent


def _datasets(folder: Path, rows: int, lines: list[Figure]) -> Iterator[Dataset]:
    """Yield the datasets, and say in `lines` which one is not to be had."""
    try:
        yield fetch("electricity", folder / "electricity")
    except OlscaleError as error:
        lines.append(Figure("electricity", note=str(error)))
    yield generate("agrawal", folder / "agrawal", rows=rows)
    yield generate("rbf", folder / "rbf", rows=rows, speed=0.001, classes=5)


def _written(dataset: Dataset) -> SharedStream:
    """Return a dataset with the files of other programs next to it."""
    chunks = list(dataset.chunks())
    X = np.concatenate([chunk.to_numpy() for chunk in chunks])
    rows = Chunk(X, np.concatenate([chunk.y for chunk in chunks]), X.shape[1])
    stream = SharedStream(
        dataset, rows, Path(dataset.path), len(dataset.manifest.classes or ())
    )
    np.savez(stream.path.with_suffix(".npz"), X=rows.X, y=rows.y)
    write_arff(rows, stream.classes, stream.path.with_suffix(".arff"))
    return stream


class _Table:
    """The contestants of a method on a stream, each with the mistakes of its last round."""

    def __init__(self, method: Method, stream: SharedStream) -> None:
        self.method = method
        self.stream = stream
        self._contestants: list[Contestant] = []
        self._notes: dict[str, str] = {}

    def figures(self, rounds: int) -> list[Figure]:
        """Return their speeds, and olscale's alone where there is no peer."""
        if not self._contestants:
            self._add_olscale("", self.method.like_moa, len(self.stream.rows))
        return [
            replace(figure, note=self._notes[figure.name])
            for figure in compare(self._contestants, "k rows/s", rounds)
        ]

    def add_moa(self, jar: Path) -> None:
        """Add MOA's command line, and olscale's learner with MOA's settings."""
        rows = len(self.stream.rows)
        name = self._title(f"MOA {self.method.moa}", rows)
        file = self.stream.path.with_suffix(".arff")

        def run(_: object) -> Elsewhere:
            few = evaluate(jar, self.method.moa, file, _START_ROWS)
            entire = evaluate(jar, self.method.moa, file, rows)
            self._notes[name] = (
                f"{entire.mistakes:,} mistakes; {entire.seconds:.2f} s of the processor, "
                f"{entire.wall:.2f} s in all, less {few.seconds:.2f} and {few.wall:.2f} s of "
                f"{_START_ROWS:,} rows"
            )
            return Elsewhere(entire.seconds - few.seconds)

        self._contestants.append(Contestant(name, run, (rows - _START_ROWS) / 1e3))
        self._add_olscale(name, self.method.like_moa, rows, ">= 3x")

    def add_capymoa(self, capymoa: CapyMOA) -> None:
        """Add CapyMOA's evaluations of a file and of an array, and its class in olscale."""
        kind = f"CapyMOA {self.method.capymoa}"
        for source, rows in (
            ("file", len(self.stream.rows)),
            ("array", min(_FEW, len(self.stream.rows))),
        ):
            own = self._title(f"{kind}, its own loop, {source}", rows)
            self._add_capymoa(capymoa, own, source, rows)
            ours = self._title(f"{kind} in olscale, {source}", rows)
            self._add_capymoa(capymoa, ours, "olscale", rows, own, ">= 0.9")

    def _add_capymoa(
        self,
        capymoa: CapyMOA,
        name: str,
        loop: str,
        rows: int,
        peer: str = "",
        target: str = "",
    ) -> None:
        request = Request(
            loop,
            self.method.capymoa,
            dict(self.method.of_capymoa),
            str(self.stream.path),
            rows,
            self.stream.classes,
        )

        def run(_: object) -> Elsewhere:
            seconds, mistakes = capymoa.run(request)
            self._notes[name] = f"{mistakes:,} mistakes"
            return Elsewhere(seconds)

        self._contestants.append(
            Contestant(name, run, rows / 1e3, peer=peer, target=target)
        )

    def add_river(self) -> None:
        """Add River's loop over the first rows, its model in olscale, and olscale's learner."""
        rows = self.stream.rows[:_FEW]
        kind = type(self.method.untrained_river()).__name__
        own = self._title(f"River {kind}, its own loop", len(rows))

        def run(model: Any) -> None:
            self._notes[own] = f"{river_loop(rows, model):,} mistakes"

        self._contestants.append(
            Contestant(own, run, len(rows) / 1e3, self.method.untrained_river)
        )
        ours = self._title(f"River {kind} in olscale", len(rows))
        state = run_of(self.method.river, {}, rows, self.stream.classes)
        self._add_run(ours, state, partial(iter, [rows]), len(rows), own, ">= 0.85")
        self._add_olscale(own, self.method.like_river, len(rows), ">= 20x")

    def _add_olscale(
        self, peer: str, params: Mapping[str, Any], rows: int, target: str = ""
    ) -> None:
        """Add olscale's learner on its stored dataset."""
        name = self._title(self.method.spelled(params), rows)
        state = run_of(
            self.method.name, params, self.stream.rows[:rows], self.stream.classes
        )
        chunks = partial(self.stream.chunks, rows)
        self._add_run(name, state, chunks, rows, peer, target)

    def _add_run(
        self,
        name: str,
        untrained: Callable[[], RunState],
        chunks: Callable[[], Iterable[Chunk]],
        rows: int,
        peer: str,
        target: str,
    ) -> None:
        def run(state: Any) -> None:
            for chunk in chunks():
                step(state, chunk)
            self._notes[name] = f"{round(state.error() * rows):,} mistakes"

        self._contestants.append(
            Contestant(name, run, rows / 1e3, untrained, peer, target)
        )

    def _title(self, what: str, rows: int) -> str:
        return f"{what}, {rows:,} rows of {self.stream.name}"
