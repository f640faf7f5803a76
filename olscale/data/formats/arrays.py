"""The arrays of a file: which are features and targets, and sparse ones as batches.

They are found by usual names, or named by ``--arrays``.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR
from olscale.data.formats.base import (
    Batch,
    ReadOptions,
    batches_of_arrays,
    split_fragment,
)
from olscale.errors import FormatError, ParameterError

ArrayPair: TypeAlias = tuple[str, str | None]
"""Names of the features and of the targets; None if the targets are not read."""

ARRAY_FORMATS = ("mat", "npz")
"""Formats whose files hold arrays by name."""

_ROLES = {
    "x": "X",
    "y": "y",
    "x_train": "X",
    "y_train": "y",
    "x_test": "X_test",
    "y_test": "y_test",
}
_EXPECTED = "X=NAME, y=NAME, X_test=NAME or y_test=NAME"
_LABEL_WORDS = ("label", "target", "class", "gnd", "y")
_TEST_WORDS = ("test", "valid")
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class HeldArray:
    """An array of a file.

    Parameters
    ----------
    name : str
    shape : tuple of int
    other : str
        Its kind if it can be neither features nor targets, such as ``"struct"``; else empty.
    """

    name: str
    shape: tuple[int, ...]
    other: str = ""

    def __str__(self) -> str:
        shape = ""
        if self.shape or not self.other:
            shape = str(self.shape)
        return " ".join(filter(None, (self.name, shape, self.other)))


def parse_arrays(text: str | Mapping[str, str]) -> dict[str, str]:
    """Return the names of a file's arrays by what they are: ``X``, ``y``, ``X_test`` or ``y_test``.

    Parameters
    ----------
    given : str or mapping
        ``X=NAME,y=NAME`` as on the command line, or the same as a mapping. ``X_train`` is ``X``,
        and capital letters do not matter on the left.

    Raises
    ------
    ParameterError
        When a name is none of these, or comes twice.

    Examples
    --------
    >>> parse_arrays("X=train_data,y=train_labels,X_test=test_data,y_test=test_labels")
    {'X': 'train_data', 'y': 'train_labels', 'X_test': 'test_data', 'y_test': 'test_labels'}
    >>> parse_arrays({"X_train": "a,b"})
    {'X': 'a,b'}
    """
    if isinstance(text, str):
        words = next(csv.reader([text], skipinitialspace=True), [])
        pairs: Iterable[tuple[str, str]] = [_role_and_name(word) for word in words]
    else:
        pairs = text.items()
    names: dict[str, str] = {}
    for word, name in pairs:
        role = _ROLES.get(word.strip().lower())
        if role is None:
            raise ParameterError(f"arrays names {word!r}, expected {_EXPECTED}")
        if role in names:
            raise ParameterError(
                f"arrays names {role} twice: {names[role]!r} and {name!r}"
            )
        names[role] = name
    if not names:
        raise ParameterError(f"arrays names nothing, expected {_EXPECTED}")
    return names


def names_test_arrays(arrays: Mapping[str, str] | None) -> bool:
    """Return whether ``--arrays`` names arrays of a test split."""
    return arrays is not None and not {"X_test", "y_test"}.isdisjoint(arrays)


def path_and_split(source: str) -> tuple[str, str | None]:
    """Return the file and the split that `source` names, ``FILE#train`` or ``FILE#test``.

    Raises
    ------
    FormatError
        When it names another split.
    """
    path, split = split_fragment(source)
    if split not in (None, "train", "test"):
        raise FormatError(
            source, f"there is no split {split!r}, expected #train or #test"
        )
    return path, split


def choose_arrays(
    source: str,
    held: Sequence[HeldArray],
    usual: Mapping[str, Sequence[tuple[str, str]]],
    options: ReadOptions,
    split: str | None = None,
) -> ArrayPair:
    """Return the names of the arrays to read.

    Parameters
    ----------
    source : str
        Named in errors.
    held : sequence of HeldArray
        The arrays of the file.
    usual : mapping of str to sequence of (str, str)
        Split -> usual names of features and targets, the first choice first.
    options : ReadOptions
        `arrays`, `labelled` and `labels_needed` are used.
    split : {'train', 'test'}, optional
        When left out, that of the training rows, or of the test rows in a file without any other.

    Raises
    ------
    FormatError
        When the file has no such arrays: lists those that it has, and likely names.
    """
    names = {array.name for array in held}
    if split is None and names and all("test" in name.lower() for name in names):
        split = "test"
    pairs = list(_pairs(usual, split or "train", options))
    chosen = _first_in(names, pairs)
    if chosen is not None:
        return chosen
    expected = " or ".join(", ".join(filter(None, pair)) for pair in pairs)
    listed = ", ".join(map(str, held[:_MOST_LISTED])) or "none"
    if len(held) > _MOST_LISTED:
        listed += f" and {len(held) - _MOST_LISTED:,} more"
    cure = f"name them with --arrays {_likely(held, split, options.labelled)}"
    if split is None and _first_in(names, _pairs(usual, "test", options)) is not None:
        cure = f"{source}#test are its test rows, or {cure}"
    raise FormatError(source, f"holds the arrays {listed}; expected {expected}; {cure}")


def weights_array(
    source: str,
    held: Sequence[HeldArray],
    options: ReadOptions,
    split: str | None,
) -> str | None:
    """Return the name of the array of weights that `ReadOptions.weights` asks for, or None.

    In a file of two splits the array ``w`` may be called ``w_train`` and ``w_test``; if the option
    says ``w_train``, the weights of the test rows are ``w_test``.

    Raises
    ------
    FormatError
        When the file has no such array: lists those that it has.
    """
    name = options.weights
    if name is None:
        return None
    names = [name, f"{name}_train"]
    if split == "test":
        names = [f"{name}_test", name.replace("train", "test")]
        names = [candidate for candidate in names if candidate != name] or [name]
    held_names = {array.name for array in held}
    chosen = next((candidate for candidate in names if candidate in held_names), None)
    if chosen is None:
        listed = ", ".join(map(str, held[:_MOST_LISTED])) or "none"
        raise FormatError(
            source,
            f"holds the arrays {listed}; expected {' or '.join(names)} for --weights {name}",
        )
    return chosen


def _first_in(names: Set[str], pairs: Iterable[ArrayPair]) -> ArrayPair | None:
    for features, targets in pairs:
        if features in names and (targets is None or targets in names):
            return features, targets
    return None


def _pairs(
    usual: Mapping[str, Sequence[tuple[str, str]]],
    split: str,
    options: ReadOptions,
) -> Iterator[ArrayPair]:
    names = options.arrays or {}
    end = ""
    if split == "test":
        end = "_test"
    features = names.get(f"X{end}")
    targets = names.get(f"y{end}")
    pairs = [(features or x, targets or y) for x, y in usual[split]]
    if options.labelled:
        yield from dict.fromkeys(pairs)
    if not (options.labelled and options.labels_needed):
        yield from dict.fromkeys((x, None) for x, _ in pairs)


def _role_and_name(word: str) -> tuple[str, str]:
    role, mark, name = word.partition("=")
    if not mark or not name.strip():
        raise ParameterError(f"arrays has {word!r}, expected {_EXPECTED}")
    return role, name.strip()


def _likely(held: Sequence[HeldArray], split: str | None, labelled: bool) -> str:
    """Return likely words for ``--arrays``: a matrix and, if needed, a vector of as many rows."""
    usable = [array for array in held if not array.other and array.shape]
    test = [array for array in usable if _has_word(array, _TEST_WORDS)]
    train = [array for array in usable if array not in test]
    if split == "test":
        not_train = [array for array in usable if not _has_word(array, ("train",))]
        return (
            _likely_pair(test or not_train, "_test", labelled)
            or "X_test=NAME,y_test=NAME"
        )
    pair = _likely_pair(train, "", labelled)
    pair_of_tests = ""
    if pair and split is None:
        pair_of_tests = _likely_pair(test, "_test", labelled)
    return ",".join(filter(None, (pair, pair_of_tests))) or "X=NAME,y=NAME"


def _likely_pair(held: Sequence[HeldArray], end: str, labelled: bool) -> str:
    # The largest matrix, and of its vectors the one that is called as labels are.
    matrices = [array for array in held if _width(array) > 1]
    vectors = [array for array in held if _width(array) == 1]
    matrices.sort(key=lambda array: -prod(array.shape))
    vectors.sort(key=lambda array: not _has_word(array, _LABEL_WORDS))
    if not labelled:
        if matrices:
            return f"X{end}={matrices[0].name}"
        return ""
    for matrix, vector in product(matrices, vectors):
        if matrix.shape[0] == prod(vector.shape):
            return f"X{end}={matrix.name},y{end}={vector.name}"
    return ""


def _has_word(array: HeldArray, words: Sequence[str]) -> bool:
    name = array.name.lower()
    return any(word in name for word in words)


def _width(array: HeldArray) -> int:
    """Return the number of values in a row; a vector, of either orientation, has one."""
    values = prod(array.shape)
    if values == max(array.shape):
        return 1
    return values // max(1, array.shape[0])


# Members of an archive by the format of its matrix, in addition to ``format`` and ``shape``.
_MEMBERS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
_MOST_COLUMNS = 2**31 - 1


def batches_of_sparse(
    source: str,
    X: Any,
    y: NDArray[Any] | list[str] | None,
    options: ReadOptions,
    weights: NDArray[Any] | None = None,
) -> Iterator[Batch]:
    """Yield a sparse matrix and its targets as batches.

    Parameters
    ----------
    source : str
        Named in errors.
    X : sparse matrix or array of shape (rows, columns)
        Its indices are within its shape.
    y : ndarray of shape (rows,) or (rows, targets), or list of str
        As `olscale.data.formats.base.batches_of_arrays` takes them.
    options : ReadOptions
        Only `chunk_rows` is used.

    Raises
    ------
    FormatError
        When there are no rows, or the numbers of rows and targets differ.
    """
    rows, columns = X.shape
    if columns > _MOST_COLUMNS:
        raise FormatError(
            source, f"has {columns:,} columns, expected at most {_MOST_COLUMNS:,}"
        )
    # The targets are checked and cut like those of dense rows of width 0; only then is it certain
    # that there are as many rows as promised.
    parts = batches_of_arrays(source, np.empty((rows, 0)), y, options, weights=weights)
    indptr = np.empty(0, dtype=np.int64)
    for start, part in enumerate(parts):
        if start == 0:
            # Not before the first batch: a damaged shape asks for no memory.
            X = X.tocsr()
            X.sum_duplicates()
            indptr = X.indptr.astype(np.int64)
        first = start * options.chunk_rows
        bounds = indptr[first : first + len(part) + 1]
        span = slice(bounds[0], bounds[-1])
        values = X.data[span].astype(np.float64)
        csr = CSR(bounds - bounds[0], X.indices[span].astype(np.int32), values)
        yield replace(part, X=csr, columns=columns)


def sparse_members(names: Mapping[str, Any] | list[str]) -> tuple[str, ...]:
    """Return the members of an archive that make up a sparse matrix; none for other archives.

    Examples
    --------
    >>> sparse_members(["indptr", "indices", "data", "shape", "format", "y"])
    ('format', 'shape', 'data', 'indices', 'indptr')
    >>> sparse_members(["data", "target"])
    ()
    """
    for members in _MEMBERS.values():
        expected = ("format", "shape", *members)
        if all(name in names for name in expected):
            return expected
    return ()


def sparse_matrix(source: str, members: Mapping[str, NDArray[Any]]) -> Any:
    """Return the matrix that the `members` of an archive make up.

    Raises
    ------
    FormatError
        When they do not fit together, or hold anything but numbers.
    """
    import scipy.sparse

    format = _word(members["format"])
    data = members["data"]
    if format not in _MEMBERS:
        problem = f"its sparse matrix is {format!r}, expected {', '.join(_MEMBERS)}"
        raise FormatError(source, problem)
    if data.dtype.kind not in "buif":
        raise FormatError(
            source, f"its sparse matrix holds {data.dtype}, expected numbers"
        )
    try:
        shape = tuple(int(length) for length in members["shape"].tolist())
        places = [members[name] for name in _MEMBERS[format][1:]]
        content: Any = (data, tuple(places)) if format == "coo" else (data, *places)
        matrix = getattr(scipy.sparse, f"{format}_array")(content, shape=shape)
        if len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"its shape is {shape}")
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
            # SciPy skips this check when the last pointer promises no values.
            if (np.diff(matrix.indptr) < 0).any():
                raise ValueError("its rows overlap")
    except (
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        IndexError,
    ) as error:
        raise FormatError(source, f"its sparse matrix is damaged ({error})") from error
    return matrix


def _word(format: NDArray[Any]) -> str:
    word = ""
    if format.size == 1:
        word = format.item()
    if isinstance(word, bytes):
        return word.decode("ascii", "replace")
    return str(word)
