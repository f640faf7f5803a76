"""The merge of class shards: bit for bit the record that their run would have in one piece.

It counts the rows like any other run, and joins the states of the shards to one model.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.dataset import open_dataset
from olscale.evaluation.class_shards import array_name
from olscale.evaluation.group_pass import stream_shape
from olscale.evaluation.learning_time import LearningTime
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.run_state import RunState
from olscale.learners.contract.class_axes import class_axes, join_classes
from olscale.results.record import Record
from olscale.results.scratch import Scratch

Learned = dict[str, NDArray[Any]]


def merge_shards(
    group: RunGroup,
    scratch: Scratch,
    see: Callable[[RunState, Learned], None] = lambda merged, learned: None,
) -> Record:
    """Return the record of a run whose shards have all ended, as if it had run in one piece.

    A failure is the one that the run would have in one piece: that of the first shard to fail.
    `fit_seconds` is the sum over the shards. `see` receives the end of the run, with what its
    transforms have learned, which is the same in each shard.

    Raises
    ------
    StoreError
        If an array that a shard wrote no longer exists.
    """
    run = group.runs[0]
    ends = [scratch.read(array_name(classes, "end")) for classes in group.shards]
    rows = int(ends[0]["rows"][0])
    columns = int(ends[0]["columns"][0])
    shape = stream_shape(open_dataset(group.path), run.stream, rows)
    merged = RunState(run, shape, columns)
    failed = [
        (tuple(end["failed_at"]), number)
        for number, end in enumerate(ends)
        if end["outcome"][0] != "ok"
    ]
    if failed:
        _, first = min(failed)
        outcome, reason = ends[first]["outcome"]
        merged.fail(str(outcome), str(reason))
    else:
        first = updates = 0
        for y, codes, moved in _counted(group, scratch, "train", int(ends[0]["blocks"][0])):
            # Metrics here never read scores (`can_shard`), which shards do not share.
            merged.count(np.arange(first, first + len(y)), y, codes, _NO_SCORES)
            first += len(y)
            updates += int(moved.sum())
        for y, codes, _ in _counted(group, scratch, "test", int(ends[0]["blocks"][1])):
            merged.count_test(y, codes, _NO_SCORES)
        merged.learner.restore(
            _joined(merged, shape.classes, group, ends) | {"updates": np.array([updates])}
        )
    learning = sum((LearningTime.from_array(end["seconds"]) for end in ends), LearningTime())
    read = sum(float(end["read_seconds"][0]) for end in ends)
    mark = "transforms."
    see(
        merged,
        {name.removeprefix(mark): ends[0][name] for name in ends[0] if name.startswith(mark)},
    )
    return merged.record(learning.timings(rows) | {"read_seconds": read})


_NO_SCORES = np.empty((0, 0))


def _counted(
    group: RunGroup, scratch: Scratch, split: str, blocks: int
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield targets, predicted codes and changes of the model, block by block."""
    for block in range(blocks):
        ballots = [
            scratch.read(array_name(classes, f"{split}.{block}")) for classes in group.shards
        ]
        y = ballots[0]["y"].astype(np.int64)
        # Shards are in order of classes, so the first of equal scores is that of the first class.
        shard = np.argmax(np.stack([ballot["score"] for ballot in ballots], axis=1), axis=1)
        codes = np.stack([ballot["code"] for ballot in ballots], axis=1)[
            np.arange(len(y)), shard
        ].astype(np.int64)
        moved = [ballot["moved"] for ballot in ballots if "moved" in ballot]
        yield y, codes, np.any(moved, axis=0) if moved else np.zeros(len(y), dtype=bool)


def _joined(
    merged: RunState, classes: int, group: RunGroup, ends: Sequence[dict[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    mark = "state."
    states = [
        {name.removeprefix(mark): end[name] for name in end if name.startswith(mark)}
        for end in ends
    ]
    axes = [
        class_axes(merged.learner, count) or {}
        for count in (classes, *(len(shard) for shard in group.shards))
    ]
    return join_classes(states, axes[0], axes[1:])
