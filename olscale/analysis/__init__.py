"""Aggregation over the metrics store."""

from olscale.analysis.status import (
    ExperimentProgress,
    FailureGroup,
    Status,
    store_status,
    unfinished_experiments,
)
from olscale.analysis.summary import Summary, summarise

__all__ = [
    "ExperimentProgress",
    "FailureGroup",
    "Status",
    "Summary",
    "store_status",
    "summarise",
    "unfinished_experiments",
]
