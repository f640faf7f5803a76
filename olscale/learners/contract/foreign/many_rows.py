"""Many rows in the format of a model: matrices for scikit-learn, data frames for River.

A River model with ``predict_many`` and ``learn_many`` takes data frames.
"""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import CSR, Rows, rows_of, to_dense, trim
from olscale.data.feature_names import FeatureNames
from olscale.learners.contract.foreign.kind import last_step


def takes_many(model: Any) -> bool:
    """Return whether a River model, with all its steps, predicts and learns rows in one call.

    Examples
    --------
    >>> from river.linear_model import LogisticRegression
    >>> from river.preprocessing import StandardScaler
    >>> from river.tree import HoeffdingTreeClassifier
    >>> takes_many(LogisticRegression()), takes_many(HoeffdingTreeClassifier())
    (True, False)
    >>> takes_many(StandardScaler() | LogisticRegression())
    True
    """
    steps = getattr(model, "steps", None)
    if isinstance(steps, Mapping) and steps:
        *transformers, last = steps.values()
        return takes_many(last) and all(map(_transforms_many, transformers))
    # A model around another has the methods whatever is within it.
    for name in ("classifier", "regressor"):
        inner = getattr(model, name, None)
        if hasattr(inner, "learn_one"):
            return _has(model, "predict_many") and takes_many(inner)
    return _has(model, "predict_many")


def _has(model: Any, predicts: str) -> bool:
    return hasattr(model, predicts) and hasattr(model, "learn_many")


def _transforms_many(step: Any) -> bool:
    inner = getattr(step, "transformers", None)
    if isinstance(inner, Mapping):
        return all(map(_transforms_many, inner.values()))
    return _has(step, "transform_many")


def weighs_many(model: Any) -> bool:
    """Return whether ``learn_many`` of a River model takes the weights of rows."""
    try:
        return "w" in signature(last_step(model).learn_many).parameters
    except (TypeError, ValueError):  # compiled, without a signature
        return False


def frame_of(X: Rows, names: FeatureNames) -> Any:
    """Return rows as a data frame with the columns that their dictionaries have; None if it cannot.

    Sparse rows and words of text columns have no such columns.
    """
    if isinstance(X, CSR) or names.words:
        return None
    import pandas as pd

    columns: Sequence[Any] = names.names or range(X.shape[1])
    return pd.DataFrame(X, columns=columns)


def series_of(values: Sequence[Any] | NDArray[np.float64]) -> Any:
    """Return labels or weights as a series."""
    import pandas as pd

    return pd.Series(values, name="y")


def matrix_of(X: Rows, columns: int) -> Any:
    """Return rows as scikit-learn takes them: dense, or sparse where there are many columns."""
    if not isinstance(X, CSR):
        return X
    if columns <= 1024:
        return to_dense(X, columns)
    from scipy.sparse import csr_matrix

    indptr, indices, data = trim(X)
    return csr_matrix((data, indices, indptr), (rows_of(X), columns))
