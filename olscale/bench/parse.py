"""Reading SVMlight text, against scikit-learn."""

from __future__ import annotations

import tempfile
from pathlib import Path

from olscale.bench.base import Figure
from olscale.bench.svmlight import bench_svmlight, text_like_adult, text_like_url

__all__ = ["figures"]


def figures(megabytes: float = 48) -> list[Figure]:
    """Return the speed of both readers on made-up files like a9a and like URL."""
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a9a", text_like_adult), ("URL", text_like_url)):
            path = Path(folder) / name
            path.write_bytes(text(megabytes))
            speed = bench_svmlight(str(path))
            peer = f"scikit-learn load_svmlight_file, like {name}"
            collected = speed["collected_megabytes_per_second"], "MB/s", speed["collected_ratio"]
            found += [
                Figure(peer, speed["sklearn_megabytes_per_second"], "MB/s"),
                Figure(f"streamed, like {name}", speed["megabytes_per_second"], "MB/s", speed["ratio"], peer, ">= 20"),
                Figure(f"collected, like {name}", *collected, peer),
            ]
    return found
