"""Reads live journals (`olscale.results.live`), line by line, as they grow."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from olscale.results.live import LiveEvaluation
from olscale.results.store import Store
from olscale.system.interrupts import let_interrupt_out
from olscale.system.regular_file import open_regular

FOLDER = "live"

# In the place of a position in a part of a journal that has a successor.
_READ_TO_ITS_END = -1

# What a line raises that is no JSON, or not that of a journal.
_UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


class LiveReader:
    """Reads the journals of a store; each call reads only what was added since the last.

    Parameters
    ----------
    store : Store

    Examples
    --------
    >>> from olscale.results.opening import open_store
    >>> LiveReader(open_store("memory://doctest-live", create=True)).read()
    []
    """

    def __init__(self, store: Store) -> None:
        self._files = store.files
        self._known: dict[str, LiveEvaluation] = {}
        self._read: dict[str, int] = {}

    def read(self) -> list[LiveEvaluation]:
        """Return the evaluations that have a journal, newest first, by all readable lines."""
        try:
            names = [
                name for name in self._files.names(FOLDER) if name.endswith(".jsonl")
            ]
        except OSError:
            names = []
        # A journal that was away and is there again is read from its begin.
        self._read = {
            name: position for name, position in self._read.items() if name in names
        }
        journals = {journal_of(name) for name in names}
        for journal in self._known.keys() - journals:
            del self._known[journal]
        for journal, group in groupby(sorted(names), journal_of):
            parts = list(group)
            # Parts before the last that was read are never added to.
            for name in parts:
                self._read_part(journal, name, is_last=name == parts[-1])
        evaluations = [
            evaluation for evaluation in self._known.values() if evaluation.began
        ]
        return sorted(
            evaluations,
            key=lambda one: (one.began, one.id),
            reverse=True,
        )

    def _read_part(self, journal: str, name: str, is_last: bool) -> None:
        position = self._read.get(name, 0)
        if position == _READ_TO_ITS_END:
            return
        data = self._added(name, position)
        # the last line may still be in the making
        lines = data[: data.rfind(b"\n") + 1]
        evaluation = self._known.setdefault(journal, LiveEvaluation(journal))
        for line in lines.splitlines():
            try:
                evaluation.add(_line_content(line))
            except _UNREADABLE:  # of a power cut, or another version
                continue
        self._read[name] = position + len(lines) if is_last else _READ_TO_ITS_END

    def _added(self, name: str, start: int) -> bytes:
        """Return what a file has from a position on."""
        try:
            if self._files.local is None:
                return self._files.read(name)[start:]
            with open_regular(self._files.local / name) as file:
                file.seek(start)
                added: bytes = file.read()
                return added
        except Exception as fault:
            # removed meanwhile, or the object store does not answer
            let_interrupt_out(fault)
            return b""


def line_bytes(content: Mapping[str, Any]) -> bytes:
    r"""Return a line of a journal, with its checksum.

    Examples
    --------
    >>> line_bytes({"t": 1.5, "end": "done"})
    b'{"t":1.5,"end":"done","crc":"7fd29d23"}\n'
    """
    text = json.dumps(content, separators=(",", ":")).encode()[:-1]
    return b'%b,"crc":"%08x"}\n' % (text, zlib.crc32(text))


_CHECKED = re.compile(rb'(.*),"crc":"([0-9a-f]{8})"\}', re.DOTALL)


def _line_content(line: bytes) -> dict[str, Any]:
    """Return what a line says; that it is damaged is a `ValueError`.

    Lines of earlier versions have no checksum.
    """
    checked = _CHECKED.fullmatch(line)
    if checked and checked[2] != b"%08x" % zlib.crc32(checked[1]):
        raise ValueError("its checksum is wrong")
    content: dict[str, Any] = json.loads(line)
    return content


def journal_of(name: str) -> str:
    """Return which journal a file is part of.

    Examples
    --------
    >>> journal_of("live/20261122T101500-node7-4711-3fa9.0001.jsonl")
    '20261122T101500-node7-4711-3fa9'
    """
    return name.rpartition("/")[2].rsplit(".", 2)[0]
