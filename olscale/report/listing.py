"""Summaries as JSON and CSV, one object or line each, for other programs."""

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import Any

from olscale.analysis.standing import is_comparable, looked_ahead
from olscale.analysis.summary import Summary
from olscale.printable import csv_cells
from olscale.results import canonical_json

_ATTRIBUTES = (
    "dataset",
    "transforms",
    "learner",
    "params",
    "protocol",
    "metric",
    "mean",
    "std",
    "n",
    "failures",
    "tuned",
    "fingerprint",
    "version",
    "label",
    "dataset_label",
    "cautions",
)
FIELDS = (*_ATTRIBUTES, "looks_ahead", "comparable")


def as_json(summaries: Iterable[Summary]) -> str:
    """Return a JSON list with one object per line.

    Fields: ``dataset``, ``transforms`` (list), ``learner``, ``params`` (object), ``protocol``
    (object, without the permutation's index), ``metric``, ``mean``, ``std``, ``n``, ``failures``
    (object: outcome to count), ``tuned`` (object: grid and protocol by which the parameters were
    chosen, or null), ``fingerprint``, ``version``, ``label`` and ``dataset_label`` (what tables
    call learner and dataset), ``cautions`` (list: ``not reproducible`` where two models of the
    learner gave other scores of the same rows, ``of classes`` where a measure that ranks rows is of
    a model without scores), ``looks_ahead`` (list: what saw rows before they were predicted),
    ``comparable`` (false of references that predicted nothing by the first rows that count). A mean
    or deviation that is not finite is ``null``.
    """
    lines = [json.dumps(_fields(summary), allow_nan=False) for summary in summaries]
    if lines:
        return "[\n" + ",\n".join(lines) + "\n]\n"
    return "[]\n"


def as_csv(summaries: Iterable[Summary]) -> str:
    """Return CSV with a header and the fields of `as_json`.

    Objects become JSON texts, transforms are joined by commas.

    Control characters in names stand as their escapes, and a name that a spreadsheet would take for
    a formula has an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for summary in summaries:
        values = _fields(summary)
        values["transforms"] = ",".join(summary.transforms)
        values["cautions"] = ",".join(summary.cautions)
        values["looks_ahead"] = ",".join(values["looks_ahead"])
        for name in ("params", "protocol", "failures", "tuned"):
            values[name] = canonical_json(values[name])
        writer.writerow(csv_cells(values.values()))
    return text.getvalue()


def _fields(summary: Summary) -> dict[str, Any]:
    values = {name: getattr(summary, name) for name in _ATTRIBUTES}
    values |= {"looks_ahead": looked_ahead(summary), "comparable": is_comparable(summary)}
    for name in ("mean", "std"):
        values[name] = values[name] if math.isfinite(values[name]) else None
    return values
