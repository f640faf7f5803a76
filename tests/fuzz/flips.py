"""Single bits flipped in every kind of file that olscale writes: found or harmless, and the next command works.

A small project has a file of each kind: datasets, a store with models, plans and selections, the
same store compacted, checkpoints, scratch arrays, a journal, the home of a job, an interrupted
ingest, a saved model, machine code, compressed tables. For each flip the commands that read that
kind run in this process, as do those that go on with it. What they show must be what they show of
the undamaged file, or one line must name the file.

::

    python -m tests.fuzz.flips                          # 2,000 flips; exit 1 where any is silent
    python -m tests.fuzz.flips --flips 50 history runs  # kinds by name
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from time import monotonic

import pytest

import olscale.jobs.steps as steps
from olscale.bench.base import Figure
from olscale.compiled.code_files import CheckedCodeFile
from olscale.errors import OlscaleError
from olscale.report.live_text import live_text
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store
from olscale.results.scratch import Scratch
from tests.cli.command import run
from tests.fuzz import begun
from tests.fuzz.project import NIGHT, kept_runs, make_project
from tests.fuzz.target import Broken

Flip = tuple[str, int]
"""A file, by its path within the folder of its kind, and the bit that is another output."""


@dataclass(frozen=True)
class Output:
    """What a command shows, what it says on standard error, and whether it failed."""

    shown: str
    said: tuple[str, ...] = ()
    failed: bool = False


Command = Callable[[], Output]


def showing(*words: str, files: Sequence[str] = ()) -> Command:
    """the files that it writes are a part of what it shows."""

    def call() -> Output:
        for file in files:
            Path(file).unlink(missing_ok=True)
        done = run(*words)
        written = [Path(file).read_bytes() for file in files if Path(file).exists()]
        shown = "\n".join([done.stdout, *(data.decode("latin-1") for data in written)])
        return Output(shown, tuple(done.stderr.splitlines()), done.returncode != 0)

    return call


def repairing(*words: str) -> Command:
    """Return a command that repairs and says how long that took: its failure counts, and words of damage."""

    def call() -> Output:
        done = run(*words)
        failed = done.returncode != 0
        said = done.stderr if failed else done.stdout + done.stderr
        return Output("", tuple(said.splitlines()), failed)

    return call


@dataclass(frozen=True)
class Kind:
    """Files of one kind.

    Parameters
    ----------
    folder : str
        The part of the project in which commands may change something.
    files : tuple of str
        Patterns of the files within `folder`.
    readers : tuple of commands
        Read the damaged file; what each shows is compared.
    repair : command, optional
        Goes on with what is damaged.
    readers_after : tuple of commands
        What they show must then be what they show of what was not damaged.
    without : callable, optional
        Returns a file without what holds a bit; outputs may be those of that file, too.
    removed : tuple of str
        What is removed from the folder first, so that `repair` has something to do.
    names : tuple of str
        By what messages name the file where not by its name: a chunk has several files.
    """

    folder: str
    files: tuple[str, ...]
    readers: tuple[Command, ...]
    repair: Command | None = None
    readers_after: tuple[Command, ...] = ()
    without: Callable[[bytes, int], bytes] | None = None
    removed: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def _dataset(name: str) -> tuple[Command, ...]:
    return (
        showing("datasets", "verify", name),
        showing("datasets", "show", name),
        showing("datasets", "export", name, "out.csv", files=["out.csv"]),
    )


def _store(name: str) -> tuple[Command, ...]:
    return (
        showing("results", name, "--tuning"),
        showing("results", name, "--metric", "fit_seconds", "--format", "csv"),
        showing("status", name),
    )


def _evaluate(store: str) -> Command:
    return repairing("evaluate", "experiment.toml", "--in-process", "--store", store)


def _table(name: str) -> tuple[Command, ...]:
    ingest = showing("ingest", name, "made", "--label", "label")
    export = showing("datasets", "export", "made", "out.csv", files=["out.csv"])

    def call() -> Output:
        shutil.rmtree("made", ignore_errors=True)
        made = ingest()
        return made if made.failed else Output(export().shown, made.said)

    return (call,)


def _read(read: Callable[[], str]) -> Command:
    """Return a command that calls a function; its error is what it says."""

    def call() -> Output:
        try:
            return Output(read())
        except (OlscaleError, ValueError) as error:
            # for the latter machine code is made anew
            return Output("", (str(error),), failed=True)

    return call


def _go_on_from(folder: str) -> Callable[[], str]:
    def read() -> str:
        begun.read_begun(Path(folder))
        return ""

    return read


def _scratch() -> str:
    kept = Scratch(open_store(Path("scratch")), begun.ID)
    arrays = [kept.read(name) for name in ("first", "second")]
    return repr(
        [(name, value.tolist()) for part in arrays for name, value in part.items()]
    )


def _machine_code() -> str:
    return repr(CheckedCodeFile("code", "loop", "stamp").load("signature"))


def _live() -> str:
    return live_text(LiveReader(open_store(Path("store"))).read(), now=0.0)


def without_lines(data: bytes, bit: int) -> bytes:
    """Return a journal without the lines that a bit is in, as they cannot be read."""
    at = bit // 8
    begin = data.rfind(b"\n", 0, at) + 1
    end = data.find(b"\n", at + (data[at : at + 1] == b"\n")) + 1
    return data[:begin] + data[end or len(data) :]


_ERRORS = (
    "select night, kind, dataset, learner, error, digest from history order by all"
)
_JOB = (
    showing("jobs", "history", "job.toml", "--metric", "error"),
    showing("jobs", "check", "job.toml"),
    showing("jobs", "status", "job.toml"),
)
_HISTORY = (showing("jobs", "history", "job.toml", "--sql", _ERRORS),)


def _night(name: str) -> Command:
    return repairing("jobs", "run", "job.toml", "--night", name)


def _saved() -> Output:
    """Save all models that the store keeps."""
    words = ("models", "save", "store")
    outputs = [
        showing(*words, id, "out.olm", files=["out.olm"])() for id in kept_runs()
    ]
    said = tuple(line for output in outputs for line in output.said)
    shown = "\n".join(output.shown for output in outputs)
    return Output(shown, said, any(output.failed for output in outputs))


def _of_store(*files: str, store: str = "store") -> Kind:
    after = (showing("results", store, "--tuning"), showing("status", store))
    return Kind(store, files, _store(store), _evaluate(store), after)


def _of_night(*files: str) -> Kind:
    steps = tuple(f"nights/{NIGHT}/{file}" for file in files)
    return Kind(
        "home",
        steps,
        (),
        _night(NIGHT),
        _HISTORY,
        removed=(f"history/{NIGHT}.parquet",),
    )


KINDS = {
    "chunks": Kind("rows", ("train/*", "test/*"), _dataset("rows")),
    "zarr": Kind(
        "grid",
        ("train/**/*", "test/**/*"),
        _dataset("grid"),
        names=("of train", "of test"),
    ),
    "manifests": Kind("rows", ("manifest.json",), _dataset("rows")),
    "tables": Kind("tables", ("*.gz",), _table("tables/rows.csv.gz")),
    "archives": Kind("tables", ("*.zip",), _table("tables/rows.zip")),
    "interrupted": Kind(
        "half",
        ("*.json", "train/*", "**/*"),
        (),
        repairing(
            "ingest", "days", "half", "--segments", "files", "--chunk-rows", "16"
        ),
        (showing("datasets", "export", "half", "out.csv", files=["out.csv"]),),
    ),
    "store.json": _of_store("store.json"),
    "plans": _of_store("plans/*"),
    "selections": _of_store("selections/*"),
    "runs": _of_store("runs/*/*"),
    "timings": _of_store("timings/*/*"),
    "parts": _of_store("compacted/**/*", store="packed"),
    "lost": Kind(
        "lost",
        ("lost/*/*",),
        _store("lost"),
        _evaluate("lost"),
        (repairing("results", "lost"),),
    ),
    "kept models": Kind("store", ("models/*",), (_saved,)),
    "models": Kind(
        "saved",
        ("*.olm",),
        (
            showing("models", "show", "saved/pa1.olm"),
            showing(
                "predict",
                "saved/pa1.olm",
                "rows",
                "--out",
                "out.csv",
                files=["out.csv"],
            ),
        ),
    ),
    "checkpoints": Kind(
        "begun0",
        ("checkpoints/**/*",),
        (_read(_go_on_from("begun0")),),
        names=("checkpoint",),
    ),
    "verdicts": Kind(
        "begun1",
        ("checkpoints/**/*",),
        (_read(_go_on_from("begun1")),),
        names=("checkpoint",),
    ),
    "scratch": Kind("scratch", ("tmp/**/*",), (_read(_scratch),)),
    "journals": Kind("store", ("live/*",), (_read(_live),), without=without_lines),
    "histories": Kind("home", ("history/*",), _JOB, _night("2"), _HISTORY),
    "beginnings": _of_night("begun.json"),
    "steps": _of_night("ingest-0.json", "bench-0.json"),
    "messages": Kind("home", ("told.json",), _JOB, _night("2"), _HISTORY),
    "ingested": Kind("home", ("ingested.json",), _JOB, _night("2"), _HISTORY),
    "locks": Kind("home", ("lock",), _JOB, _night("2"), _HISTORY),
    "machine code": Kind(
        "code", ("*",), (_read(_machine_code),), names=("its checksum",)
    ),
}
"""What a file is -> where it is, and what is done with it. (A page is made by every night.)"""


class Project:
    """A project in a scratch folder, whose folders are put back after each flip."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "project"
        self._kept = folder / "kept"
        self.path.mkdir()
        make_project(self.path)
        shutil.copytree(self.path, self._kept)
        self._right: dict[str, tuple[list[Output], list[Output]]] = {}

    def files(self, kind: Kind) -> list[str]:
        """Return the files of a kind."""
        folder = self._kept / kind.folder
        paths = {
            path
            for pattern in kind.files
            for path in folder.glob(pattern)
            if path.is_file()
        }
        return sorted(str(path.relative_to(folder)) for path in paths)

    def put_back(self, kind: Kind) -> None:
        """Put back what commands of a kind may have changed."""
        changed = {kind.folder, "nightly"} if kind.folder == "home" else {kind.folder}
        for name in changed:
            shutil.rmtree(self.path / name, ignore_errors=True)
            shutil.copytree(self._kept / name, self.path / name)

    def outputs(self, kind: Kind) -> tuple[list[Output], list[Output]]:
        """Return what readers show now, and what they show once it was repaired."""
        for name in kind.removed:
            (self.path / kind.folder / name).unlink()
        with chdir(self.path):
            outputs = [read() for read in kind.readers]
            if kind.repair is None:
                return outputs, []
            repaired = kind.repair()
            if repaired.failed:  # it may say so once
                kind.repair()
            if repaired.failed or any("damaged" in line for line in repaired.said):
                outputs.append(repaired)
            return outputs, [read() for read in kind.readers_after]

    def right(self, name: str) -> tuple[list[Output], list[Output]]:
        """Return the outputs of undamaged files of a kind."""
        if name not in self._right:
            self._right[name] = self.outputs(KINDS[name])
            self.put_back(KINDS[name])
            failed = [
                output for part in self._right[name] for output in part if output.failed
            ]
            if failed:
                raise Broken(f"{name} cannot be read undamaged: {failed[0]}")
        return self._right[name]

    def try_flip(self, name: str, flipped: Flip) -> str:
        """Flip a bit and return whether that was ``"harmless"`` or ``"found"``.

        Raises
        ------
        Broken
            If it was neither.
        """
        kind = KINDS[name]
        file, bit = flipped
        right, right_after = self.right(name)
        path = self.path / kind.folder / file
        data = path.read_bytes()
        shown_without: list[str] | None = None
        if kind.without is not None:
            path.write_bytes(kind.without(data, bit))
            shown_without = [stable(output.shown) for output in self.outputs(kind)[0]]
            self.put_back(kind)
        flip(path, data, bit)
        try:
            outputs, outputs_after = self.outputs(kind)
        except Exception as error:
            raise Broken(f"{type(error).__name__}: {error}") from error
        finally:
            self.put_back(kind)
        if [stable(output.shown) for output in outputs] == shown_without:
            return "found"
        # what goes on with it has nothing to say of damage
        rights = [*right, Output("")]
        names = {
            file,
            *kind.names,
            *(part for part in Path(file).parts[-1:] if len(part) > 3),
        }
        verdicts = {judge(names, *pair) for pair in zip(outputs, rights, strict=False)}
        for output, expected in zip(outputs_after, right_after, strict=True):
            if judge(names, output, expected) == "found":
                raise Broken(
                    f"was gone on with, and still {difference(output, expected)}"
                )
        return "found" if "found" in verdicts else "harmless"


def judge(names: set[str], output: Output, right: Output) -> str:
    """Compare an output with the right one; `names` are those of the damaged file."""
    refuse_internal_errors(output)
    says_it = any(name in line for line in output.said for name in names)
    if output.failed != right.failed:
        if len(output.said) != 1 or not says_it:
            raise Broken(f"a failure does not name the file in one line: {output.said}")
        return "found"
    if stable(output.shown) != stable(right.shown):
        if not says_it:
            raise Broken(f"silently {difference(output, right)}")
        return "found"
    return "found" if output.said != right.said else "harmless"


def difference(output: Output, right: Output) -> str:
    """Return the first difference of two outputs."""
    if output.said != right.said:
        return f"says {output.said} in place of {right.said}"
    lines = zip_longest(
        stable(output.shown).split("\n"), stable(right.shown).split("\n")
    )
    return next(
        f"{line!r} in place of {expected!r}"
        for line, expected in lines
        if line != expected
    )


def refuse_internal_errors(output: Output) -> None:
    """Refuse errors that are none of olscale's own."""
    for line in output.said:
        if "internal error" in line or "Traceback" in line:
            raise Broken(f"an internal error: {output.said[-1]}")


_TIMES = re.compile(r"(last finished|size): .*|ended [\d.]+ h ago|silent for [\d:]+")


def stable(text: str) -> str:
    """Return a text without times and sizes of files, which what is made again has its own of."""
    return _TIMES.sub("", text)


def flip(file: Path, data: bytes, bit: int) -> None:
    """Write a file with one bit flipped."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    file.write_bytes(changed)


def flips(
    project: Project, names: Sequence[str], count: int, seed: int
) -> list[tuple[str, Flip]]:
    """Return `count` flips, in turns of the kinds."""
    chosen = []
    random = Random(seed)
    for number in range(count):
        name = names[number % len(names)]
        file = random.choice(project.files(KINDS[name]))
        size = (project._kept / KINDS[name].folder / file).stat().st_size
        chosen.append((name, (file, random.randrange(8 * size))))
    return chosen


@contextmanager
def quick_benchmarks() -> Iterator[None]:
    """Have the benchmark of the job take no time."""
    made = {"linear": [Figure("speed", 1.0, "rows/s", 2.0, "peer")]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "run_benchmarks", lambda names, rows: made)
        yield


def run_flips(
    folder: Path, names: Sequence[str], count: int, seed: int
) -> tuple[dict[str, Counter[str]], list[str]]:
    """Flip bits in a project made in `folder`; return what came of them by kind, and the findings."""
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in names}
    findings = []
    with quick_benchmarks():
        project = Project(folder)
        for name, (file, bit) in flips(project, names, count, seed):
            try:
                outcome = project.try_flip(name, (file, bit))
            except Broken as broken:
                outcome = "finding"
                findings.append(f"{name}: bit {bit} of {file}: {broken}")
            outcomes[name][outcome] += 1
    return outcomes, findings


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.flips", description=__doc__
    )
    parser.add_argument(
        "kinds", nargs="*", help=f"all when left out: {', '.join(KINDS)}"
    )
    parser.add_argument("--flips", type=int, default=2_000, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begin = monotonic()
    with tempfile.TemporaryDirectory(prefix="olscale-flips-") as folder:
        outcomes, findings = run_flips(
            Path(folder), given.kinds or list(KINDS), given.flips, given.seed
        )
    print(f"{'kind':14}{'found':>8}{'harmless':>10}{'findings':>10}")
    for name, counts in outcomes.items():
        print(
            f"{name:14}{counts['found']:8}{counts['harmless']:10}{counts['finding']:10}"
        )
    for finding in findings:
        print(f"FINDING {finding}")
    print(f"{given.flips} flips, {len(findings)} findings, {monotonic() - begin:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
