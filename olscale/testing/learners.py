"""The learner contract: each function checks one idea and raises `AssertionError`."""

import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olscale.arrays import Array
from olscale.compiled.csr import CSR, Rows, read_only, slice_rows, to_csr
from olscale.data.chunk import Chunk
from olscale.errors import ParameterError
from olscale.learners.contract.estimator import OnePass
from olscale.learners.contract.learner import (
    Learner,
    codes_of,
    no_labels,
    predictions_of,
    score_columns,
)
from olscale.learners.contract.parameters import Choice, Flag, Real, Whole
from olscale.testing.check_list import Check, check_list, check_plain_arrays, name_check
from olscale.testing.claims import claim_checks
from olscale.testing.equal_arrays import assert_equal_arrays
from olscale.testing.estimators import estimator_checks
from olscale.testing.small_streams import (
    ANY_CUTS,
    COLUMNS,
    ROWS,
    assert_apart,
    assert_known,
    assert_same_state,
    choices,
    class_counts,
    continue_from,
    cut,
    learn_in_parts,
    rows_and_novelties,
    rows_on_a_line,
    start,
    start_with,
    stream,
    taken_by,
    variants,
)
from olscale.testing.weights import weight_checks


def learner_checks(learner: type[Learner]) -> list[Check]:
    """Return the checks that the class `learner` must pass, with a readable name for each.

    Parameters
    ----------
    learner : type
        A subclass of `olscale.learners.contract.learner.Learner` that can be made without
        arguments.
    """
    of_variants = (
        check_label_comes_after_the_prediction,
        check_any_cut_into_chunks_gives_the_same_bits,
        check_saving_and_restoring_in_mid_stream_is_exact,
        check_empty_rows_break_nothing,
        check_a_sample_of_no_rows_breaks_nothing,
        check_the_stream_is_left_as_it_was,
        check_scoring_learns_nothing,
        check_scoring_reads_no_label,
    )
    single_checks = [
        check_dense_and_csr_make_the_same_mistakes,
        check_state_is_plain_arrays,
        check_counts_below_zero_are_refused,
        check_parameters_are_checked,
    ]
    if learner.task == "novelty":
        single_checks += [
            check_labels_do_not_matter,
            check_rows_far_from_all_others_are_novelties,
        ]
    elif not learner.baseline:
        smooth = learner.task == "regression"
        single_checks.append(
            check_a_smooth_target_is_learned
            if smooth
            else check_a_separable_stream_is_learned
        )
    of_streams = [
        name_check(check, learner, n, kind, of=text)
        for check in of_variants
        for text, n, kind in variants(learner)
    ]
    of_contract = of_streams + check_list(single_checks, learner)
    return (
        of_contract
        + claim_checks(learner)
        + weight_checks(learner)
        + estimator_checks(learner)
    )


def check_label_comes_after_the_prediction(
    learner: type[Learner], classes: int, kind: str
) -> None:
    """The scores of a row do not depend on its own label."""
    chunk = stream(learner, classes, kind)
    for row in (0, 1, ROWS // 2, ROWS - 1):
        stop = row + 1
        y = chunk.y[:stop].copy()
        X = slice_rows(chunk.X, 0, stop)
        all_scores = start(learner, classes).learn(X, read_only(y))
        expected = all_scores[row]
        # Only the last label changes, so earlier learning is the same.
        y[row] += 1
        if classes:
            y[row] %= classes
        scores = start(learner, classes).learn(X, read_only(y))
        assert_equal_arrays(scores[row], expected)


def check_any_cut_into_chunks_gives_the_same_bits(
    learner: type[Learner],
    classes: int,
    kind: str,
) -> None:
    """One chunk, rows one by one and ragged chunks give equal scores and equal state."""
    chunk = stream(learner, classes, kind)
    reference = start(learner, classes)
    expected = reference.learn(chunk.X, chunk.y)
    shape = (ROWS, score_columns(classes))
    assert expected.shape == shape, f"scores have shape {expected.shape}"
    for cuts in ANY_CUTS:
        parts = start(learner, classes)
        scores = learn_in_parts(parts, chunk, cuts)
        assert_equal_arrays(scores, expected)
        assert_same_state(parts, reference)


def check_saving_and_restoring_in_mid_stream_is_exact(
    learner: type[Learner],
    classes: int,
    kind: str,
) -> None:
    """A state in a new learner continues to the same bits from any cut, and stays unchanged.

    The new learner has only begun: the state also holds the results of `prepare`.
    """
    chunk = stream(learner, classes, kind)
    for at in (0, 1, ROWS // 3, ROWS - 1):
        first, second = cut(chunk, [0, at, ROWS])
        reference = start(learner, classes)
        reference.learn(*first)
        state = reference.state()
        expected = reference.learn(*second)
        restored = continue_from(learner, {}, state, classes)
        scores = restored.learn(*second)
        assert_equal_arrays(scores, expected, err_msg=f"after row {at}")
        assert_same_state(restored, reference)


def check_empty_rows_break_nothing(
    learner: type[Learner], classes: int, kind: str
) -> None:
    """A stream with rows of only zeros, first ones included, gives finite scores and state."""
    chunk = stream(learner, classes, "dense")
    assert not isinstance(chunk.X, CSR)
    # Zero rows first, before any state exists, and last, when the state is trained.
    zeros = np.zeros((3, COLUMNS))
    X: Any = np.concatenate([zeros, chunk.X, zeros])
    first_labels = [0, 1, 1]
    last_labels = [1, 0, 1]
    y = np.concatenate([first_labels, chunk.y, last_labels])
    rows: Rows = X
    if kind == "csr":
        rows = to_csr(X)
    fresh = start(learner, classes)
    scores = fresh.learn(rows, y)
    assert np.isfinite(scores).all(), "a score is not finite"
    for name, array in fresh.state().items():
        assert np.isfinite(array).all(), f"state array {name} is not finite"


def check_a_sample_of_no_rows_breaks_nothing(
    learner: type[Learner],
    classes: int,
    kind: str,
) -> None:
    """A learner that looks ahead treats a sample without usable rows as an empty one."""
    chunk = stream(learner, classes, kind)
    rows = slice_rows(chunk.X, 0, 0)
    for params in choices(learner):
        # Each choice, since each may look ahead in a different way.
        fresh = start_with(learner, params, rows, classes)
        for name, array in fresh.state().items():
            assert np.isfinite(array).all(), (
                f"state array {name} is not finite with {params}"
            )


def check_the_stream_is_left_as_it_was(
    learner: type[Learner], classes: int, kind: str
) -> None:
    """Learning from rows does not change them, even where they could be written to."""
    chunk = stream(learner, classes, "dense")
    X: Any = np.array(chunk.X)
    # Writable, unlike rows of streams: a write into those would fail and hide the fault.
    rows: Rows = X
    arrays: Sequence[Array] = [X]
    if kind == "csr":
        rows = to_csr(X)
        arrays = rows
    before = [array.copy() for array in arrays]
    start(learner, classes).learn(rows, chunk.y)
    pairs = zip(arrays, before, strict=True)
    for array, expected in pairs:
        assert_equal_arrays(array, expected)


def check_scoring_learns_nothing(
    learner: type[Learner], classes: int, kind: str
) -> None:
    """`scores` changes no bit of the state and repeats its answer, also before the first row."""
    chunk = stream(learner, classes, kind)
    fresh = start(learner, classes)
    early = fresh.scores(chunk.X)
    assert early.shape == (ROWS, score_columns(classes))
    fresh.learn(chunk.X, chunk.y)
    before = fresh.state()
    first = fresh.scores(chunk.X)
    second = fresh.scores(chunk.X)
    assert_equal_arrays(second, first)
    for name, array in fresh.state().items():
        assert_equal_arrays(array, before[name])


def check_dense_and_csr_make_the_same_mistakes(learner: type[Learner]) -> None:
    """The layout of the rows does not change a prediction."""
    for classes in class_counts(learner):
        dense_rows = stream(learner, classes, "dense")
        sparse_rows = stream(learner, classes, "csr")
        dense = start(learner, classes).learn(dense_rows.X, dense_rows.y)
        csr = start(learner, classes).learn(sparse_rows.X, sparse_rows.y)
        # Not to the bit: loops over both layouts may add in another order.
        of_dense = predictions_of(dense, learner.task)
        of_csr = predictions_of(csr, learner.task)
        np.testing.assert_allclose(of_dense, of_csr, rtol=1e-6)


def check_state_is_plain_arrays(learner: type[Learner]) -> None:
    """The state is numeric arrays of the reported size; parameters are plain JSON values."""
    classes = class_counts(learner)[0]
    fresh = start(learner, classes)
    state = fresh.state()
    check_plain_arrays("state", state)
    measures = fresh.measures()
    # Tables compare learners by this size.
    size = sum(array.nbytes for array in state.values())
    assert measures["model_bytes"] == size, "model_bytes is not the state's size"
    assert "updates" in measures, "measures() has no 'updates'"
    # Records of runs are JSON, which has no NaN.
    json.dumps(fresh.resolved_params(), allow_nan=False)


_WRONG: dict[type, Any] = {
    Real: "many",
    Whole: -1,
    Choice: "no such word",
    Flag: "perhaps",
}
"""A value outside each kind of domain."""


def check_counts_below_zero_are_refused(learner: type[Learner]) -> None:
    """A file whose rows or updates are below 0 is refused: loops divide and go by such counts."""
    classes = class_counts(learner)[0]
    state = start(learner, classes).state()
    for name in {"seen", "updates"} & state.keys():
        below_zero = np.full_like(state[name], -1)
        crafted = {**state, name: below_zero}
        try:
            continue_from(learner, {}, crafted, classes)
        except ValueError:
            continue
        raise AssertionError(
            f"{name} of -1 is restored; _can_continue is to say that it cannot"
        )


def check_parameters_are_checked(learner: type[Learner]) -> None:
    """Every parameter has a domain with its default; a value outside it is refused by name."""
    classes = class_counts(learner)[0]
    defaults = learner().get_params()
    for name, default in defaults.items():
        domain = learner.domains.get(name)
        assert domain is not None, f"parameter {name} has no domain"
        domain.accept(name, default)
        # A kind of domain that is not listed takes no bare object either.
        wrong = _WRONG.get(type(domain), object())
        try:
            learner(**{name: wrong}).begin(COLUMNS, classes)
        except ParameterError as error:
            if name not in str(error):
                raise AssertionError(
                    f"the message does not name {name}: {error}"
                ) from None
        else:
            raise AssertionError(f"{name} = {wrong!r} was accepted")


def check_a_separable_stream_is_learned(learner: type[Learner]) -> None:
    """One pass classifies well separated clusters far better than chance."""
    rng = np.random.default_rng(1)
    for classes in class_counts(learner):
        y = rng.integers(0, classes, 600)
        noise = 0.3 * rng.normal(size=(600, COLUMNS))
        corners = 4.0 * np.eye(COLUMNS)
        X = taken_by(learner, corners[y] + noise)
        fresh = start(learner, classes)
        chunk = Chunk(X, y, COLUMNS)
        fresh.learn(chunk.X, chunk.y)
        predicted = codes_of(fresh.scores(chunk.X))
        error = float(np.mean(predicted != y))
        assert error < 0.1, f"error {error:.2f} with {classes} classes"


def check_a_smooth_target_is_learned(learner: type[Learner]) -> None:
    """One pass explains at least half the variance of a target that follows the rows."""
    X, y = rows_on_a_line(COLUMNS)
    fresh = start_with(learner, {}, X, 0)
    fresh.learn(X, y)
    predicted = fresh.scores(X)[:, 0]
    assert_known(predicted, y)


def check_labels_do_not_matter(learner: type[Learner]) -> None:
    """A detector gives the same bits for any labels: it must not see them."""
    chunk = stream(learner, 2, "dense")
    with_labels = start(learner, 2)
    without = start(learner, 2)
    scores = with_labels.learn(chunk.X, chunk.y)
    no_novelty = read_only(np.zeros_like(chunk.y))
    scores_without = without.learn(chunk.X, no_novelty)
    assert_equal_arrays(scores, scores_without)
    assert_same_state(with_labels, without)


def check_rows_far_from_all_others_are_novelties(learner: type[Learner]) -> None:
    """Rows on the other side of the origin score lower than rows like those seen, nearly always."""
    familiar, alike, far = rows_and_novelties(COLUMNS)
    fresh = start_with(learner, {}, familiar, 2)
    zeros = np.zeros(len(familiar), dtype=np.int64)
    labels = read_only(zeros)
    fresh.learn(familiar, labels)
    scores_alike = fresh.scores(alike)
    scores_far = fresh.scores(far)
    assert_apart(scores_alike[:, 0], scores_far[:, 0])


_PAGEMAP = Path("/proc/self/pagemap")
_PRESENT = 1 << 63
"""Bit of an entry in the page map that says the page was touched."""


def check_scoring_reads_no_label(
    learner: type[Learner], classes: int, kind: str
) -> None:
    """A loop that scores without learning reads no label, as none exists (Linux only)."""
    chunk = stream(learner, classes, kind)
    fresh = start(learner, classes)
    fresh.learn(chunk.X, chunk.y)
    if not isinstance(fresh, OnePass) or not _PAGEMAP.exists():
        return
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    # The system lists a page as present once it is touched, so a read of a label shows.
    with mmap.mmap(-1, 2 * mmap.PAGESIZE, flags=private) as pages:
        labels = _none_before_the_second_page(pages, no_labels(fresh.task))
        fresh._run(chunk.X, labels, learning=False)
        touched = _is_touched(labels.ctypes.data)
        del labels  # otherwise the pages could not be released
    assert not touched, (
        "it reads a label although it does not learn: labels have no rows then"
    )


def _none_before_the_second_page(pages: mmap.mmap, none: Array) -> Array:
    """Return an array like `none`, followed by an untouched page."""
    array: Array = np.ndarray(none.shape, none.dtype, pages, mmap.PAGESIZE)
    return read_only(array)


def _is_touched(address: int) -> bool:
    with _PAGEMAP.open("rb") as file:
        page = address // mmap.PAGESIZE
        file.seek(8 * page)  # entries of 8 bytes
        entry = int.from_bytes(file.read(8), "little")
        return bool(entry & _PRESENT)
