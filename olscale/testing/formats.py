"""The format contract: each function checks one idea and raises `AssertionError`."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from olscale.arrays import FloatArray
from olscale.compiled.csr import CSR, to_dense
from olscale.data.formats.base import Batch, Format, ReadOptions
from olscale.errors import OlscaleError
from olscale.testing.check_list import Check, check_list

DENSE = ("uint8", "int8", "uint16", "int16", "float32", "float64")


def format_checks(
    format: Format, source: str, options: ReadOptions | None = None
) -> list[Check]:
    """Return the checks that a source format must pass, with a readable name for each.

    Parameters
    ----------
    format : Format
        The format.
    source : str
        A valid source of it, with at least three rows; a file of few kilobytes, or a name such as
        ``sklearn:iris``.
    options : ReadOptions, optional
        Options that the source needs, such as the label's column.

    Examples
    --------
    >>> from olscale.data.formats.sklearn import SklearnFormat
    >>> for name, check in format_checks(SklearnFormat(), "sklearn:iris"):
    ...     check()
    """
    checks: list[Callable[..., None]] = [
        check_name_and_suffixes_are_plain,
        check_splits_are_named,
        check_batches_are_sound,
        check_any_batch_size_gives_the_same_rows,
        check_reading_again_gives_the_same_rows,
        check_a_source_that_is_not_there_is_refused_in_one_line,
    ]
    if Path(source).is_file():
        checks.append(check_a_damaged_file_is_refused_in_one_line)
    return check_list(checks, format, source, options or ReadOptions())


def check_name_and_suffixes_are_plain(
    format: Format, source: str, options: ReadOptions
) -> None:
    """The name is a lower-case word, suffixes begin with a dot, matching content never fails."""
    assert format.name.isidentifier(), f"name {format.name!r} is no word"
    assert format.name == format.name.lower(), f"name {format.name!r} is not lower case"
    for suffix in format.suffixes:
        assert suffix.startswith("."), f"suffix {suffix!r} does not begin with a dot"
        assert suffix == suffix.lower(), f"suffix {suffix!r} is not lower case"
    for head in (b"", b"\x00", b"\xff" * 100, b"1,2\n3,4\n"):
        answer = format.matches(source, head)
        assert isinstance(answer, bool), f"matches returned {answer!r}"


def check_splits_are_named(format: Format, source: str, options: ReadOptions) -> None:
    """A source holds training rows, and perhaps test rows."""
    splits = format.splits(source)
    assert splits in (("train",), ("train", "test")), f"splits are {splits}"


def check_batches_are_sound(format: Format, source: str, options: ReadOptions) -> None:
    """Batches have one target per row, at most the requested rows, and types as `Batch` says."""
    columns = 0
    for size in (2, options.chunk_rows):
        for batch in format.read(source, replace(options, chunk_rows=size)):
            assert 0 < len(batch) <= size, (
                f"a batch has {len(batch)} rows, expected 1 to {size}"
            )
            target = batch.target
            assert isinstance(target, list) or target.dtype == np.float64, (
                f"targets are {target.dtype}"
            )
            _check_rows(batch)
            _check_weights(batch, options)
            columns = max(columns, batch.columns)
        assert batch.columns == columns, (
            "the width of a batch is less than that of one before"
        )


def _check_weights(batch: Batch, options: ReadOptions) -> None:
    weights = batch.weights
    if options.weights is None:
        assert weights is None, "a batch has weights, which the options do not ask for"
    elif weights is not None:
        # not every format has weights, and those that have none say nothing
        assert weights.dtype == np.float64, f"weights are {weights.dtype}"
        assert weights.shape == (len(batch),), (
            f"weights have shape {weights.shape} for {len(batch)} rows"
        )
        assert np.isfinite(weights).all(), "a weight is not finite"
        assert (weights >= 0.0).all(), "a weight is negative"


def _check_rows(batch: Batch) -> None:
    X = batch.X
    if not isinstance(X, CSR):
        assert X.shape == (len(batch), batch.columns), f"rows have shape {X.shape}"
        assert X.dtype.name in DENSE, (
            f"rows are {X.dtype}, expected one of {', '.join(DENSE)}"
        )
        assert X.flags.c_contiguous, "rows are not in C order"
        return
    assert len(X.indptr) == len(batch) + 1, (
        f"{len(X.indptr)} offsets for {len(batch)} rows"
    )
    types = [array.dtype.name for array in X]
    assert types == ["int64", "int32", "float64"], f"sparse rows are of {types}"
    for start, stop in pairwise(X.indptr.tolist()):
        indices = X.indices[start:stop]
        assert (np.diff(indices) > 0).all(), "the indices of a row do not increase"
        assert not len(indices) or 0 <= indices[0] <= indices[-1] < batch.columns, (
            "an index is outside of the columns"
        )


def check_any_batch_size_gives_the_same_rows(
    format: Format,
    source: str,
    options: ReadOptions,
) -> None:
    """Rows and targets do not depend on how many are read at a time."""
    X, target = _read(format, source, options)
    assert len(target) >= 3, f"the source has {len(target)} rows; the checks need three"
    for size in (1, 2):
        rows, labels = _read(format, source, replace(options, chunk_rows=size))
        np.testing.assert_array_equal(rows, X)
        assert labels == target, f"other targets with {size} rows at a time"


def check_reading_again_gives_the_same_rows(
    format: Format,
    source: str,
    options: ReadOptions,
) -> None:
    """A format keeps nothing between two readings, even if the first was aborted."""
    X, target = _read(format, source, options)
    # Left after its first batch, with its file still open.
    row_by_row = replace(options, chunk_rows=1)
    next(iter(format.read(source, row_by_row)))
    rows, labels = _read(format, source, options)
    np.testing.assert_array_equal(rows, X)
    assert labels == target


def check_a_source_that_is_not_there_is_refused_in_one_line(
    format: Format,
    source: str,
    options: ReadOptions,
) -> None:
    """A source that cannot be opened raises an `OlscaleError` that names it."""
    with tempfile.TemporaryDirectory(prefix="olscale-format-") as folder:
        absent = f"{folder}/absent{Path(source).suffix}"
        message = _refusal(format, absent, options)
        assert message is not None, "a file that is not there was read"
        assert "absent" in message, f"the message does not name the file: {message}"


def check_a_damaged_file_is_refused_in_one_line(
    format: Format,
    source: str,
    options: ReadOptions,
) -> None:
    """A file that is empty, cut short or overwritten in places is read, or refused.

    The only error allowed is an `OlscaleError`.
    """
    content = Path(source).read_bytes()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="olscale-format-") as folder:
        damaged = Path(folder) / Path(source).name
        for number in range(24):
            changed = bytearray(content)
            if number < 12:
                del changed[len(content) * number // 12 :]
            else:
                at = int(rng.integers(0, len(content)))
                changed[at : at + 4] = rng.bytes(4)
            damaged.write_bytes(changed)
            message = _refusal(format, str(damaged), options)
            assert message is not None or number, "an empty file was read"


def _refusal(format: Format, source: str, options: ReadOptions) -> str | None:
    """Return the message that refuses a source, None if it is read."""
    try:
        for batch in format.read(source, options):
            _check_rows(batch)
    except OlscaleError as error:
        message = str(error)
        assert "\n" not in message, f"the message has several lines: {message!r}"
        return message
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            f"{type(error).__name__} in place of an OlscaleError: {error}"
        ) from error
    return None


def _read(
    format: Format, source: str, options: ReadOptions
) -> tuple[FloatArray, list[object]]:
    """Return all rows, as wide as the widest, and their targets, with weights if they exist."""
    batches = list(format.read(source, options))
    columns = max(batch.columns for batch in batches)
    rows = []
    labels: list[object] = []
    weights: list[object] = []
    for batch in batches:
        # Sparse sources show their width only at their end, so early batches may be narrower.
        missing = columns - batch.columns
        dense = to_dense(batch.X, batch.columns)
        more_columns = (0, missing)
        as_wide = np.pad(dense, ((0, 0), more_columns))
        rows.append(as_wide)
        labels += list(batch.target)
        if batch.weights is not None:
            weights += list(batch.weights)
    return np.concatenate(rows).astype(np.float64), labels + weights
