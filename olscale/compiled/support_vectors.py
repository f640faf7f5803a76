"""Support vectors: rows that a kernel learner keeps, in preallocated arrays.

The vectors are adjacent, ``values[block, place, slot]``: a block has 64 slots, and a *place* is a
feature that some vector has. So the products of a row with all vectors are one pass over the
features of the row, each with a contiguous line of slots; no sum crosses slots, and bits depend
neither on the width of vector instructions nor on the order of the slots. A feature that no vector
has takes no memory: in a stream of millions of features there are as many places as the kept
vectors have features. All rows come as sparse ones.

Slots below ``counts[0]`` are in use. A vector is put in the next free slot or replaces another;
where one is dropped, the last moves into its slot. ``born`` numbers the vectors in order of
arrival, for rules that need the oldest.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.arrays import BoolArray, FloatArray, IntArray
from olscale.compiled.decorator import compiled, inlined, nested
from olscale.compiled.intrinsics import lowest_bit
from olscale.compiled.simd.columns import multiply_places
from olscale.compiled.simd.lowest import lowest_of
from olscale.compiled.simd.vectors import VECTOR

FAINT = 1e-12
"""Share of the largest entry below which an entry of a merged vector is dropped."""

WIDTH = 64
"""Slots of a block: their sums fill the registers, and a block is read once from start to end."""


# Blocks of 256 slots were 1.5 times slower at 784 features and 1,000 vectors. Each slot has the
# bits of its places: looking at all places when a slot is emptied cost five times as much at 123
# features.
class SupportVectors(NamedTuple):
    """Arrays of a set of support vectors.

    Parameters
    ----------
    values : float64 array of shape (blocks, places, slots of a block)
    place : int32 array of shape (features,)
        Place of a feature, -1 for a feature that no vector has.
    feature : int32 array of shape (places,)
        Feature of a place.
    free : int32 array of shape (places,)
        Places without a feature; the last ``places - counts[1]`` are.
    holders : int32 array of shape (places,)
        Vectors that have the feature.
    held : uint64 array of shape (slots, places / 64)
        Bits of the places at which a vector is not 0: emptying a slot need not visit all places.
    sizes : float64 array of shape (slots,)
        Squared norms, or sums of absolute values for a kernel of those.
    born : int64 array of shape (slots,)
        Number of the vector.
    counts : int64 array of shape (4,)
        Vectors, places with a feature, vectors so far, and the limit on vectors.
    changed : bool array of shape (slots / 8,)
        For each eight slots, whether any has changed since the caller set this to False. It is not
        part of a state.
    """

    values: FloatArray
    place: NDArray[np.int32]
    feature: NDArray[np.int32]
    free: NDArray[np.int32]
    holders: NDArray[np.int32]
    held: NDArray[np.uint64]
    sizes: FloatArray
    born: IntArray
    counts: IntArray
    changed: BoolArray


@inlined
def has_room(support: Any, entries: int) -> bool:
    """Return whether a vector of `entries` entries can be put in."""
    needed = min(entries, support.place.shape[0] - support.counts[1])
    places = support.feature.shape[0] - support.counts[1]
    if places < needed:
        return False
    vectors = support.counts[0]
    slots = min(support.sizes.shape[0], support.counts[3])
    return bool(vectors < slots)


@inlined
def find_places(
    support: Any,
    X: Any,
    i: int,
    at: Any,
    value: Any,
) -> tuple[int, float]:
    """Set `at` and `value` to the places and values of row `i`; return their number and its square.

    The square is the row's squared norm.

    Features that no vector has are left out: they affect no product.
    """
    count = 0
    square = 0.0
    for p in range(X.indptr[i], X.indptr[i + 1]):
        square += X.data[p] * X.data[p]
        place = support.place[X.indices[p]]
        if place >= 0:
            at[count] = place
            value[count] = X.data[p]
            count += 1
    return count, square


@inlined
def products(
    support: Any,
    at: Any,
    value: Any,
    entries: int,
    k: Any,
) -> None:
    """Set ``k[s]`` to the product of a row and vector `s`; after the last, up to seven are 0."""
    count = support.counts[0]
    for block in range((count + WIDTH - 1) // WIDTH):
        first = block * WIDTH
        multiply_places(
            at,
            value,
            entries,
            support.values[block],
            min(WIDTH, count - first),
            k[first:],
        )


@nested
def distances(
    support: Any,
    at: Any,
    value: Any,
    entries: int,
    size: float,
    k: Any,
) -> None:
    """Set ``k[s]`` to the sum of absolute differences of a row and vector `s`.

    Its size, like those of the vectors, is the sum of its absolute values.
    """
    blocks = (support.counts[0] + WIDTH - 1) // WIDTH
    for block in range(blocks):
        first = block * WIDTH
        values = support.values[block]
        sums = k[first : first + WIDTH]
        for s in range(WIDTH):
            sums[s] = 0.0
        for p in range(entries):
            x = value[p]
            line = values[at[p]]
            for s in range(WIDTH):  # relative to both sizes, which are added below
                sums[s] += abs(x - line[s]) - abs(line[s]) - abs(x)
        for s in range(WIDTH):
            sums[s] += size + support.sizes[first + s]


@inlined
def put(
    support: Any,
    slot: int,
    X: Any,
    i: int,
    size: float,
) -> None:
    """Put row `i` in an empty slot; the caller checks that there is room.

    The slot is the next free one or one that `take_out` emptied.
    """
    values = support.values[slot // WIDTH]
    column = slot % WIDTH
    for p in range(X.indptr[i], X.indptr[i + 1]):
        if X.data[p] != 0.0:
            feature = X.indices[p]
            place = support.place[feature]
            if place < 0:
                place = support.free[support.counts[1]]
                support.counts[1] += 1
                support.place[feature] = place
                support.feature[place] = feature
            support.holders[place] += 1
            hold(support, slot, place)
            values[place, column] = X.data[p]
    support.sizes[slot] = size
    support.changed[slot // VECTOR] = True
    support.born[slot] = support.counts[2]
    support.counts[2] += 1
    support.counts[0] = max(support.counts[0], slot + 1)


@inlined
def hold(support: Any, slot: int, place: int) -> None:
    """Record that a vector is not 0 at a place."""
    word = place // 64
    support.held[slot, word] |= np.uint64(1) << np.uint64(place % 64)


@inlined
def take_out(support: Any, slot: int) -> None:
    """Empty a slot; features that no other vector has release their places."""
    values = support.values[slot // WIDTH]
    column = slot % WIDTH
    held = support.held[slot]
    for word in range(held.shape[0]):
        bits = held[word]
        held[word] = 0
        while bits != 0:
            place = 64 * word + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            values[place, column] = 0.0
            release(support, place)
    support.sizes[slot] = 0.0
    support.born[slot] = -1
    support.changed[slot // VECTOR] = True


@inlined
def release(support: Any, place: int) -> None:
    """Reduce the holders of the feature of a place, which is released with the last one."""
    support.holders[place] -= 1
    if support.holders[place] == 0:
        support.place[support.feature[place]] = -1
        support.feature[place] = -1
        support.counts[1] -= 1
        support.free[support.counts[1]] = place


@compiled
def drop(support: Any, slot: int) -> int:
    """Drop a vector; the last moves into its slot. Return the last one's slot, now free."""
    take_out(support, slot)
    last: int = support.counts[0] - 1
    if slot != last:
        source = support.values[last // WIDTH]
        target = support.values[slot // WIDTH]
        a = last % WIDTH
        b = slot % WIDTH
        old = support.held[last]
        new = support.held[slot]
        for word in range(old.shape[0]):
            bits = old[word]
            new[word] = bits
            old[word] = 0
            while bits != 0:
                place = 64 * word + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                target[place, b] = source[place, a]
                source[place, a] = 0.0
        size = support.sizes[last]
        number = support.born[last]
        support.sizes[slot] = size
        support.born[slot] = number
        support.sizes[last] = 0.0
        support.born[last] = -1
        support.changed[last // VECTOR] = True
    support.counts[0] = last
    return last


@compiled
def merge(support: Any, slot: int, other: int, share: float) -> None:
    """Replace a vector by ``share * other + (1 - share) * itself``; it keeps its number.

    Its size becomes the squared norm.
    """
    values = support.values[slot // WIDTH]
    other_values = support.values[other // WIDTH]
    a = slot % WIDTH
    b = other % WIDTH
    largest = 0.0
    square = 0.0
    for word in range(support.held.shape[1]):
        bits = support.held[slot, word] | support.held[other, word]
        while bits != 0:
            place = 64 * word + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            of_other = share * other_values[place, b]
            of_itself = (1.0 - share) * values[place, a]
            values[place, a] = of_other + of_itself
            largest = max(largest, abs(values[place, a]))
    for word in range(support.held.shape[1]):
        before = support.held[slot, word]
        held = np.uint64(0)
        bits = before | support.held[other, word]
        while bits != 0:
            place = 64 * word + lowest_bit(bits)
            bit = bits & (~bits + np.uint64(1))
            bits ^= bit
            if abs(values[place, a]) > FAINT * largest:
                held |= bit
                square += values[place, a] * values[place, a]
                support.holders[place] += (before & bit) == 0
            else:
                values[place, a] = 0.0
                if before & bit != 0:
                    release(support, place)
        support.held[slot, word] = held
    support.sizes[slot] = square
    support.changed[slot // VECTOR] = True


@nested
def vector_product(support: Any, one: int, other: int) -> float:
    """Return the product of two vectors of the set."""
    values = support.values[one // WIDTH]
    other_values = support.values[other // WIDTH]
    a = one % WIDTH
    b = other % WIDTH
    total = 0.0
    for word in range(support.held.shape[1]):
        bits = support.held[one, word] & support.held[other, word]
        while bits != 0:
            place = 64 * word + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            total += values[place, a] * other_values[place, b]
    return total


@nested
def vector_places(support: Any, slot: int, at: Any, value: Any) -> int:
    """Set `at` and `value` to the places and values of a vector of the set; return their number.

    The format is that of `find_places`.
    """
    values = support.values[slot // WIDTH]
    column = slot % WIDTH
    count = 0
    for word in range(support.held.shape[1]):
        bits = support.held[slot, word]
        while bits != 0:
            place = 64 * word + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            at[count] = place
            value[count] = values[place, column]
            count += 1
    return count


@inlined
def first_least(values: Any, count: int) -> int:
    """Return the first place of the smallest of `count` `values`, with room for full vectors."""
    return lowest_of(values, count)  # type: ignore[no-any-return]
