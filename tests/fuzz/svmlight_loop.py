"""The byte loop over SVMlight text, alone and guarded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from olscale.data.formats import _svmlight_loop as loop
from olscale.errors import FormatError
from tests.fuzz.batches import ROWS
from tests.fuzz.guarded import check_marks, guarded_text, marked
from tests.fuzz.target import Broken, Target
from tests.fuzz.texts import SVMLIGHT, SVMLIGHT_WORDS, one


def read_rows(folder: Path) -> None:
    text = (folder / "rows.svm").read_bytes()
    text = text if text.endswith(b"\n") else text + b"\n"
    buffer = guarded_text(text)
    pos = 0
    size = len(text)
    while pos < size:
        left = size - pos
        rows = min(left // 2 + 1, ROWS)
        pairs = left // 4 + 1
        hards = left // 2 + 1
        arrays = [
            marked(rows, np.float64),
            marked(rows + 1, np.int64),
            marked(pairs, np.int32),
            marked(pairs, np.float64),
            marked(hards, np.int64, (3,)),
        ]
        arrays[1][0] = 0
        before = pos
        labels_needed = size % 2 == 0  # inputs have any size
        pos, _, got, _, _, _, fault, token, _ = loop.parse_rows(
            buffer, pos, size, ROWS, 10**6, True, 0, labels_needed, 0, *arrays
        )
        check_marks(arrays)
        if not 0 <= token <= size or (not before < pos <= size and not fault):
            raise Broken(f"it went from {before} to {pos} of {size}, token at {token}")
        if fault:
            raise FormatError("rows.svm", f"fault {fault}")
        if got > ROWS or int(arrays[1][got]) > pairs:
            raise Broken(f"{got} rows, {arrays[1][got]} pairs")


TARGETS = (
    Target(
        "svmlight-loop", lambda: one("rows.svm", SVMLIGHT), read_rows, SVMLIGHT_WORDS
    ),
)
