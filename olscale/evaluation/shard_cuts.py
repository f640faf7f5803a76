"""Which runs are cut into class shards, and into how many.

A run can be cut if its learner can join the models of its classes and no metric reads scores. It is
cut without a request only where little work is repeated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from olscale.data.dataset import Dataset, open_dataset
from olscale.data.transforms.pipeline import size_after
from olscale.evaluation.forecast import NUMBERS_A_SECOND, ROW_NUMBERS
from olscale.evaluation.metrics import METRICS, StreamShape
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup, stored_values
from olscale.learners.contract.class_axes import class_axes
from olscale.learners.contract.class_shards import cut_ranges
from olscale.learners.contract.cost import learning_seconds
from olscale.learners.registry import ask, make_learner

# Reading and prototypes are repeated in each shard: when any 16 classes made a shard, letter
# in two shards took twice the work of one piece. So a run is cut only where little is
# repeated (`shard_efficiency`). Shards stay apart from kernel learners, whose classes share
# one set of vectors and would be summed in another order.

PAYS = 0.8
"""Least efficiency (`shard_efficiency`) at which runs are cut into shards without a request."""

BALLOT_NUMBERS = 300
"""Cost of keeping the best class of a row, in numbers, in addition to `ROW_NUMBERS`."""

VALUE_NUMBERS = 2
"""Cost of reading and permuting a value of a row, in numbers; every shard repeats it."""


def can_shard(run: Run, classes: int) -> bool:
    """Return whether a run on so many classes can be cut into class shards."""
    scoring = run.stream.scoring
    shape = StreamShape(0, classes, (), scoring)
    if (
        classes < 3
        or scoring.interrupts
        or scoring.from_model  # a shard begins with a new model
        or scoring.weighted_measures  # the merge has no weights
        or scoring.threshold is not None
        or any(
            m.reads_scores or m.watches for m in METRICS.load_all() if m.meets(shape)
        )
    ):
        return False
    learner = make_learner(run.learner, run.params)
    return (
        ask(run.learner, "class_axes", lambda: class_axes(learner, classes)) is not None
    )


def shard_efficiency(run: Run, dataset: Dataset, shards: int) -> float:
    """Return the share of the work of so many shards that is not repeated; 1 if none is.

    It is the estimated time of the run in one piece divided by that of all shards together.

    Examples
    --------
    >>> import tempfile
    >>> from olscale.data.ingest.ingest import ingest
    >>> from olscale.evaluation.experiment import parse_experiment
    >>> from olscale.evaluation.plan import make_plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digits = ingest("sklearn:digits", f"{folder}/digits")
    ...     content = {"datasets": [{"path": digits.path}], "learners": [{"name": "lol"}]}
    ...     [run] = make_plan(parse_experiment(content | {"protocol": {"order": "time"}})).runs
    ...     round(shard_efficiency(run, digits, 2), 1)
    0.5
    """
    learner = make_learner(run.learner, run.params)
    rows = max(1, dataset.rows("train"))
    numbers = stored_values(dataset)
    columns, values = size_after(
        run.stream.transforms, dataset.columns, numbers / rows, dataset.manifest
    )
    classes = len(dataset.classes or ())

    def learning(of_classes: int) -> float:
        # Two classes have one score column, a shard of two has two.
        size = (columns, max(3, of_classes), values)
        return NUMBERS_A_SECOND * learning_seconds(learner, *size, rows) / rows

    every_shard = ROW_NUMBERS + BALLOT_NUMBERS + VALUE_NUMBERS * values
    in_one_piece = ROW_NUMBERS + VALUE_NUMBERS * values + learning(classes)
    return in_one_piece / (shards * (every_shard + learning(-(-classes // shards))))


def cut_shards(
    groups: Sequence[RunGroup],
    workers: int,
    asked: int | None = None,
    note: Callable[[str], None] = lambda line: None,
    datasets: Mapping[str, Dataset] = MappingProxyType({}),
) -> Iterator[RunGroup]:
    """Yield `groups`, with runs cut into class shards that are groups of their own.

    Parameters
    ----------
    groups : sequence of RunGroup
        Groups of whole runs.
    workers : int
        Number of groups that can run at the same time.
    asked : int, optional
        Number of shards to cut every run into, where a run can be cut. By default only groups of
        one run are cut, into as many shards as there are workers per group, where that pays
        (`shard_efficiency`).
    note : callable, optional
        Receives a line for each learner and dataset whose runs are cut although that takes longer,
        or are not cut because it would.
    datasets : mapping of str to Dataset, optional
        Datasets that are open already, by path.
    """
    opened = dict(datasets)
    noted: set[str] = set()
    for group in groups:
        # Many groups are on one dataset, which is expensive to open from an object store.
        if group.path not in opened:
            opened[group.path] = open_dataset(group.path)
        dataset = opened[group.path]
        classes = len(dataset.classes or ())
        most = min(classes, workers // len(groups) if asked is None else asked)
        in_one_piece: list[Run] = []
        for run in group.runs:
            # Runs of one group share its reading, which shards would repeat for each of them.
            may_cut = asked is not None or len(group.runs) == 1
            # The calibrator of a model that is kept reads scores, which shards do not share.
            may_cut = may_cut and not group.keeps_models
            cuttable = most > 1 and may_cut and can_shard(run, classes)
            shards = 1
            if cuttable:
                shards = _paying_shards(run, dataset, most)
            # One line per learner and dataset, not one per permutation.
            if cuttable and shards < 2:
                line = _repeated(
                    run, most, shard_efficiency(run, dataset, most), asked is not None
                )
                if line not in noted:
                    noted.add(line)
                    note(line)
            # The user's number wins over the estimate, which is only reported.
            if cuttable and asked is not None:
                shards = most
            if shards > 1:
                yield replace(
                    group, runs=(run,), shards=tuple(cut_ranges(classes, shards))
                )
            else:
                in_one_piece.append(run)
        if len(in_one_piece) == len(group.runs):
            yield group
        elif in_one_piece:
            yield replace(group, runs=tuple(in_one_piece))


def _paying_shards(run: Run, dataset: Dataset, most: int) -> int:
    """Return the largest number of shards, up to `most`, that repeat little; else 1."""
    for shards in range(most, 1, -1):
        if shard_efficiency(run, dataset, shards) >= PAYS:
            return shards
    return 1


def _repeated(run: Run, shards: int, efficiency: float, requested: bool) -> str:
    """Return a line that reports what class shards of a run cost."""
    work = (
        f"{shards} class shards of {run.learner} on {run.stream.dataset} take "
        f"{1 / efficiency:.1f} times the work of one"
    )
    reason = f"{work} piece: each reads all rows, and learns what classes share"
    if requested:
        return reason
    return f"{reason}; so it stays in one (--class-shards {shards} cuts it)"
