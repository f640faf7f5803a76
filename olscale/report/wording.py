"""Words and figures of metrics, protocols and parameters as reports show them."""

from collections.abc import Callable, Mapping
from typing import Any

from olscale.results import canonical_json


def value_text(value: Any) -> str:
    """Return a parameter's value as it is shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not isinstance(value, bool):
        return repr(value).removesuffix(".0")
    return canonical_json(value)


def entry_form(metric: str) -> Callable[[float], str]:
    """Return what writes a figure of a metric: errors in percent, counts whole."""
    if metric.endswith("_error"):
        return lambda value: f"{100 * value:.2f}"
    if metric in ("mistakes", "updates", "model_bytes", "rows_per_second", "drift_alarms"):
        return lambda value: f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.1f}".removesuffix(".0")
    return lambda value: f"{value:.4g}"


def heading(metric: str) -> str:
    """Return the words for a metric, with its unit."""
    words = {"rmse": "RMSE", "auc": "AUC", "outcome": "Outcome"}
    text = words.get(metric) or metric.replace("_", " ").capitalize()
    return f"{text} (%)" if metric.endswith("_error") else text


def protocol_text(protocol: Mapping[str, Any]) -> str:
    """Return the words for a protocol."""
    order = str(protocol.get("order", "unknown"))
    words = {"time": "time order", "permuted": "permuted order"}
    shown = {name: value_text(value) for name, value in sorted(protocol.items()) if name != "order"}
    if version := shown.pop("drift_version", ""):
        shown["drift"] += f" ({version})"
    if position := shown.pop("delay_position", ""):
        shown["delay"] += f" (column {position})"
    rest = [f"{name.replace('_', ' ')} {text}" for name, text in shown.items()]
    return ", ".join([words.get(order, f"{order} order"), *rest])
