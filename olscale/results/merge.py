"""Copy the runs of one store into another.

Nothing is copied before all of it is known to fit: a run, a selection or a model that both stores
have must be the same in both. Times come before results and plans last, so that a merge that is
killed leaves a store whose every run is complete, and the next one copies the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from olscale.errors import StoreError
from olscale.results.arrow_arrays import arrow_array
from olscale.results.difference import differing_rows, run_of
from olscale.results.plans import read_plans, write_plan
from olscale.results.selections import read_selections, write_selection
from olscale.results.store import Store, model_file

_RUNS_PER_FILE = 5000


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge did.

    Parameters
    ----------
    copied : int
        Runs that the store did not have.
    present : int
        Runs that both stores had, with equal records.
    """

    copied: int
    present: int


def merge_stores(into: Store, source: Store) -> Merge:
    """Copy runs, times, models, plans and selections of `source` that `into` does not have.

    Parameters
    ----------
    into, source : Store

    Returns
    -------
    Merge

    Raises
    ------
    StoreError
        If both have a run, a model or a selection of the same id with different content, if a file
        is damaged, or if `into` cannot be written to. Then nothing is copied, except where writing
        fails.

    Examples
    --------
    >>> from olscale.results import open_store
    >>> first = open_store("memory://doctest-merge-a", create=True)
    >>> merge_stores(first, open_store("memory://doctest-merge-b", create=True))
    Merge(copied=0, present=0)
    """
    if into.path == source.path:
        raise StoreError(f"{into.path} is merged into itself; expected two stores")
    own_rows = into.read()
    theirs = source.read()
    _refuse_other_records(into, source, own_rows, theirs)
    _refuse_other_selections(into, source)
    _refuse_other_models(into, source)

    finished = into.done()
    # A lost run has no result: it counts as done nowhere, and its own file is copied below.
    results = theirs.filter(pc.not_equal(theirs["outcome"], "lost"))
    is_done = pc.is_in(
        results["id"], value_set=arrow_array(sorted(finished), pa.string())
    )
    new = results.filter(pc.invert(is_done)).sort_by("id")
    ids = new["id"].to_pylist()

    times = source.timings(ids=new["id"]).sort_by("id")
    for start in range(0, len(times), _RUNS_PER_FILE):
        into.put_compacted("timings", "", times.slice(start, _RUNS_PER_FILE))
    for id in sorted(source.model_ids() - into.model_ids()):
        into.put(model_file(id), source.files.read(model_file(id)))
    for start in range(0, len(new), _RUNS_PER_FILE):
        into.put_compacted("runs", "", new.slice(start, _RUNS_PER_FILE))
    for name in source.single_files("lost"):
        if not into.exists(name):
            into.put(name, source.files.read(name))
    for selection in read_selections(source):
        write_selection(into, selection)
    # In order: `write_plan` numbers plans as they come, and the number says which was the first.
    for plan in sorted(read_plans(source), key=lambda plan: plan.number):
        write_plan(
            into,
            plan.experiment,
            plan.runs,
            plan.left_out,
            plan.datasets,
            plan.learners,
        )
    return Merge(copied=len(ids), present=len(results) - len(ids))


def _refuse_other_records(
    into: Store, source: Store, ours: pa.Table, theirs: pa.Table
) -> None:
    differing = [
        run_of(row)
        for row, their_row in differing_rows(ours, theirs)
        if "lost" not in (row["outcome"], their_row["outcome"])
    ]
    if differing:
        run = differing[0]
        raise StoreError(
            f"{len(differing):,} runs of {source.path} have other results in {into.path}, the "
            f"first of them {run.id[:12]} ({run.learner} on {run.dataset}); nothing is copied. "
            f"olscale store diff {into.path} {source.path} shows them, and olscale store forget "
            "removes those of one store"
        )


def _refuse_other_selections(into: Store, source: Store) -> None:
    own_selections = {selection.id: selection for selection in read_selections(into)}
    for selection in read_selections(source):
        if own_selections.get(selection.id, selection) != selection:
            learner, dataset = selection.learner_and_dataset
            raise StoreError(
                f"tuning of {learner} on {dataset} chose other parameters in {source.path} than in "
                f"{into.path}; nothing is copied"
            )


def _refuse_other_models(into: Store, source: Store) -> None:
    for id in sorted(into.model_ids() & source.model_ids()):
        if into.files.read(model_file(id)) != source.files.read(model_file(id)):
            raise StoreError(
                f"the model of run {id[:12]} has other bytes in {source.path} than in {into.path}; "
                "nothing is copied"
            )
