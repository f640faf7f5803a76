"""The arrays of support vectors: made, checked, and enlarged; loops are in `support_vectors`."""

from collections.abc import Iterable, Mapping

import numpy as np

from olscale.arrays import Array, FloatArray
from olscale.compiled.pages import aligned_space
from olscale.compiled.simd.vectors import VECTOR
from olscale.compiled.support_vectors import WIDTH, SupportVectors

GROWING = ("values", "feature", "free", "holders", "held", "sizes", "born")
"""Arrays whose size depends on the rows."""

STATE = SupportVectors._fields[:-1]
"""Arrays that define a set."""


def support_vectors(arrays: Mapping[str, Array]) -> SupportVectors:
    """Return the set of these arrays, ignoring others; nothing counts as changed."""
    state = {name: arrays[name] for name in STATE}
    vectors = len(arrays["sizes"]) // VECTOR
    changed = np.zeros(vectors, np.bool_)
    return SupportVectors(**state, changed=changed)


def empty_support(columns: int, slots: int, most: int) -> dict[str, Array]:
    """Return the arrays of a set of no vectors.

    Parameters
    ----------
    columns : int
        Features of the stream.
    slots : int
        Vectors for which there is room.
    most : int
        Vectors for which room is ever made.

    Examples
    --------
    >>> empty_support(columns=1000, slots=300, most=300)["values"].shape
    (5, 64, 64)
    """
    blocks = -(-slots // WIDTH)
    room = blocks * WIDTH
    # As many as a word of `held` has bits, the least that can be stored.
    places = 64
    words = places // 64
    return {
        "values": aligned_space(blocks, places, WIDTH),
        "place": np.full(columns, -1, dtype=np.int32),
        "feature": np.full(places, -1, dtype=np.int32),
        "free": np.arange(places, dtype=np.int32),
        "holders": np.zeros(places, dtype=np.int32),
        "held": np.zeros((room, words), dtype=np.uint64),
        "sizes": np.zeros(room),
        "born": np.full(room, -1, dtype=np.int64),
        "counts": np.array([0, 0, 0, most], dtype=np.int64),
    }


def take_shapes(
    arrays: dict[str, Array], state: Mapping[str, Array], names: Iterable[str]
) -> None:
    """Give the arrays with these names the shapes that they have in `state`, where they fit."""
    for name in names:
        if name not in arrays or name not in state:
            continue
        old = arrays[name]
        new = state[name]
        if old.ndim == new.ndim and old.dtype == new.dtype and new.size >= old.size:
            if name == "values":
                arrays[name] = aligned_space(*new.shape)
            else:
                arrays[name] = np.zeros(new.shape, new.dtype)


def check_support(arrays: Mapping[str, Array], columns: int) -> None:
    """Refuse arrays with which a loop would leave them.

    Loops trust the places in them, and a file may hold anything.

    Raises
    ------
    ValueError
        If they are not a set of support vectors of rows of `columns` features.
    """
    likes = empty_support(columns, 0, 0)
    types = {name: array.dtype for name, array in arrays.items()}
    expected_types = {name: like.dtype for name, like in likes.items()}
    if types != expected_types:
        raise ValueError("other arrays than those of support vectors")
    blocks = 0
    places = 0
    if arrays["values"].ndim == 3:
        blocks, places, _ = arrays["values"].shape
    slots = blocks * WIDTH
    shapes = {name: array.shape for name, array in arrays.items()}
    expected_shapes = {
        "values": (blocks, places, WIDTH),
        "place": (columns,),
        "feature": (places,),
        "free": (places,),
        "holders": (places,),
        "held": (slots, places // 64),
        "sizes": (slots,),
        "born": (slots,),
        "counts": (4,),
    }
    if places % 64 or shapes != expected_shapes:
        raise ValueError("arrays of support vectors that do not fit each other")
    place = arrays["place"]
    feature = arrays["feature"]
    vectors, features, _, most = arrays["counts"]
    free_places = arrays["free"][features:]
    used = np.flatnonzero(feature >= 0)
    unused = np.flatnonzero(feature < 0)
    held = arrays["held"].view(np.uint8)
    bits = np.unpackbits(held, axis=1, bitorder="little")
    # Places and features name each other, and bits and holders count the same: loops rely on both.
    if not (
        0 <= vectors <= min(slots, most)
        and features == len(used) == np.count_nonzero(place >= 0)
        and feature.max(initial=-1) < columns
        and np.array_equal(place[feature[used]], used)
        and np.array_equal(np.sort(free_places), unused)
        and np.array_equal(bits.sum(axis=0), arrays["holders"])
        and not bits[vectors:].any()
    ):
        raise ValueError("support vectors that are not at their places")


def grow_places(arrays: Mapping[str, Array], needed: int) -> dict[str, Array]:
    """Return the arrays with room for `needed` more features.

    They have at least twice as many places, or one for every feature.
    """
    blocks, places, width = arrays["values"].shape
    least = int(arrays["counts"][1]) + needed
    columns = len(arrays["place"])
    more = min(max(2 * places, least), columns)
    # The bits of places come in words of 64.
    words = -(-more // 64)
    more = words * 64
    new = more - places
    new_words = ((0, 0), (0, new // 64))
    no_feature = np.full(new, -1, dtype=np.int32)
    no_holders = np.zeros(new, dtype=np.int32)
    new_places = np.arange(places, more, dtype=np.int32)
    values = aligned_space(blocks, more, width)
    values[:, :places] = arrays["values"]
    return {
        **arrays,
        "values": values,
        "feature": np.concatenate([arrays["feature"], no_feature]),
        "free": np.concatenate([arrays["free"], new_places]),
        "holders": np.concatenate([arrays["holders"], no_holders]),
        "held": np.pad(arrays["held"], new_words),
    }


def grow_slots(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays with room for twice as many vectors."""
    blocks, places, width = arrays["values"].shape
    values = aligned_space(2 * blocks, places, width)
    values[:blocks] = arrays["values"]
    new = blocks * width
    new_lines = ((0, new), (0, 0))
    no_sizes = np.zeros(new)
    not_born = np.full(new, -1, dtype=np.int64)
    return {
        **arrays,
        "values": values,
        "held": np.pad(arrays["held"], new_lines),
        "sizes": np.concatenate([arrays["sizes"], no_sizes]),
        "born": np.concatenate([arrays["born"], not_born]),
    }


def dense_vectors(support: Mapping[str, Array]) -> FloatArray:
    """Return the vectors of a state, shape (vectors, features), in the order of their slots.

    Examples
    --------
    >>> dense_vectors(empty_support(3, 1, 1)).shape
    (0, 3)
    """
    count = int(support["counts"][0])
    place = support["place"]
    vectors = np.zeros((count, len(place)))
    held_features = np.flatnonzero(place >= 0)
    for feature in held_features:
        lines = support["values"][:, place[feature]]
        of_slots = lines.ravel()
        vectors[:, feature] = of_slots[:count]
    return vectors
