"""The learners and experiments of chaos; the learners note what they learn from, for `tests.chaos.rework`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CHUNKS", "CHUNK_ROWS", "ORDERS", "write_experiments"]

CHUNKS = 100
CHUNK_ROWS = 100
PERMUTATIONS = 8
ORDERS = {"time": "", "permuted": f"permutations = {PERMUTATIONS}"}

LEARNERS = '''
"""Learners that note each chunk they have learned from, and take their time, so that there is something to kill."""

import hashlib
import os
import time

from olscale.learners.local.lol import LOL
from olscale.learners.linear.passive_aggressive import PA1

SECONDS = float(os.environ["OLSCALE_CHAOS_SLEEP"])


class Noted:
    """Mixed into a learner: a line for each chunk with rows, its contents and the learner's parameters as a hash."""

    def grid_key(self):
        return None

    def learn(self, X, y):
        start = time.thread_time()
        scores = super().learn(X, y)
        if not len(y):
            return scores
        time.sleep(SECONDS)
        params = sorted(self.get_params(deep=False).items())
        learner = hashlib.blake2b(f"{type(self).__name__} {params}".encode(), digest_size=8)
        chunk = hashlib.blake2b(learner.digest(), digest_size=8)
        for part in (*(X if isinstance(X, tuple) else (X,)), y):
            chunk.update(part.tobytes())
        now = time.time()
        # Not the clock's time: a frozen process would have taken all of that for one chunk.
        took = time.thread_time() - start + SECONDS
        line = f"{now:.3f} {os.getpid()} {learner.hexdigest()} {chunk.hexdigest()} {len(y)} {took:.4f}\\n"
        with open(os.environ["OLSCALE_CHAOS_ROWS"], "a") as file:
            file.write(line)
        return scores


class NotedPA1(Noted, PA1):
    name = "noted-pa1"


class NotedLOL(Noted, LOL):
    name = "noted-lol"
'''

EXPERIMENT = """
name = "chaos-{order}"
transforms = ["bias"]
[protocol]
order = "{order}"
{repeats}
[[datasets]]
path = "{data}"
[[learners]]
name = "chaos_learners:NotedPA1"
params = {{ C = [0.1, 1.0] }}
[[learners]]
name = "chaos_learners:NotedLOL"
params = {{ k = [4, 16] }}
"""


def write_experiments(folder: Path) -> None:
    """Write data, learners and an experiment for each of `ORDERS` to `folder`."""
    from olscale.data.generators import generate

    generate(
        "rotating-xor", folder / "xor", rows=CHUNKS * CHUNK_ROWS, chunk_rows=CHUNK_ROWS
    )
    (folder / "chaos_learners.py").write_text(LEARNERS)
    for order, repeats in ORDERS.items():
        text = EXPERIMENT.format(order=order, repeats=repeats, data=folder / "xor")
        (folder / f"{order}.toml").write_text(text)
