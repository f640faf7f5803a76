"""Run groups: runs that share a stream, so that each chunk is read and decoded once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from olscale.evaluation.budget import NO_BUDGET, Budget
from olscale.evaluation.run import Run, StreamKey
from olscale.results.record import run_id
from olscale.task import Task


@dataclass(frozen=True, slots=True)
class StreamSource:
    """What there is to stream.

    Attributes
    ----------
    path : str
        Where the dataset is.
    rows, numbers : int
        Rows of its training split, and values in them that are stored.
    bytes : int
        Bytes of the training split in memory.
    chunk_rows : int
        Rows of a chunk.
    task : {"classification", "regression", "novelty"}
        What is predicted.
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
        """Return the rows of the stream `key`, to a row, all passes together."""
        share = 1.0 if key.part is None else key.part.training_share
        return int(self.rows * share) * key.passes

    def held_out(self, key: StreamKey) -> int:
        """Return how many rows the final models of the stream `key` are tested on."""
        return self.test_rows if key.part is None else self.rows - self.length(key) // key.passes


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs on one stream.

    Attributes
    ----------
    path : str
        Where the dataset is.
    rows : int
        Length of the stream.
    runs : tuple of Run
        Runs with equal `Run.stream`.
    shards : tuple of range
        Classes of each class shard, if the group is a run in class shards; they make up all
        classes.
    shard : int, optional
        Which of the `shards` this is; all of them when left out.
    memory_limit : int, optional
        Bytes of memory that rows out of file order may take; half the machine's when left out. No
        result depends on it.
    chunk_rows : int
        Rows of a chunk of the dataset; 0 if unknown.
    origin : str
        `key` of a group with these runs and more, whose checkpoints this one continues; empty if
        there is none.
    budget : Budget
        What each of the runs may take.
    replaces : bool
        Whether results of these runs that the store has give way to new ones.
    together : bool
        Whether their records are written to one file, as those of an evaluation of many runs are.
    keeps_models : bool
        Whether the store gets their final models.
    bundle : int, optional
        Number of the bundle (`olscale.evaluation.bundles`) it is in; it is a task of its own when
        left out.
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
    bundle: int | None = None

    @property
    def key(self) -> str:
        """What the group's checkpoints are known by: a hash of its runs, its class shard and the cut into chunks."""
        classes = (
            None
            if self.shard is None
            else [self.shards[self.shard].start, self.shards[self.shard].stop]
        )
        return run_id(
            {
                "runs": [run.id for run in self.runs],
                "classes": classes,
                "chunk_rows": self.chunk_rows,
            }
        )

    def halves(self) -> list[RunGroup]:
        """Return two groups that have half of the runs each and continue this group's checkpoints."""
        middle = len(self.runs) // 2
        return [
            replace(self, runs=part, origin=self.key)
            for part in (self.runs[:middle], self.runs[middle:])
        ]

    def parts(self) -> list[RunGroup]:
        """Return the groups that run one after another or at once to run this one: its shards, or itself."""
        return [replace(self, shard=number) for number in range(len(self.shards))] or [self]

    @property
    def shuffled(self) -> bool:
        """Whether the stream is one of many: a permutation or a fold, not the whole in time order."""
        return self.runs[0].stream.shuffle is not None or self.runs[0].stream.part is not None

    @property
    def name(self) -> str:
        """Short name for progress reports and error messages."""
        key = self.runs[0].stream
        order = "time order" if key.shuffle is None else f"permutation {key.shuffle.index}"
        order += "" if key.part is None else f", fold {key.part.fold}"
        order += "" if key.projection is None else f", projection {key.projection}"
        learners = ", ".join(sorted({run.learner for run in self.runs}))
        if self.shard is not None:
            classes = self.shards[self.shard]
            learners += f", classes {classes.start} to {classes.stop - 1}"
        return f"{key.dataset}, {order}, {learners} [{self.runs[0].id[:6]}]"
