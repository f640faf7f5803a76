"""What is fuzzed: a reader, its valid inputs, and how an input is made from its number."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

from olscale.errors import OlscaleError
from tests.fuzz.mutate import Mutator

Files = dict[str, bytes]
"""The files of a folder by their relative paths."""

LONGEST_MESSAGE = 2_000


class Broken(AssertionError):  # noqa: N818 - no error of the fuzzing
    """A reader accepted an input and broke its contract."""


@dataclass(frozen=True)
class Target:
    """A reader.

    Parameters
    ----------
    name : str
        What it is called on the command line.
    seeds : callable
        Returns valid inputs, the same in every process.
    read : callable
        Takes the folder with the files of an input, reads all there is and raises `Broken` where it
        came out wrong.
    words : sequence of bytes
        Pieces of the format that mutations put in.
    vary : callable, optional
        Takes random numbers and the files of a valid input and returns the files to change:
        mutations that know the structure, as those inside a checksum. Every second input goes
        through it, and then half of them through bytes.
    changed : sequence of str
        Beginnings of the paths that may be changed; all when empty.
    takes_minutes : bool
        Whether its valid inputs take minutes to make, so that it only runs where it is named.
    """

    name: str
    seeds: Callable[[], Sequence[Files]]
    read: Callable[[Path], None]
    words: Sequence[bytes] = ()
    vary: Callable[[Random, Files], Files] | None = None
    changed: tuple[str, ...] = ()
    takes_minutes: bool = False

    @cached_property
    def valid(self) -> list[Files]:
        return list(self.seeds())

    @cached_property
    def mutator(self) -> Mutator:
        return Mutator(self.words)

    def input(self, number: int, seed: int = 0) -> tuple[int, Files]:
        """Return which valid input number `number` was made of, and the files that differ from it."""
        random = Random(f"{self.name}:{seed}:{number}")
        base = random.randrange(len(self.valid))
        files = self.valid[base]
        changed: Files = {}
        if self.vary is not None and random.random() < 0.5:
            changed = self.vary(random, files)
            if random.random() < 0.5:
                return base, changed
        names = sorted(
            name for name in files if not self.changed or name.startswith(self.changed)
        )
        name = random.choice(names)
        others = [other[name] for other in self.valid if name in other]
        changed[name] = self.mutator.mutate(
            random, changed.get(name, files[name]), others
        )
        return base, changed


@dataclass
class Bench:
    """Folders with the valid inputs of a target; an input changes a few files of one and puts them back."""

    target: Target
    root: Path
    _folders: dict[int, Path] = field(default_factory=dict)

    def attempt(self, base: int, changed: Files) -> str:
        """Read an input and return ``"accepted"``, ``"refused"``; any other exception is the reader's fault."""
        folder = self._folder(base)
        files = self.target.valid[base]
        for name, data in changed.items():
            write(folder / name, data)
        try:
            self.target.read(folder)
        except OlscaleError as error:
            check_message(error)
            return "refused"
        finally:
            for name in changed:
                if name in files:
                    write(folder / name, files[name])
                else:
                    (folder / name).unlink(missing_ok=True)
        return "accepted"

    def _folder(self, base: int) -> Path:
        if base not in self._folders:
            folder = self.root / str(base)
            shutil.rmtree(folder, ignore_errors=True)
            for name, data in self.target.valid[base].items():
                write(folder / name, data)
            self._folders[base] = folder
        return self._folders[base]


def write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def files_of(folder: Path) -> Files:
    """Return the files below `folder`."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def check_message(error: OlscaleError) -> None:
    text = str(error)
    if len(text.splitlines()) != 1 or len(text) > LONGEST_MESSAGE:
        raise Broken(
            f"a message of {len(text)} characters on {len(text.splitlines())} lines: {text[:200]!r}"
        )
