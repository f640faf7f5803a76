"""The byte loop over Vowpal Wabbit text, alone and guarded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from olscale.data.formats import _vw_loop as loop
from olscale.data.formats._vw_names import ROOM
from olscale.errors import FormatError
from tests.fuzz.batches import ROWS
from tests.fuzz.guarded import check_marks, guarded_text, marked
from tests.fuzz.target import Broken, Target
from tests.fuzz.texts import VW, VW_WORDS, one

NAMES = 4
NAME_BYTES = 64
"""Room in the table of names, which some inputs fill."""


def read_rows(folder: Path) -> None:
    text = (folder / "rows.vw").read_bytes().replace(b"\0", b"0")
    text = text if text.endswith(b"\n") else text + b"\n"
    size = len(text)
    buffer = guarded_text(text)
    for mask in (-1, 31):
        slots = np.zeros(4 * NAMES, dtype=np.uint64)
        arena = marked(NAME_BYTES + ROOM, np.uint8)
        counts = np.zeros(4, dtype=np.int64)
        pos = 0
        hard_values = np.empty(0)
        while pos < size:
            entries = (size - pos) // 2 + 1
            arrays = [
                marked(ROWS, np.float64),
                marked(ROWS, np.float64),
                marked(ROWS + 1, np.int64),
                marked(entries, np.int32),
                marked(entries, np.float64),
                arena,
                marked(64, np.uint8),
                marked(entries, np.int32),
                marked(entries, np.float64),
                marked(entries, np.int64, (2,)),
            ]
            (
                labels,
                importances,
                indptr,
                indices,
                data,
                _,
                digits,
                spare_indices,
                spare_data,
                hard,
            ) = arrays
            indptr[0] = 0
            before = pos
            pos, _, rows, fault, token, hards = loop.parse_rows(
                buffer,
                pos,
                size,
                ROWS,
                10**6,
                True,
                mask < 0,
                mask,
                0,
                labels,
                importances,
                indptr,
                indices,
                data,
                slots,
                arena,
                counts,
                digits,
                spare_indices,
                spare_data,
                hard,
                hard_values,
                len(hard_values),
            )
            check_marks(arrays)
            if not 0 <= token <= size or rows > ROWS or int(indptr[rows]) > entries:
                raise Broken(
                    f"it went from {before} to {pos} of {size}, token at {token}"
                )
            hard_values = np.empty(0)
            if fault == loop.HARD_NUMBERS:
                spans = hard[:hards].tolist()
                hard_values = np.array([float(text[start:end]) for start, end in spans])
            elif fault == loop.FULL:
                break
            elif fault or pos <= before:
                raise FormatError("rows.vw", f"fault {fault}")


TARGETS = (Target("vw-loop", lambda: one("rows.vw", VW), read_rows, VW_WORDS),)
