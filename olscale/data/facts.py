"""Facts about a dataset for reports: its size and its classes, as plain JSON."""

from typing import Any

from olscale.data.manifest import Manifest

_CLASSES = 100
"""Largest number of classes that are listed."""


def dataset_facts(manifest: Manifest) -> dict[str, Any]:
    """Return ``rows`` by split, ``columns``, ``nonzeros``, ``classes`` and ``class_rows``.

    The last two are only there for a classification with at most 100 classes.
    """
    facts: dict[str, Any] = {"rows": {name: split.rows for name, split in manifest.splits.items()}}
    facts |= {"columns": manifest.columns, "nonzeros": manifest.feature_nonzeros}
    if manifest.classes is not None and len(manifest.classes) <= _CLASSES:
        counts = manifest.splits["train"].class_rows if "train" in manifest.splits else None
        facts |= {"classes": list(manifest.classes), "class_rows": list(counts or ())}
    return facts
