"""Texts of options about classes: a label, and a threshold of F1 or of costs."""

from math import inf
from typing import Any

F1 = "f1"

_EXPECTED = (
    "'f1', or what it costs, 0 or more, to take a row of one class for another: a list per true "
    "class in the order of the classes, as [[0, 1], [10, 0]], or as text '0,1;10,0'"
)


def label_text(label: Any) -> str | None:
    """Return the text of a label; whole numbers have no point, as 1.0 and 1 are one label.

    Examples
    --------
    >>> label_text(1.0), label_text("spam"), label_text(0.5), label_text(None)
    ('1', 'spam', '0.5', None)
    """
    if label is None:
        return None
    if isinstance(label, float) and label == label // 1:
        return str(int(label))
    return str(label)


def threshold_text(value: Any) -> str | None:
    """Return the one text of a threshold, however it was written; None if there is none.

    Raises
    ------
    ValueError
        If it is none.

    Examples
    --------
    >>> threshold_text([[0, 1.0], [10, 0]]), threshold_text("0, 1; 10, 0"), threshold_text("f1")
    ('0,1;10,0', '0,1;10,0', 'f1')
    """
    if value is None:
        return None
    if value == F1:
        return F1
    rows = value
    if isinstance(value, str):
        rows = [line.split(",") for line in value.split(";")]
    try:
        costs = [[float(cost) for cost in row] for row in rows]
    except (TypeError, ValueError):
        raise ValueError(f"threshold was {value!r}, expected {_EXPECTED}") from None
    is_square = all(len(row) == len(costs) for row in costs) and len(costs) > 1
    if not is_square or not all(0.0 <= cost < inf for row in costs for cost in row):
        raise ValueError(f"threshold was {value!r}, expected {_EXPECTED}")
    return ";".join(
        ",".join(f"{cost!r}".removesuffix(".0") for cost in row) for row in costs
    )


def costs_of(threshold: str | None) -> list[list[float]]:
    """Return the costs of a threshold's text: a list for each true class; none for another.

    Examples
    --------
    >>> costs_of("0,1;10,0"), costs_of("f1")
    ([[0.0, 1.0], [10.0, 0.0]], [])
    """
    if threshold is None or threshold == F1:
        return []
    return [[float(cost) for cost in row.split(",")] for row in threshold.split(";")]
