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
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from itertools import zip_longest
from pathlib import Path
from random import Random
from time import monotonic

import pytest

import olscale.jobs.steps as steps
from olscale.bench.base import Figure
from tests.fuzz.flip_kinds import KINDS, Kind, Output
from tests.fuzz.project import make_project
from tests.fuzz.target import Broken

Flip = tuple[str, int]
"""A file, by its path within the folder of its kind, and the bit that is another output."""


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
