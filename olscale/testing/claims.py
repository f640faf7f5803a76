"""Checks of a learner's claims beyond the contract: its capabilities and its odd rows."""

from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, read_only, slice_rows, to_csr, to_dense
from olscale.data.chunk import Chunk
from olscale.errors import DivergedError
from olscale.learners.contract.capability import ExplainsNoScore, LooksAhead, ShiftFree, shift_free
from olscale.learners.contract.class_axes import ShardsClasses, class_axes, join_classes
from olscale.learners.contract.class_shards import ClassShard
from olscale.learners.contract.compilation import CompilesLoops
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.fused_settings import FusesSettings, fuse, grid_key
from olscale.learners.contract.learner import FloatArray, Learner, hide_labels
from olscale.learners.contract.merged_sums import MergesSums, mergeable
from olscale.learners.contract.usable_rows import learn_usable, learn_usable_together, score_usable
from olscale.testing.check_list import Check, name_check
from olscale.testing.other_values import goes_together
from olscale.testing.saved_sums import check_sums_go_on_from_copies, same_sums
from olscale.testing.small_streams import (
    CLASSES,
    COLUMNS,
    ROWS,
    assert_same_state,
    choices,
    class_counts,
    continue_from,
    cut,
    real_names,
    start,
    start_with,
    stream,
    variants,
)

CAPABILITIES = (
    LooksAhead,
    ShardsClasses,
    FusesSettings,
    MergesSums,
    EstimatesCost,
    CompilesLoops,
    ShiftFree,
    ExplainsNoScore,
)


def claim_checks(learner: type[Learner]) -> list[Check]:
    """Return a named check per claim of the class `learner`; `learner_checks` includes them."""
    checks = [name_check(check_capabilities_are_declared, learner)]
    if learner.layout_exact:
        checks.append(name_check(check_dense_and_csr_give_the_same_bits, learner))
    for params in choices(learner):
        words = ", ".join(map(str, params.values()))
        for text, n, kind in variants(learner) if learner.takes_unknown else ():
            of = ", ".join(filter(None, (words, text)))
            checks.append(
                name_check(
                    check_rows_of_unknown_class_are_only_scored, learner, params, n, kind, of=of
                )
            )
        unusable = check_rows_that_cannot_be_used_end_learning
        checks.append(name_check(unusable, learner, params, of=words or "no choices"))
        if shift_free(learner(**params)):
            blind = check_a_large_offset_does_not_blind_a_distance
            checks.append(name_check(blind, learner, params, of=words))
        if class_axes(learner(**params), CLASSES) is not None:
            checks.append(name_check(check_class_shards_are_the_whole, learner, params, of=words))
        if mergeable(learner(**params)):
            checks.append(
                name_check(check_merged_sums_make_the_final_model, learner, params, of=words)
            )
            checks.append(name_check(check_sums_go_on_from_copies, learner, params, of=words))
        if grid_key(learner(**params)) is not None:
            fused = check_fused_settings_have_the_bits_of_settings_alone
            checks.append(name_check(fused, learner, params, of=words))
    return checks


def check_dense_and_csr_give_the_same_bits(learner: type[Learner]) -> None:
    """Scores and state do not depend on the rows' layout, if a learner claims `layout_exact`."""
    for classes in class_counts(learner):
        fresh = []
        scores = []
        for kind in ("dense", "csr"):
            chunk = stream(classes, kind)
            fresh.append(start(learner, classes))
            scores.append(fresh[-1].learn(chunk.X, chunk.y))
        np.testing.assert_array_equal(scores[0], scores[1])
        assert_same_state(*fresh)


def check_a_large_offset_does_not_blind_a_distance(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """Rows with one feature near 1e8 are scored as they are without the offset of 1e8."""
    shift = np.zeros(COLUMNS)
    shift[1] = 1e8
    for classes in class_counts(learner):
        chunk = stream(classes, "dense")
        far = read_only(to_dense(chunk.X, COLUMNS) + shift)
        near = read_only(far - shift)  # what rounding has left of them
        expected = start_with(learner, params, near, classes).learn(near, chunk.y)
        for rows in (far, to_csr(far)):
            scores = start_with(learner, params, rows, classes).learn(rows, chunk.y)
            wrong = ~(np.abs(scores - expected) <= 1e-3 * (1.0 + np.abs(expected)))
            share = np.mean(wrong)
            assert share <= 0.02, f"{share:.0%} of the scores differ with an offset of 1e8"


def check_rows_of_unknown_class_are_only_scored(
    learner: type[Learner], params: dict[str, Any], classes: int, kind: str
) -> None:
    """Rows of unknown class are scored among learned rows as they would be alone."""
    chunk = stream(classes, kind)[:100]
    learning = np.random.default_rng(1).random(len(chunk)) < 0.6
    separate, combined = (start_with(learner, params, chunk.X, classes, (3, 1)) for _ in range(2))
    expected = []
    for i in range(len(chunk)):
        row = slice_rows(chunk.X, i, i + 1)
        expected.append(
            separate.learn(row, chunk.y[i : i + 1]) if learning[i] else separate.scores(row)
        )
    y = hide_labels(chunk.y, ~learning)
    scores = [
        combined.learn(X, labels)
        for X, labels in cut(Chunk(chunk.X, y, COLUMNS), [0, 64, len(chunk)])
    ]
    np.testing.assert_array_equal(np.concatenate(scores), np.concatenate(expected))
    assert_same_state(separate, combined)


def check_rows_that_cannot_be_used_end_learning(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """An unusable row gets NaN, and so do all rows after it, whether it is learned or only scored.

    Unusable are rows with NaN or infinities, or of a length whose square overflows or underflows.
    Rows of zeros are fine, and what comes before is unchanged.
    """
    low, high = learner(**params).norm_limits()
    lengths = [length for length in (10.0 * high**0.5, 0.1 * low**0.5) if 0.0 < length < np.inf]
    for classes, kind in product(class_counts(learner), ("dense", "csr")):
        chunk = stream(classes, "dense")[:50]
        assert not isinstance(chunk.X, CSR)
        fresh = start_with(learner, params, chunk.X, classes)
        beginning = (
            fresh.state()
        )  # reused below, because looking ahead may take longer than all the rest
        clean = Chunk(chunk.X if kind == "dense" else to_csr(chunk.X), chunk.y, COLUMNS)
        learned = learn_usable(fresh, clean.X, clean.y)
        scored = score_usable(fresh, clean.X)
        for value, at in product((np.nan, np.inf, -np.inf, *lengths), (0, 40)):
            X: Any = np.array(chunk.X)
            X[at] = np.where(np.arange(COLUMNS) == 3, value, 0.0 if np.isfinite(value) else X[at])
            rows = Chunk(X if kind == "dense" else to_csr(X), chunk.y, COLUMNS)
            where = f"{classes} classes, {kind}, {value:.3g} in row {at}"
            for unknown in {False, learner.takes_unknown}:
                y = read_only(hide_labels(chunk.y, (np.arange(50) == at) & unknown))
                scores = learn_usable(continue_from(learner, params, beginning, classes), rows.X, y)
                np.testing.assert_array_equal(scores[:at], learned[:at], err_msg=where)
                assert not np.isfinite(scores[at:]).any(), (
                    f"learn went on as if nothing were the matter: {where}"
                )
            scores = score_usable(fresh, rows.X)
            assert not np.isfinite(scores[at]).any(), f"scores has a number for it: {where}"
            np.testing.assert_array_equal(scores[:at], scored[:at], err_msg=where)


def check_class_shards_are_the_whole(learner: type[Learner], params: dict[str, Any]) -> None:
    """Class shards of any size give the whole learner's results, if it has `class_axes`.

    Results are scores, updates and state.
    """
    for kind in ("dense", "csr"):
        chunk = stream(CLASSES, kind)
        full = learner(**params)
        full.begin(COLUMNS, CLASSES, (3, 1))
        expected = full.learn(chunk.X, chunk.y)
        for cuts in ((0, 1, 2, 3, 4), (0, 1, 4), (0, 2, 4), (0, 3, 4), (0, 4)):
            ranges = [range(first, last) for first, last in pairwise(cuts)]
            shards = [ClassShard(learner(**params), classes) for classes in ranges]
            learned = []
            moved = np.zeros(ROWS, dtype=bool)
            for shard in shards:
                shard.begin(COLUMNS, CLASSES, (3, 1))
                parts = [(shard.learn(X, y), shard.moved) for X, y in cut(chunk, [0, 64, ROWS])]
                learned.append(np.concatenate([scores for scores, _ in parts]))
                moved |= np.concatenate([rows for _, rows in parts])
            np.testing.assert_array_equal(
                np.concatenate(learned, axis=1), expected, err_msg=f"shards {cuts}"
            )
            scores = np.concatenate([shard.scores(chunk.X) for shard in shards], axis=1)
            np.testing.assert_array_equal(
                scores, full.scores(chunk.X), err_msg=f"scores of shards {cuts}"
            )
            axes = class_axes(full, CLASSES)
            parts_of = [class_axes(full, len(classes)) for classes in ranges]
            state = join_classes(
                [shard.state() for shard in shards], axes or {}, [part or {} for part in parts_of]
            )
            state["updates"] = np.array([moved.sum()])
            for name, array in full.state().items():
                np.testing.assert_array_equal(
                    state[name], array, err_msg=f"state array {name} of shards {cuts}"
                )


def check_merged_sums_make_the_final_model(learner: type[Learner], params: dict[str, Any]) -> None:
    """The scores equal those of learning row by row, up to rounding.

    No cut of a block changes a bit. The same holds for each other setting that claims to have the
    same sums.
    """
    for classes in class_counts(learner):
        chunk = stream(classes, "dense")
        results = []
        along = start_with(learner, params, chunk.X, classes)
        along.learn(chunk.X, chunk.y)
        for cuts in ([0, 100], [0, 1, 64, 99, 100]):
            summing: Any = start_with(learner, params, chunk.X, classes)
            # Two parts of the stream, summed separately and then added, as workers do.
            ends = []
            for rows, edges in ((chunk[:100], cuts), (chunk[100:], [0, ROWS - 100])):
                sums = summing.no_sums()
                for part, y in cut(rows, edges):
                    summing.add_rows(part, y, sums)
                ends.append(summing.end_sums(sums))
            sums = {name: array + ends[1][name] for name, array in ends[0].items()}
            summing.take_sums({name: array.copy() for name, array in sums.items()})
            results.append(summing)
        assert_same_state(*results)
        np.testing.assert_allclose(
            results[0].scores(chunk.X), along.scores(chunk.X), rtol=1e-5, atol=1e-7
        )
        for setting in same_sums(learner, params):
            merging: Any = start_with(learner, setting, chunk.X, classes)
            by_itself = start_with(learner, setting, chunk.X, classes)
            merging.take_sums({part: array.copy() for part, array in sums.items()})
            by_itself.learn(chunk.X, chunk.y)
            np.testing.assert_allclose(
                merging.scores(chunk.X), by_itself.scores(chunk.X), rtol=1e-5, atol=1e-7
            )


def check_fused_settings_have_the_bits_of_settings_alone(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """Settings that share a pass keep their scores and state, also after an unusable row.

    This holds whether one number differs or all that may. A setting that diverges does so at the
    same row, and the others continue.
    """
    key = grid_key(learner(**params))
    names = real_names(learner, params)
    numbers = [name for name in names if grid_key(learner(**params, **{name: 0.5})) == key]
    assert numbers or not names, (
        "settings of which a number differs do not share a pass; grid_key is to be None then"
    )
    for varied in {tuple(numbers), *((name,) for name in numbers)}:
        settings = [{**params, **dict.fromkeys(varied, value)} for value in (0.1, 0.5, 0.9)]
        settings = [setting for setting in settings if goes_together(learner(**setting))]
        for classes, kind in product(class_counts(learner), ("dense", "csr")):
            _check_fused(learner, settings, classes, kind)


def _check_fused(
    learner: type[Learner], settings: list[dict[str, Any]], classes: int, kind: str
) -> None:
    chunk = stream(classes, kind)
    broken = np.array(stream(classes, "dense").X[:9])
    broken[5, 3] = np.nan
    end = Chunk(
        to_csr(broken) if kind == "csr" else broken, chunk.y[:9], COLUMNS
    )  # read-only, as those of streams
    separate, grouped = (
        [start_with(learner, setting, chunk.X, classes) for setting in settings] for _ in range(2)
    )
    fused = fuse(grouped)
    usable = set(range(len(settings)))
    for part, y in [*cut(chunk, [0, 64, ROWS]), (end.X, end.y)]:
        scores = learn_usable_together(fused, grouped[0], part, y)
        fused.release()
        for n in tuple(usable):
            expected = _learned(separate[n], part, y)
            if isinstance(expected, DivergedError):
                assert str(scores[n]) == str(expected)
                usable.remove(n)
            else:
                np.testing.assert_array_equal(scores[n], expected)
            assert_same_state(grouped[n], separate[n])


def _learned(learner: Learner, X: Rows, y: NDArray[Any]) -> FloatArray | DivergedError:
    """Return the scores of rows, or the error that ended learning."""
    try:
        return learn_usable(learner, X, y)
    except DivergedError as error:
        return error


def check_capabilities_are_declared(learner: type[Learner]) -> None:
    """A learner declares the capabilities whose methods it has; otherwise nothing calls them."""
    for capability in CAPABILITIES:
        for method in vars(capability).keys() & set(dir(learner)):
            assert method.startswith("_") or issubclass(learner, capability), (
                f"{method} is a method of the capability {capability.__name__}: write class "
                f"{learner.__name__}(..., "
                f"{capability.__name__}), from {capability.__module__}"
            )
