"""What was learned twice: read from the notes of the learners (`tests.chaos.learners`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.learners import CHUNK_ROWS, CHUNKS

__all__ = ["Note", "Place", "places", "read_notes", "setbacks"]

Place = tuple[str, int, int]
"""A chunk of a run: learner, number of its stream, rows of the stream before the end of the chunk."""


@dataclass(frozen=True, slots=True)
class Note:
    """That a chunk has been learned from.

    Attributes
    ----------
    when : float
        Seconds on the clock, at the end.
    process : int
    learner, chunk : str
        Hashes of name and parameters, and of these with the rows.
    rows : int
    seconds : float
        How long it took: processor time, and what the learner waited for on purpose.
    """

    when: float
    process: int
    learner: str
    chunk: str
    rows: int
    seconds: float


def read_notes(path: Path) -> list[Note]:
    """Return the notes in a file, as they were made; half a line of a process that was killed is passed over."""
    lines = (line.split() for line in path.read_text().splitlines())
    return [
        Note(float(when), int(process), learner, chunk, int(rows), float(seconds))
        for when, process, learner, chunk, rows, seconds in (
            line for line in lines if len(line) == 6
        )
    ]


def places(undisturbed: Iterable[Note]) -> dict[str, Place]:
    """Return which chunk of which run each hash is, from the notes of undisturbed runs, one stream after another."""
    learned: dict[str, int] = defaultdict(int)
    found: dict[str, Place] = {}
    for note in undisturbed:
        stream, before = divmod(learned[note.learner], CHUNKS * CHUNK_ROWS)
        found[note.chunk] = note.learner, stream, before + note.rows
        learned[note.learner] += note.rows
    return found


def setbacks(notes: Sequence[Note], where: Mapping[str, Place]) -> list[float]:
    """Return how much was learned again each time that a run group went on from a place it had been beyond.

    A process that goes through a stream from some chunk on is a stretch. What others had learned
    before, or an earlier stretch of its own, is done again; the runs of a group go through a stream
    together and are counted together.

    Parameters
    ----------
    notes : sequence of Note
        Of a disturbed evaluation.
    where : mapping of str to Place
        What `places` returned.

    Returns
    -------
    list of float
        Seconds of learning, of all stretches in which anything was learned again.
    """
    known: set[str] = set()
    # process and run: number of its stretch, rows
    last: dict[tuple[int, str, int], tuple[int, int]] = {}
    # process, stream, number of the stretch: seconds
    again: dict[tuple[int, int, int], float] = defaultdict(float)
    for note in sorted(notes, key=lambda note: note.when):
        learner, stream, rows = where[note.chunk]
        stretch, before = last.get((note.process, learner, stream), (0, 0))
        stretch += rows <= before
        last[note.process, learner, stream] = stretch, rows
        if note.chunk in known:
            again[note.process, stream, stretch] += note.seconds
        known.add(note.chunk)
    return list(again.values())
