"""Checks of a learner's claims beyond the contract: its capabilities and its odd rows.

Where a learner claims sums over rows, these are all of its state between two rows: a checkpoint of
the sums suffices.
"""

from itertools import pairwise, product
from typing import Any

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.compiled.csr import CSR, Rows, read_only, slice_rows, to_csr, to_dense
from olscale.data.chunk import Chunk
from olscale.errors import DivergedError
from olscale.learners.contract.capability import (
    ExplainsNoScore,
    LooksAhead,
    ShiftFree,
    shift_free,
)
from olscale.learners.contract.class_axes import ShardsClasses, class_axes, join_classes
from olscale.learners.contract.class_shards import ClassShard
from olscale.learners.contract.compilation import CompilesLoops
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.fused_settings import FusesSettings, fuse, grid_key
from olscale.learners.contract.learner import Learner, State, hide_labels
from olscale.learners.contract.merged_sums import MergesSums, mergeable, sums_key
from olscale.learners.contract.usable_rows import (
    learn_usable,
    learn_usable_together,
    score_usable,
)
from olscale.testing.check_list import Check, check_plain_arrays, name_check
from olscale.testing.equal_arrays import assert_equal_arrays
from olscale.testing.other_values import two_settings
from olscale.testing.small_streams import (
    CLASSES,
    COLUMNS,
    ROWS,
    assert_same_arrays,
    assert_same_state,
    choices,
    class_counts,
    continue_from,
    copies,
    cut,
    in_layout,
    learn_in_parts,
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


_SHARD_CUTS = (
    (0, 1, 2, 3, 4),
    (0, 1, 4),
    (0, 2, 4),
    (0, 3, 4),
    (0, 4),
)
"""Bounds of class shards: of single classes, uneven ones, and all classes in one."""


def claim_checks(learner: type[Learner]) -> list[Check]:
    """Return a named check per claim of the class `learner`; `learner_checks` includes them."""
    declared = name_check(check_capabilities_are_declared, learner)
    checks = [declared]
    if learner.layout_exact:
        exact = name_check(check_dense_and_csr_give_the_same_bits, learner)
        checks.append(exact)
    for params in choices(learner):
        words = ", ".join(map(str, params.values()))
        # Rows of unknown class come where labels are late: only learners that say so
        # get them.
        for text, n, kind in variants(learner) if learner.takes_unknown else ():
            of = ", ".join(filter(None, (words, text)))
            checks.append(
                name_check(
                    check_rows_of_unknown_class_are_only_scored,
                    learner,
                    params,
                    n,
                    kind,
                    of=of,
                )
            )
        unusable = check_rows_that_cannot_be_used_end_learning
        checks.append(name_check(unusable, learner, params, of=words or "no choices"))
        if shift_free(learner(**params)):
            blind = check_a_large_offset_does_not_blind_a_distance
            checks.append(name_check(blind, learner, params, of=words))
        if class_axes(learner(**params), CLASSES) is not None:
            checks.append(
                name_check(check_class_shards_are_the_whole, learner, params, of=words)
            )
        if mergeable(learner(**params)):
            checks.append(
                name_check(
                    check_merged_sums_make_the_final_model, learner, params, of=words
                )
            )
            checks.append(
                name_check(check_sums_go_on_from_copies, learner, params, of=words)
            )
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
            chunk = stream(learner, classes, kind)
            fresh.append(start(learner, classes))
            # Bits and not nearly equal scores: a run in one layout must be the record
            # of the other.
            scores.append(fresh[-1].learn(chunk.X, chunk.y))
        assert_equal_arrays(scores[0], scores[1])
        assert_same_state(*fresh)


def check_a_large_offset_does_not_blind_a_distance(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """Rows with one feature near 1e8 are scored as they are without the offset of 1e8."""
    shift = np.zeros(COLUMNS)
    shift[1] = 1e8
    for classes in class_counts(learner):
        chunk = stream(learner, classes, "dense")
        dense = to_dense(chunk.X, COLUMNS)
        far = read_only(dense + shift)
        near = read_only(far - shift)  # what rounding has left of them
        near_learner = start_with(learner, params, near, classes)
        expected = near_learner.learn(near, chunk.y)
        tolerance = 1e-3 * (1.0 + np.abs(expected))
        for rows in (far, to_csr(far)):
            far_learner = start_with(learner, params, rows, classes)
            scores = far_learner.learn(rows, chunk.y)
            difference = np.abs(scores - expected)
            # Negated, so that a score of NaN is wrong as well.
            wrong = ~(difference <= tolerance)
            share = np.mean(wrong)
            # Two in a hundred may differ: rounding at 1e8 leaves eight digits behind
            # the point, and near a tie a learner may turn.
            assert share <= 0.02, (
                f"{share:.0%} of the scores differ with an offset of 1e8"
            )


def check_rows_of_unknown_class_are_only_scored(
    learner: type[Learner],
    params: dict[str, Any],
    classes: int,
    kind: str,
) -> None:
    """Rows of unknown class are scored among learned rows as they would be alone."""
    chunk = stream(learner, classes, kind)[:100]
    # Mixed, so that scored rows stand before, between and behind learned ones.
    rng = np.random.default_rng(1)
    learning = rng.random(len(chunk)) < 0.6
    # Of the same random numbers: some learners draw when they update.
    separate = start_with(learner, params, chunk.X, classes, (3, 1))
    combined = start_with(learner, params, chunk.X, classes, (3, 1))
    expected = []
    for i in range(len(chunk)):
        row = slice_rows(chunk.X, i, i + 1)
        label = chunk.y[i : i + 1]
        if learning[i]:
            row_scores = separate.learn(row, label)
        else:
            row_scores = separate.scores(row)
        expected.append(row_scores)
    some_labels = hide_labels(chunk.y, ~learning)
    hidden = Chunk(chunk.X, some_labels, COLUMNS)
    scores = learn_in_parts(combined, hidden, [0, 64, len(chunk)])
    assert_equal_arrays(scores, np.concatenate(expected))
    assert_same_state(separate, combined)


def check_rows_that_cannot_be_used_end_learning(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """An unusable row gets NaN, and so do all rows after it, whether it is learned or only scored.

    Unusable are rows with NaN or infinities, or of a length whose square overflows or underflows,
    and those with a value below 0 for a learner that takes none.
    Rows of zeros are fine, and what comes before is unchanged.
    """
    low, high = learner(**params).norm_limits()
    # Just beyond each limit; a learner without one has the limit 0 or infinity.
    beyond = (10.0 * high**0.5, 0.1 * low**0.5)
    wrong = [length for length in beyond if 0.0 < length < np.inf]
    if not learner.takes_negative:
        wrong.append(-1.0)
    for classes, kind in product(class_counts(learner), ("dense", "csr")):
        chunk = stream(learner, classes, "dense")[:50]
        assert not isinstance(chunk.X, CSR)
        fresh = start_with(learner, params, chunk.X, classes)
        # Reused below, because looking ahead may take longer than all the rest.
        beginning = fresh.state()
        clean_rows = in_layout(chunk.X, kind)
        clean = Chunk(clean_rows, chunk.y, COLUMNS)
        learned = learn_usable(fresh, clean.X, clean.y)
        scored = score_usable(fresh, clean.X)
        unusable_values = (np.nan, np.inf, -np.inf, *wrong)
        # In the first row, before anything is learned, and in a later one.
        for value, at in product(unusable_values, (0, 40)):
            X: Any = np.array(chunk.X)
            if np.isfinite(value):
                # so that the length of the row is exactly that of its one value
                X[at] = 0.0
            X[at, 3] = value
            rows = Chunk(in_layout(X, kind), chunk.y, COLUMNS)
            where = f"{classes} classes, {kind}, {value:.3g} in row {at}"
            is_unusable = np.arange(50) == at
            for unknown in {False, learner.takes_unknown}:
                hidden = is_unusable & unknown
                y = read_only(hide_labels(chunk.y, hidden))
                restarted = continue_from(learner, params, beginning, classes)
                scores = learn_usable(restarted, rows.X, y)
                assert_equal_arrays(scores[:at], learned[:at], err_msg=where)
                is_number = np.isfinite(scores[at:])
                assert not is_number.any(), (
                    f"learn went on as if nothing were the matter: {where}"
                )
            scores = score_usable(fresh, rows.X)
            is_number = np.isfinite(scores[at])
            assert not is_number.any(), f"scores has a number for it: {where}"
            assert_equal_arrays(scores[:at], scored[:at], err_msg=where)


def check_class_shards_are_the_whole(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """Class shards of any size give the whole learner's results, if it has `class_axes`.

    Results are scores, updates and state.
    """
    for kind in ("dense", "csr"):
        chunk = stream(learner, CLASSES, kind)
        full = learner(**params)
        full.begin(COLUMNS, CLASSES, (3, 1))
        expected = full.learn(chunk.X, chunk.y)
        for cuts in _SHARD_CUTS:
            ranges = [range(first, last) for first, last in pairwise(cuts)]
            shards = [ClassShard(learner(**params), classes) for classes in ranges]
            learned = []
            moved = np.zeros(ROWS, dtype=bool)
            for shard in shards:
                shard.begin(COLUMNS, CLASSES, (3, 1))
                parts = []
                moved_rows = []
                for X, y in cut(chunk, [0, 64, ROWS]):
                    parts.append(shard.learn(X, y))
                    moved_rows.append(shard.moved)
                learned.append(np.concatenate(parts))
                # An update is a row that changes the model, however many shards it changes.
                moved |= np.concatenate(moved_rows)
            learned_scores = np.concatenate(learned, axis=1)
            assert_equal_arrays(
                learned_scores,
                expected,
                err_msg=f"shards {cuts}",
            )
            of_shards = [shard.scores(chunk.X) for shard in shards]
            scores = np.concatenate(of_shards, axis=1)
            assert_equal_arrays(
                scores,
                full.scores(chunk.X),
                err_msg=f"scores of shards {cuts}",
            )
            axes = class_axes(full, CLASSES) or {}
            axes_of_shards = [
                class_axes(full, len(classes)) or {} for classes in ranges
            ]
            states = [shard.state() for shard in shards]
            state = join_classes(states, axes, axes_of_shards)
            state["updates"] = np.array([moved.sum()])
            for name, array in full.state().items():
                assert_equal_arrays(
                    state[name],
                    array,
                    err_msg=f"state array {name} of shards {cuts}",
                )


def check_merged_sums_make_the_final_model(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """The scores equal those of learning row by row, up to rounding.

    No cut of a block changes a bit. The same holds for each other setting that claims to have the
    same sums.
    """
    for classes in class_counts(learner):
        chunk = stream(learner, classes, "dense")
        results = []
        along = start_with(learner, params, chunk.X, classes)
        along.learn(chunk.X, chunk.y)
        # Blocks of one row, of a vector's length, and with a rest.
        for cuts in ([0, 100], [0, 1, 64, 99, 100]):
            summing: Any = start_with(learner, params, chunk.X, classes)
            # Two parts of the stream, summed separately and then added, as workers do.
            ends = []
            first_part = (chunk[:100], cuts)
            second_part = (chunk[100:], [0, ROWS - 100])
            for rows, edges in (first_part, second_part):
                sums = summing.no_sums()
                for part, y in cut(rows, edges):
                    summing.add_rows(part, y, sums)
                ends.append(summing.end_sums(sums))
            first, second = ends
            sums = {name: array + second[name] for name, array in first.items()}
            # `take_sums` may change its arrays, which are compared and taken again below.
            summing.take_sums(copies(sums))
            results.append(summing)
        assert_same_state(*results)
        np.testing.assert_allclose(
            results[0].scores(chunk.X),
            along.scores(chunk.X),
            rtol=1e-5,
            atol=1e-7,
        )
        for setting in same_sums(learner, params):
            merging: Any = start_with(learner, setting, chunk.X, classes)
            by_itself = start_with(learner, setting, chunk.X, classes)
            merging.take_sums(copies(sums))
            by_itself.learn(chunk.X, chunk.y)
            np.testing.assert_allclose(
                merging.scores(chunk.X),
                by_itself.scores(chunk.X),
                rtol=1e-5,
                atol=1e-7,
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
    # Settings share a pass if their keys are equal, whatever this number is.
    numbers = [
        name for name in names if grid_key(learner(**params, **{name: 0.5})) == key
    ]
    assert numbers or not names, (
        "settings of which a number differs do not share a pass; grid_key is to be None then"
    )
    single = [(name,) for name in numbers]
    for varied in {tuple(numbers), *single}:
        # Numbers that are in the domain of nearly all parameters.
        settings = two_settings(learner, params, varied, (0.1, 0.9))
        streams = list(product(class_counts(learner), ("dense", "csr")))
        if varied != tuple(numbers):
            # All numbers together go through each loop; one alone shows that it is passed on.
            streams = streams[:1]
        for classes, kind in streams:
            _check_fused(learner, settings, classes, kind)


def _check_fused(
    learner: type[Learner],
    settings: list[dict[str, Any]],
    classes: int,
    kind: str,
) -> None:
    chunk = stream(learner, classes, kind)
    first_rows = stream(learner, classes, "dense").X[:9]
    broken = np.array(first_rows)
    broken[5, 3] = np.nan
    # Read-only, as rows of streams are: loops would be compiled once more for others.
    end_rows = in_layout(broken, kind)
    end = Chunk(end_rows, chunk.y[:9], COLUMNS)
    separate = [start_with(learner, setting, chunk.X, classes) for setting in settings]
    grouped = [start_with(learner, setting, chunk.X, classes) for setting in settings]
    fused = fuse(grouped)
    usable = set(range(len(settings)))
    whole_parts = cut(chunk, [0, 64, ROWS])
    parts = [*whole_parts, (end.X, end.y)]
    for part, y in parts:
        scores = learn_usable_together(fused, grouped[0], part, y)
        # A fused pass may hold its settings' arrays: they are compared as a checkpoint
        # would save them.
        fused.release()
        for n in tuple(usable):
            expected = _learned(separate[n], part, y)
            if isinstance(expected, DivergedError):
                assert str(scores[n]) == str(expected)
                usable.remove(n)
            else:
                assert_equal_arrays(scores[n], expected)
            assert_same_state(grouped[n], separate[n])


def _learned(learner: Learner, X: Rows, y: Array) -> FloatArray | DivergedError:
    """Return the scores of rows, or the error that ended learning."""
    try:
        return learn_usable(learner, X, y)
    except DivergedError as error:
        return error


def check_capabilities_are_declared(learner: type[Learner]) -> None:
    """A learner declares the capabilities whose methods it has; otherwise nothing calls them."""
    for capability in CAPABILITIES:
        of_capability = vars(capability).keys()
        of_learner = set(dir(learner))
        for method in of_capability & of_learner:
            assert method.startswith("_") or issubclass(learner, capability), (
                f"{method} is a method of the capability {capability.__name__}: write class "
                f"{learner.__name__}(..., "
                f"{capability.__name__}), from {capability.__module__}"
            )


_CUTS = [0, 1, 100, 300, 512, 720]


def same_sums(learner: type[Learner], params: dict[str, Any]) -> list[dict[str, Any]]:
    """Return settings that claim the sums of `params`, each with one number changed."""
    key = sums_key(learner(**params))
    names = real_names(learner, params)
    settings = [{**params, name: 0.5} for name in names]
    candidates = [(setting, learner(**setting)) for setting in settings]
    return [
        setting
        for setting, candidate in candidates
        if key and mergeable(candidate) and sums_key(candidate) == key
    ]


def check_sums_go_on_from_copies(
    learner: type[Learner], params: dict[str, Any]
) -> None:
    """Another learner continues from the sums between any two rows to the same bits.

    The summing learner keeps nothing of the rows, and any setting that claims the same sums may
    sum: the first one in a group depends on what else is evaluated.
    """
    for classes in class_counts(learner):
        parts = [stream(learner, classes, "dense", seed) for seed in range(3)]
        X, y = (
            read_only(np.concatenate([getattr(part, name) for part in parts]))
            for name in ("X", "y")
        )
        chunk = Chunk(X, y, COLUMNS)
        summing: Any = start_with(learner, params, chunk.X, classes)
        before = copies(summing.state())
        sums = summing.no_sums()
        summing.add_rows(chunk.X, chunk.y, sums)
        assert_same_arrays(summing.state(), before, "state")
        expected = copies(summing.end_sums(sums))
        for setting in (params, *same_sums(learner, params)):
            # A new learner for each part, as after a checkpoint: nothing but the sums
            # goes on.
            running_sums: State = {}
            for rows, labels in cut(chunk, _CUTS):
                continuing: Any = start_with(learner, setting, chunk.X, classes)
                running_sums = copies(running_sums or continuing.no_sums())
                check_plain_arrays("sum", running_sums)
                continuing.add_rows(rows, labels, running_sums)
            continuing = start_with(learner, setting, chunk.X, classes)
            sums_of_parts = continuing.end_sums(copies(running_sums))
            assert_same_arrays(sums_of_parts, expected, "sum")
