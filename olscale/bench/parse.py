"""Reading SVMlight text, against scikit-learn."""

from __future__ import annotations

from olscale.bench.base import Figure
from olscale.bench.svmlight import bench_svmlight

__all__ = ["figures"]


def figures(megabytes: float = 48) -> list[Figure]:
    """Return the speed of both readers on one made-up file."""
    found = bench_svmlight(megabytes=megabytes)
    peer = "scikit-learn load_svmlight_file"
    return [
        Figure(peer, found["sklearn_megabytes_per_second"], "MB/s"),
        Figure("SVMlight, streamed", found["megabytes_per_second"], "MB/s", found["ratio"], peer),
        Figure("SVMlight, collected", found["collected_megabytes_per_second"], "MB/s", found["collected_ratio"], peer),
    ]
