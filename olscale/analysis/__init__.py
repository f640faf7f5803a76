"""Aggregation over the metrics store."""

from olscale.analysis.status import ExperimentProgress, Failure, Status, store_status
from olscale.analysis.summary import Summary, summarise

__all__ = ["ExperimentProgress", "Failure", "Status", "Summary", "store_status", "summarise"]
