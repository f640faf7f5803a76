"""The arrays in which leaves keep histograms of numeric features."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.optional import Loop, only_with
from olscale.learners.contract.learner import FloatArray, State


class Bins(NamedTuple):
    """Histograms of the features of the rows since a leaf began.

    A bin begins at a value that has come: that of the row with which it was made, or of later ones.
    What its class there weighs stays with the bin when it is cut.

    Parameters
    ----------
    bin_sizes : int64 array of shape (slots, columns)
        Number of bins.
    bin_bounds : float64 array of shape (slots, columns, bins + 1)
        Where the bins begin, ascending, and where the last one ends.
    bin_weights : float64 array of shape (slots, columns, bins, classes)
        Weight of each class in a bin.
    bin_classes : int64 array of shape (slots, columns, bins)
        One more than the last class that has come to a bin, or to one from which it was cut.
    start_classes : int64 array of shape (slots, columns, bins)
        Class of the row with which a bin was made.
    start_weights : float64 array of shape (slots, columns, bins)
        Weight of rows of that class with the value at which the bin begins.
    """

    bin_sizes: NDArray[np.int64]
    bin_bounds: FloatArray
    bin_weights: FloatArray
    bin_classes: NDArray[np.int64]
    start_classes: NDArray[np.int64]
    start_weights: FloatArray


def empty_bins(columns: int, classes: int, slots: int, bins: int) -> State:
    """Return the arrays for leaves without rows; none for no bins.

    With them are moments of no parts: leaves with histograms have no moments.

    Examples
    --------
    >>> arrays = empty_bins(columns=9, classes=2, slots=4, bins=10)
    >>> arrays["bin_weights"].shape, arrays["moments"].shape
    ((4, 9, 10, 2), (4, 0, 18))
    """
    if bins == 0:
        return {}
    shape = (slots, columns, bins)
    return {
        "moments": np.zeros((slots, 0, classes * columns)),
        "bin_sizes": np.zeros(shape[:2], dtype=np.int64),
        "bin_bounds": np.zeros((slots, columns, bins + 1)),
        "bin_weights": np.zeros((*shape, classes)),
        "bin_classes": np.zeros(shape, dtype=np.int64),
        "start_classes": np.zeros(shape, dtype=np.int64),
        "start_weights": np.zeros(shape),
    }


def empty_bins_like(state: Mapping[str, NDArray[Any]], slots: int) -> State:
    """Return the arrays for leaves without rows as `empty_bins`, none if `state` has none."""
    if "bin_weights" not in state:
        return {}
    _, columns, bins, classes = state["bin_weights"].shape
    return empty_bins(columns, classes, slots, bins)


def bins_of(state: Mapping[str, NDArray[Any]]) -> Any:
    """Return the histograms of these arrays; nothing where leaves have moments."""
    if "bin_weights" not in state:
        return ()
    return Bins(**{name: state[name] for name in Bins._fields})


def of_bins(otherwise: Any = None) -> Callable[[Loop], Loop]:
    """Make a primitive whose first argument are histograms, `otherwise` where there are none."""
    return only_with(Bins, otherwise)


@of_bins(False)
def has_bins(bins: Bins) -> bool:
    """Return whether leaves have histograms."""
    return True


def are_bins(bins: Bins | tuple[()]) -> bool:
    """Return whether loops over the histograms of leaves stay within the arrays."""
    if not bins:
        return True
    most, classes = bins.bin_weights.shape[2:]
    return bool(
        (bins.bin_sizes >= 0).all()
        and (bins.bin_sizes <= most).all()
        and (bins.bin_classes >= 0).all()
        and (bins.bin_classes <= classes).all()
        and (bins.start_classes >= 0).all()
        and (bins.start_classes < classes).all()
    )
