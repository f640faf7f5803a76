"""Run groups: runs that share a stream, so that each chunk is read and decoded only once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from olscale.data.dataset import Dataset
from olscale.evaluation.budget import NO_BUDGET, Budget
from olscale.evaluation.run import Run, StreamKey
from olscale.results.record import run_id
from olscale.task import Task


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A dataset that can be streamed.

    Attributes
    ----------
    path : str
        Path of the dataset.
    rows, numbers : int
        Rows of its training split, and stored values in them.
    bytes : int
        Bytes of the training split in memory.
    chunk_rows : int
        Rows per chunk.
    task : {"classification", "regression", "novelty"}
        Task of the dataset.
    test_rows : int
        Rows of its test split.
    """

    path: str
    rows: int
    numbers: int
    bytes: int = 0
    chunk_rows: int = 0
    task: Task = "classification"
    test_rows: int = 0

    def length(self, key: StreamKey) -> int:
        """Return the rows of the stream `key` over all passes."""
        if key.part is None:
            return self.rows * key.passes
        learned = int(self.rows * key.part.training_share)
        return max(1, int(key.part.share * learned)) * key.passes

    def held_out(self, key: StreamKey) -> int:
        """Return the number of rows that test the final models of the stream `key`."""
        if key.part is None:
            return self.test_rows
        return self.rows - int(self.rows * key.part.training_share)


def stored_values(dataset: Dataset) -> int:
    """Return how many values the rows of a training split store; sparse rows store no zeros."""
    if dataset.kind == "sparse":
        return dataset.nonzeros("train")
    return dataset.rows("train") * dataset.columns


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs on one stream.

    Attributes
    ----------
    path : str
        Path of the dataset.
    rows : int
        Length of the stream.
    runs : tuple of Run
        Runs with equal `Run.stream`.
    shards : tuple of range
        Classes of each class shard, if the group is a run in class shards; together they are all
        classes.
    shard : int, optional
        Index of this group's shard; None for all shards.
    memory_limit : int, optional
        Bytes of memory for rows out of file order; half of the machine's by default. No result
        depends on it.
    chunk_rows : int
        Rows per chunk of the dataset; 0 if unknown.
    origin : str
        `key` of a larger group with these runs, whose checkpoints this group continues; empty
        without one.
    budget : Budget
        Limits of each run.
    replaces : bool
        Whether new results replace those that the store has.
    together : bool
        Whether the records share one file, as in an evaluation of many runs.
    keeps_models : bool
        Whether the store keeps the final models.
    restorable : bool
        Whether the group can be continued from a checkpoint.
    pickles : bool
        Whether these may be pickles.
    unsaved : frozenset of str
        Ids of runs whose learners cannot be saved.
    model : str
        Path of the saved model that the stream begins with; empty for a new one.
    labels : mapping of str to str
        What the experiment calls learners, by run id, where that is another name.
    bundle : int, optional
        Number of its bundle (`olscale.evaluation.cut_groups`); None for a group with a task of its
        own.
    """

    path: str
    rows: int
    runs: tuple[Run, ...]
    shards: tuple[range, ...] = ()
    shard: int | None = None
    memory_limit: int | None = None
    chunk_rows: int = 0
    origin: str = ""
    budget: Budget = NO_BUDGET
    replaces: bool = False
    together: bool = False
    keeps_models: bool = False
    restorable: bool = True
    pickles: bool = False
    unsaved: frozenset[str] = frozenset()
    model: str = ""
    bundle: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)

    @property
    def key(self) -> str:
        """Name of the group's checkpoints: a hash of its runs, class shard and chunk size."""
        classes = None
        if self.shard is not None:
            shard = self.shards[self.shard]
            classes = [shard.start, shard.stop]
        return run_id(
            {
                # Budgets and memory limits stay out: checkpoints continue under other limits.
                "runs": [run.id for run in self.runs],
                "classes": classes,
                "chunk_rows": self.chunk_rows,
            }
        )

    def halves(self) -> list[RunGroup]:
        """Return two groups with half of the runs each that continue this group's checkpoints."""
        middle = len(self.runs) // 2
        return [
            # Halves have keys of their own, so `origin` leads to the checkpoints of the whole
            # group.
            replace(self, runs=part, origin=self.key)
            for part in (self.runs[:middle], self.runs[middle:])
        ]

    def parts(self) -> list[RunGroup]:
        """Return the groups that make up this one: its shards, or itself."""
        if not self.shards:
            return [self]
        return [replace(self, shard=number) for number in range(len(self.shards))]

    @property
    def shuffled(self) -> bool:
        """Whether the stream is a permutation or a fold, instead of all rows in time order."""
        key = self.runs[0].stream
        return key.shuffle is not None or key.part is not None

    @property
    def name(self) -> str:
        """Short name for progress reports and error messages."""
        key = self.runs[0].stream
        order = (
            "time order" if key.shuffle is None else f"permutation {key.shuffle.index}"
        )
        if key.part is not None:
            order += f", fold {key.part.fold}"
        if key.projection is not None:
            order += f", projection {key.projection}"
        learners = ", ".join(
            sorted({self.labels.get(run.id, run.learner) for run in self.runs})
        )
        if self.shard is not None:
            classes = self.shards[self.shard]
            learners += f", classes {classes.start} to {classes.stop - 1}"
        # Part of an id keeps the names of groups with the same learners apart.
        return f"{key.dataset}, {order}, {learners} [{self.runs[0].id[:6]}]"
