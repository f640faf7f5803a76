"""The warning of values that a model never met, where rows do not come from the command line."""

import warnings
from collections.abc import Mapping

_NAMED = 5


def warn_of_unknown(counts: Mapping[str, int], stacklevel: int = 6) -> None:
    """Warn once of the values that are ignored, if there are any.

    Parameters
    ----------
    counts : mapping of str to int
        How many cells of each column of text hold a value without a feature.
    stacklevel : int
        That of the caller's caller.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_unknown({"color": 2, "size": 0})
    >>> str(caught[0].message)
    "text cells of X with values that the model has never seen are ignored: 2 of 'color'"
    """
    unknown = {name: count for name, count in counts.items() if count}
    if not unknown:
        return
    listed = [f"{count:,} of {name!r}" for name, count in unknown.items()][:_NAMED]
    more = ""
    if len(unknown) > _NAMED:
        more = f" and of {len(unknown) - _NAMED:,} more columns"
    _warn(
        "text cells of X with values that the model has never seen are ignored: "
        f"{', '.join(listed)}{more}",
        stacklevel,
    )


def warn_of_unknown_in_dataset(cells: int, indices: int) -> None:
    """Warn of text cells and of indices of a dataset that the model never met, if there are any."""
    if cells:
        _warn(
            "text cells of the dataset with values that the model has never seen are ignored: "
            f"{cells:,}",
            5,
        )
    if indices:
        _warn(
            "values of the dataset at indices that the model has never seen are ignored: "
            f"{indices:,}",
            5,
        )


def _warn(text: str, stacklevel: int) -> None:
    warnings.warn(text, stacklevel=stacklevel + 1)
