"""The metrics store: write one run, list what is done, read everything."""

from olscale.results.opening import open_store
from olscale.results.plans import (
    LeftOut,
    Plan,
    PlannedDataset,
    PlannedLearner,
    read_plans,
    write_plan,
)
from olscale.results.record import (
    FAILED,
    OUTCOMES,
    Record,
    SegmentMistakes,
    Series,
    run_id,
)
from olscale.results.store import Store
from olscale.storage.canonical_json import canonical_json

__all__ = [
    "FAILED",
    "OUTCOMES",
    "LeftOut",
    "Plan",
    "PlannedDataset",
    "PlannedLearner",
    "Record",
    "SegmentMistakes",
    "Series",
    "Store",
    "canonical_json",
    "open_store",
    "read_plans",
    "run_id",
    "write_plan",
]
