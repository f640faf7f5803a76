"""Resident memory of a process along a stream much larger than it, which must not grow."""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from olscale.bench.base import Figure
from olscale.data.generators import generate
from olscale.evaluation.budget import resident_bytes
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Silent

LEARNERS = (
    {"name": "pa1"},
    {"name": "arow"},
    {"name": "lol", "params": {"k": 16}},
)
PROTOCOL = {"order": "time", "window": 1000, "fading": 0.999, "drift": "ddm"}
TENTHS = 10


class _Sizes(Silent):
    """Takes rows and resident bytes down whenever there is progress."""

    def __init__(self) -> None:
        self.points: list[tuple[int, int]] = []

    def advance(self, group: str, rows: int, error: float) -> None:
        self.points.append((rows, resident_bytes()))


def figures(rows: int = 10_000_000) -> list[Figure]:
    """Return the resident megabytes in tenths of a stream of `rows` rows, with checkpoints."""
    with tempfile.TemporaryDirectory(prefix="olscale-bench-") as folder:
        # In a process of its own: what it gives back to this one would hide that something grows.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            stream = pool.submit(
                generate,
                "rotating-xor",
                Path(folder, "stream"),
                rows=rows,
            ).result()
        size_on_disk = stream.size()
        content = {
            "datasets": [{"path": stream.path}],
            "learners": list(LEARNERS),
            "protocol": PROTOCOL,
        }
        sizes = _Sizes()
        evaluate(
            parse_experiment(content),
            Path(folder, "store"),
            in_process=True,
            progress=sizes,
        )
    points = sizes.points[1:]  # the first is before the stream is opened
    last = max((fed for fed, _ in points), default=0)
    # From the second tenth on: the first one loads code and fills buffers.
    growth = "growth from the second to the last tenth"
    megabytes: dict[str, float] = {}
    for name, tenth in (("second", 2), ("sixth", 6), ("last", TENTHS)):
        first = (tenth - 1) * last
        stop = tenth * last
        measured = [size / 1e6 for fed, size in points if first <= TENTHS * fed <= stop]
        if not measured:
            return [
                Figure(
                    growth, note=f"{rows:,} rows are over too soon to tell; give more"
                )
            ]
        megabytes[name] = max(measured)
    return [
        *(
            Figure(f"most in the {name} tenth", size, "MB", note="resident")
            for name, size in megabytes.items()
        ),
        Figure(
            growth, megabytes["last"] - megabytes["second"], "MB", note=f"{rows:,} rows"
        ),
        Figure("rows, as they are on the disk", size_on_disk / 1e6, "MB"),
    ]
