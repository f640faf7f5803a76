"""A cell of a published table for tests."""

from __future__ import annotations

from olscale.analysis.published import PublishedCell


def published(
    dataset: str = "ring",
    learner: str = "PA",
    mean: float = 0.20,
    std: float | None = 0.01,
) -> PublishedCell:
    return PublishedCell("paper", "Table 1", dataset, learner, "test_error", mean, std)
