"""Aggregation over the metrics store."""

from olscale.analysis.status import Failure, Progress, Status, store_status
from olscale.analysis.summary import Summary, summarise

__all__ = ["Failure", "Progress", "Status", "Summary", "store_status", "summarise"]
