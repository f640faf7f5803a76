"""The check that sums over rows are all the state between two rows, so checkpoints suffice."""

from typing import Any

import numpy as np

from olscale.compiled.csr import read_only
from olscale.data.chunk import Chunk
from olscale.learners.contract.learner import Learner, State
from olscale.learners.contract.merged_sums import mergeable, sums_key
from olscale.testing.check_list import check_plain_arrays
from olscale.testing.small_streams import (
    COLUMNS,
    assert_same_arrays,
    class_counts,
    cut,
    real_names,
    start_with,
    stream,
)

_CUTS = [0, 1, 100, 300, 512, 720]


def same_sums(learner: type[Learner], params: dict[str, Any]) -> list[dict[str, Any]]:
    """Return settings that claim the sums of `params`, each with one number changed."""
    key = sums_key(learner(**params))
    others = [{**params, name: 0.5} for name in real_names(learner, params)]
    made = [(other, learner(**other)) for other in others]
    return [other for other, one in made if key and mergeable(one) and sums_key(one) == key]


def check_sums_go_on_from_copies(learner: type[Learner], params: dict[str, Any]) -> None:
    """Another learner continues from the sums between any two rows to the same bits.

    Who adds up keeps nothing of the rows, and any of the settings that claim the same sums may: who
    comes first in a group depends on what else is evaluated.
    """
    for classes in class_counts(learner):
        parts = [stream(classes, "dense", seed) for seed in range(3)]
        X, y = (
            read_only(np.concatenate([getattr(part, name) for part in parts]))
            for name in ("X", "y")
        )
        chunk = Chunk(X, y, COLUMNS)
        one: Any = start_with(learner, params, chunk.X, classes)
        before = _copies(one.state())
        sums = one.no_sums()
        one.add_rows(chunk.X, chunk.y, sums)
        assert_same_arrays(one.state(), before, "state")
        expected = _copies(one.end_sums(sums))
        for setting in (params, *same_sums(learner, params)):
            going: State = {}
            for rows, labels in cut(chunk, _CUTS):
                other: Any = start_with(learner, setting, chunk.X, classes)
                going = _copies(going or other.no_sums())
                check_plain_arrays("sum", going)
                other.add_rows(rows, labels, going)
            other = start_with(learner, setting, chunk.X, classes)
            assert_same_arrays(other.end_sums(_copies(going)), expected, "sum")


def _copies(arrays: State) -> State:
    return {name: array.copy() for name, array in arrays.items()}
