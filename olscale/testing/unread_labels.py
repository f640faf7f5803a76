"""Absent labels are never read: a loop that reads one may crash, depending on memory layout."""

import mmap
from pathlib import Path

import numpy as np

from olscale.arrays import Array
from olscale.compiled.csr import read_only
from olscale.learners.contract.estimator import OnePass
from olscale.learners.contract.learner import Learner, no_labels
from olscale.testing.small_streams import start, stream

_PAGEMAP = Path("/proc/self/pagemap")
_PRESENT = 1 << 63
"""Bit of an entry in the page map that says the page was touched."""


def check_scoring_reads_no_label(learner: type[Learner], classes: int, kind: str) -> None:
    """A loop that scores without learning reads no label, as none exists (Linux only)."""
    chunk = stream(classes, kind)
    fresh = start(learner, classes)
    fresh.learn(chunk.X, chunk.y)
    if not isinstance(fresh, OnePass) or not _PAGEMAP.exists():
        return
    with mmap.mmap(-1, 2 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        labels = _none_before_the_second_page(pages, no_labels(fresh.task))
        fresh._run(chunk.X, labels, learning=False)
        touched = _is_touched(labels.ctypes.data)
        del labels  # otherwise the pages could not be released
    assert not touched, "it reads a label although it does not learn: labels have no rows then"


def _none_before_the_second_page(pages: mmap.mmap, none: Array) -> Array:
    """Return an array like `none`, followed by an untouched page."""
    return read_only(np.ndarray(none.shape, none.dtype, pages, mmap.PAGESIZE))


def _is_touched(address: int) -> bool:
    with _PAGEMAP.open("rb") as file:
        file.seek(address // mmap.PAGESIZE * 8)
        return bool(int.from_bytes(file.read(8), "little") & _PRESENT)
