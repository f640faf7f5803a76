"""The kinds of files that olscale writes, and what is done with each after a bit of it has flipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from olscale.compiled.code_files import CheckedCodeFile
from olscale.errors import OlscaleError
from olscale.report.live_text import live_text
from olscale.results.live_reader import LiveReader
from olscale.results.opening import open_store
from olscale.results.scratch import Scratch
from tests.cli.command import run
from tests.fuzz import begun
from tests.fuzz.project import NIGHT, kept_runs


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
