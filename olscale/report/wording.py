"""Words and figures of metrics, protocols and parameters as reports show them."""

from collections.abc import Mapping
from typing import Any

from olscale.measures import measure_of, metric_words
from olscale.results import canonical_json

PART_WORDS = {
    "half": "random halves",
    "stratified-half": "stratified halves",
    "kfold": "folds",
    "stratified": "stratified folds",
}
"""Names of the parts in which rows are held out."""


def value_text(value: Any) -> str:
    """Return a parameter's value as it is shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return " ".join(map(value_text, value))
    if isinstance(value, float) and not isinstance(value, bool):
        return repr(value).removesuffix(".0")
    return canonical_json(value)


def heading(metric: str) -> str:
    """Return the words for a metric, with its unit, as they begin a title.

    Examples
    --------
    >>> heading("test_error"), heading("kappa_m")
    ('Test error (%)', 'Kappa-M')
    """
    text = metric_text(metric)
    return text[0].upper() + text[1:]


def metric_text(metric: str) -> str:
    """Return the words for a metric, with its unit.

    Examples
    --------
    >>> metric_text("test_error"), metric_text("rmse")
    ('test error (%)', 'RMSE')
    """
    return metric_words(metric) + (" (%)" if measure_of(metric).unit == "percent" else "")


_DIGITS = 12
"""Hexadecimal digits of a model that tables show."""


def protocol_text(protocol: Mapping[str, Any]) -> str:
    """Return the words for a protocol; options without a value appear as names.

    Examples
    --------
    >>> protocol_text({"order": "permuted", "seed": 0, "test_only": True})
    'permuted order, seed 0, test only'
    """
    order = str(protocol.get("order", "unknown"))
    words = {"time": "time order", "permuted": "permuted order"}
    shown = {
        name: "" if value is True else value_text(value)
        for name, value in sorted(protocol.items())
        if name != "order"
    }
    if version := shown.pop("drift_version", ""):
        shown["drift"] += f" ({version})"
    if position := shown.pop("delay_position", ""):
        shown["delay"] += f" (column {position})"
    if digest := shown.pop("from_model", ""):
        shown["from_model"] = digest[:_DIGITS]
    options = [f"{name.replace('_', ' ')} {text}".rstrip() for name, text in shown.items()]
    return ", ".join([words.get(order, f"{order} order"), *options])
