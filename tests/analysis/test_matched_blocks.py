"""Comparisons are of matched blocks: runs that not all compared learners have change no rank, no p and no verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.analysis import summarise
from olscale.analysis.matched_blocks import RunBlock, Way, match_blocks
from olscale.report.comparison import Compared, compared
from olscale.results import Record, open_store, run_id

SCALED = ("standardize",)
RAW: tuple[str, ...] = ()
_stores = count()


def blocks(
    datasets: str, transforms: tuple[str, ...] = SCALED, replicates: str = "01"
) -> list[RunBlock]:
    """Return every replicate on each data set, data sets and replicates being letters."""
    return [
        RunBlock(Way(dataset, transforms), replicate)
        for dataset, replicate in product(datasets, replicates)
    ]


def ways(datasets: str) -> list[Way]:
    return [
        Way(dataset, transforms)
        for dataset, transforms in product(datasets, (SCALED, RAW))
    ]


def test_a_learner_met_otherwise_is_left_out() -> None:
    matched = match_blocks(
        {"a": blocks("xyz"), "b": blocks("xyz"), "c": blocks("xyz", RAW)}, ways("xyz")
    )
    assert matched.learners == ("a", "b")
    assert matched.learners_left_out == {"c": ()}
    assert [one.learner for one in matched.unmatched] == []


def test_what_lacks_the_largest_share_goes_first() -> None:
    matched = match_blocks(
        {
            "a": blocks("vwxyz"),
            "b": blocks("vwxyz"),
            "c": blocks("wxyz"),
            "d": blocks("v"),
        },
        ways("vwxyz"),
    )
    assert matched.learners == ("a", "b", "c")
    assert list(matched.blocks) == list("wxyz")
    assert matched.datasets_left_out == {"v": ("c",)}
    assert matched.learners_left_out == {"d": tuple("wxyz")}


def test_data_sets_of_one_learner_drive_nobody_out() -> None:
    matched = match_blocks(
        {"a": blocks("stuvwxyz"), "b": blocks("z")}, ways("stuvwxyz")
    )
    assert (matched.learners, list(matched.blocks)) == (("a", "b"), ["z"])


def test_a_data_set_comes_back_when_those_who_lack_it_have_gone() -> None:
    """On z most lack the block that most have, so that it goes before them; they go for want of the others."""
    few = {name: blocks("z", RAW, name) for name in "cdef"}
    matched = match_blocks({"a": blocks("xyz"), "b": blocks("xyz")} | few, ways("xyz"))
    assert (matched.learners, list(matched.blocks)) == (("a", "b"), list("xyz"))


def test_a_baseline_stays() -> None:
    of = {"a": blocks("vwxyz"), "b": blocks("vwxyz"), "c": blocks("v")}
    assert match_blocks(of, ways("vwxyz")).learners == ("a", "b")
    matched = match_blocks(of, ways("vwxyz"), baseline="c")
    assert (matched.learners, list(matched.blocks)) == (("a", "b", "c"), ["v"])


def test_nothing_in_common_is_nothing_to_compare() -> None:
    assert match_blocks({}, []).blocks == {}
    assert match_blocks({"a": blocks("x")}, ways("x")).blocks == {}
    assert (
        match_blocks({"a": blocks("xy"), "b": blocks("xy", RAW)}, ways("xy")).blocks
        == {}
    )


@settings(max_examples=50)
@given(st.data())
def test_runs_that_not_all_have_decide_nothing(data: st.DataObject) -> None:
    names = "abcd"[: data.draw(st.integers(2, 4))]
    datasets = "uvwxyz"[: data.draw(st.integers(1, 6))]
    base = {name: set(blocks(datasets)) for name in names}
    expected = match_blocks(base, ways("rst" + datasets))
    assert (expected.learners, list(expected.blocks)) == (tuple(names), list(datasets))

    more = {name: set(own) for name, own in base.items()}
    kinds = blocks(datasets, RAW) + blocks(datasets, SCALED, "23")
    for block in data.draw(st.sets(st.sampled_from(kinds), max_size=10)):
        for name in data.draw(st.sets(st.sampled_from(names), max_size=len(names) - 1)):
            more[name].add(block)
    for dataset in data.draw(st.sets(st.sampled_from("rst"[: len(datasets)]))):
        for name in data.draw(
            st.sets(st.sampled_from(names), max_size=(len(names) - 1) // 2)
        ):
            more[name].update(blocks(dataset))
    new = data.draw(
        st.sets(st.sampled_from(datasets), max_size=(len(datasets) - 1) // 2)
    )
    more["new"] = set(blocks("".join(new)) + blocks(datasets, RAW))

    matched = match_blocks(more, ways("rst" + datasets))
    assert matched.learners == expected.learners
    assert matched.blocks == expected.blocks


@settings(max_examples=50)
@given(st.data())
def test_the_runs_compared_alone_give_the_same(data: st.DataObject) -> None:
    """Whatever is in a store: what is left out could as well not be there."""
    every = [RunBlock(way, replicate) for way in ways("xyz") for replicate in "01"]
    of = {
        name: data.draw(st.sets(st.sampled_from(every), min_size=1)) for name in "abcd"
    }
    matched = match_blocks(of, ways("xyz"))
    used = {block for own in matched.blocks.values() for block in own}
    assert all(used <= of[name] for name in matched.learners if matched.blocks)
    again = match_blocks(
        {name: of[name] & used for name in matched.learners}, ways("xyz")
    )
    if matched.blocks:
        assert (again.learners, again.blocks) == (matched.learners, matched.blocks)
        assert not again.unmatched


LEARNERS = ("arow", "pa1", "perceptron")

Run = Callable[..., Record]


def only(records: Iterable[Record]) -> Compared:
    """Return the one comparison of the runs."""
    store = open_store(f"memory://matched-{next(_stores)}", create=True)
    store.write_together(list({record.id: record for record in records}.values()))
    [one] = compared(store, summarise(store), most=0)
    return one


def verdict(records: Iterable[Record]) -> dict[str, Any]:
    """Return what a comparison says in figures."""
    outcome = only(records).outcome
    return {
        "ranks": outcome.ranks.tolist(),
        "values": outcome.values.tolist(),
        "learners": outcome.learners,
        "friedman": outcome.friedman,
        "pairs": [
            (pair.a, pair.b, pair.wins, pair.difference, pair.p_corrected)
            for pair in outcome.pairs
        ],
        "cliques": outcome.cliques,
    }


@pytest.fixture(scope="module")
def run(make_record: Run) -> Run:
    """Return a maker of the run of a learner on a data set, whose error follows from both and from the permutation."""

    def make(
        learner: str, dataset: int, permutation: int = 0, name: str = "", **rest: Any
    ) -> Record:
        order = (permutation * 5 + dataset) % 3
        error = (
            0.1
            + 0.03 * ("cw", *LEARNERS).index(learner)
            + 0.01 * dataset
            + 0.007 * order
        )
        given = {"transforms": SCALED, "metrics": {"test_error": error}} | rest
        content = f"{dataset:x}" * 64
        name = name or f"set-{dataset}"
        return make_record(
            dataset=name,
            fingerprint=content,
            learner=learner,
            permutation=permutation,
            **given,
        )

    return make


def full(run: Run, **rest: Any) -> list[Record]:
    """Return three learners on six data sets, two permutations each."""
    return [run(*of, **rest) for of in product(LEARNERS, range(6), range(2))]


SETS = st.integers(0, 5)
FAILED = {"outcome": "diverged", "reason": "at row 3", "metrics": {}}


@settings(max_examples=15)
@given(st.data())
def test_no_figure_of_a_store_changes_with_runs_that_not_all_have(
    run: Run, data: st.DataObject
) -> None:
    """Other transforms, other permutations, a data set of some learners, a copy of a data set, a learner that failed."""
    expected = verdict(full(run))
    assert expected["friedman"].p < 0.05
    without = data.draw(st.sampled_from(LEARNERS))
    others = st.sampled_from([learner for learner in LEARNERS if learner != without])
    extreme = st.sampled_from([0.0, 0.9]).map(lambda error: {"test_error": error})
    more = {
        "transforms": lambda: run(
            data.draw(others),
            data.draw(SETS),
            transforms=RAW,
            metrics=data.draw(extreme),
        ),
        "permutation": lambda: run(
            data.draw(others), data.draw(SETS), 7, metrics=data.draw(extreme)
        ),
        "data set": lambda: run(data.draw(others), 9, metrics=data.draw(extreme)),
        "failed": lambda: run("cw", data.draw(SETS), **FAILED),
        "copy": lambda: run(data.draw(others), 3, name="set-3-again"),
    }
    kinds = data.draw(st.lists(st.sampled_from(sorted(more)), min_size=1, max_size=8))
    assert verdict([*full(run), *(more[kind]() for kind in kinds)]) == expected


def test_means_are_over_transforms_that_all_have(run: Run) -> None:
    raw = [
        run("arow", dataset, transforms=RAW, metrics={"test_error": 0.9})
        for dataset in range(6)
    ]
    one = only([*full(run), *raw])
    assert [pair.wins for pair in one.outcome.pairs if pair.a == "arow"] == [6, 6]
    said = (
        "6 runs of arow on set-0, set-1, set-2 and 3 more with no transforms (pa1, perceptron "
        "lack them)"
    )
    assert (
        f"Only runs that all learners have are compared; left out: {said}." in one.notes
    )
    assert {(left.learner, left.transforms, left.runs) for left in one.left_out} == {
        ("arow", RAW, 1)
    }


def test_one_data_set_under_two_names_counts_once(run: Run) -> None:
    copies = [
        run(*of, name=f"copy-{of[1]}") for of in product(LEARNERS, range(6), range(2))
    ]
    one = only([*full(run), *copies])
    assert one.outcome.datasets == tuple(f"copy-{dataset}" for dataset in range(6))
    assert "copy-0, set-0 have the same rows and count as one data set." in one.notes


def test_learners_on_copies_of_one_data_set_are_compared(run: Run) -> None:
    """Each has met the rows under another name."""
    runs = [
        record
        for i in range(5)
        for record in (run("arow", 1, i), run("pa1", 1, i, name="again"))
    ]
    assert only(runs).outcome.learners == ("arow", "pa1")


def test_a_learner_without_a_figure_is_named(run: Run) -> None:
    nothing = [run("cw", dataset, **FAILED) for dataset in range(6)]
    nothing += [
        replaced(run("cw", dataset, metrics={"test_error": math.nan}), "scw1")
        for dataset in range(6)
    ]
    nothing += [
        replaced(run("cw", dataset, metrics={"test_rmse": 2.0}), "ridge")
        for dataset in range(6)
    ]
    [note] = [
        note
        for note in only([*full(run), *nothing]).notes
        if note.startswith("Left out for want of")
    ]
    assert "cw (6 runs diverged)" in note
    assert "scw1 (no test error)" in note
    assert "ridge (no test error)" in note


def replaced(record: Record, learner: str = "", **protocol: Any) -> Record:
    """Return the record of another learner, or under another protocol."""
    definition = record.run | {"protocol": record.run["protocol"] | protocol}
    if learner:
        definition["learner"] = record.run["learner"] | {"name": learner}
    return replace(record, run=definition, id=run_id(definition))


def test_a_failed_permutation_is_left_out_for_all(run: Run) -> None:
    runs = [
        run(learner, 0, i)
        for learner, i in product(LEARNERS, range(3))
        if (learner, i) != ("pa1", 2)
    ]
    one = only([*runs, run("pa1", 0, 2, **FAILED)])
    assert [len(blocks) for blocks in one.blocks.values()] == [2]
    said = (
        "left out: 2 runs of arow, perceptron on set-0 with transforms standardize (pa1 (1 run "
        "diverged) lacks them)"
    )
    assert any(said in note for note in one.notes)


def test_rows_of_an_older_transform_are_not_those_of_today(run: Run) -> None:
    """And data sets whose transforms are of another version belong to the same comparison."""
    newer = [
        replaced(run(learner, 0, metrics={"test_error": 0.9}), transforms_version=2)
        for learner in LEARNERS
    ]
    one = only([*full(run), *newer])
    assert one.outcome.datasets == tuple(f"set-{dataset}" for dataset in range(6))
    assert one.outcome.values[0].tolist() == [0.9, 0.9, 0.9]


def test_protocols_of_one_learner_each_are_named(run: Run) -> None:
    alone = [replaced(run("arow", dataset), burn_in=10) for dataset in range(6)]
    [note] = [
        note
        for note in only([*full(run), *alone]).notes
        if note.startswith("Not compared")
    ]
    assert (
        note
        == "Not compared, for want of a second learner: arow in permuted order, burn in 10, seed 0."
    )
