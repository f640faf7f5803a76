"""Class shards in one process: the record of the run in one piece, to the byte, whatever the cut and however it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Stream
from olscale.evaluation import class_shards as shard
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.metrics import Prequential
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.shard_cuts import cut_shards
from olscale.results.opening import open_store
from olscale.results.record import Record
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch

OVA = {"multiclass": "ova"}


def packs(
    path: Path,
    *learners: tuple[str, dict[str, Any]],
    order: str = "time",
    parts: int = 1,
    passes: int = 1,
) -> list[RunGroup]:
    content = {
        "datasets": [{"path": str(path)}],
        "learners": [{"name": name, "params": params} for name, params in learners],
        "protocol": {"order": order, "passes": passes}
        | ({"permutations": 1} if order == "permuted" else {}),
    }
    plan = make_plan(parse_experiment(content))
    return cut_groups(plan.runs, plan.sources, parts)


def through(passage: GroupPass) -> list[Record]:
    for i in range(passage.chunks):
        passage.step(i)
    return passage.finish()


def in_shards(pack: RunGroup, tmp_path: Path) -> Record:
    scratch = Scratch(open_store(tmp_path / "store", create=True), pack.runs[0].id)
    for part in pack.parts():
        assert through(ShardPass(part, scratch)) == []
    return merge_shards(pack, scratch)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "params", "shards"),
    [
        ("pa1", OVA, 50),
        ("arow", {"covariance": "diagonal", **OVA}, 3),
        ("lol", {"k": 20}, 2),
        ("lol", {"k": 20}, 7),
        ("pamo1", {"h": 4}, 5),
    ],
)
def test_shards_of_249_classes_are_the_run_in_one_piece(
    faces: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    params: dict[str, Any],
    shards: int,
) -> None:
    """Mistakes, curve, segments, test error, updates and norms; with ballots in several blocks, and in permuted order."""
    monkeypatch.setattr(shard, "BLOCK_ROWS", 300)
    for order in ("time", "permuted"):
        (pack,) = packs(faces, (name, params), order=order)
        (cut,) = cut_shards([pack], 1, shards)
        assert len(cut.parts()) == shards
        (whole,) = through(GroupPass(pack))
        assert whole.outcome == "ok"
        assert {"mistakes", "test_error", "updates"} <= set(whole.metrics)
        assert len(whole.segments) == (2 if order == "time" else 0)
        assert run_bytes(in_shards(cut, tmp_path)) == run_bytes(whole)


def test_each_shard_reads_the_stream_once(
    faces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cut,) = cut_shards(packs(faces, ("lol", {"k": 5})), 1, 3)
    read: list[tuple[str, int]] = []
    chunk = Stream.untransformed
    monkeypatch.setattr(
        Stream,
        "untransformed",
        lambda self, i: read.append((self.split, i)) or chunk(self, i),
    )
    in_shards(cut, tmp_path)
    once = [("train", i) for i in range(5)] + [("test", i) for i in range(2)]
    assert read == 3 * once


def test_a_run_diverges_where_the_first_of_its_shards_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full CW on labels of chance: each class breaks down at a row of its own, the fourth class first."""
    rng = np.random.default_rng(1)
    np.savez(
        tmp_path / "noise.npz", X=rng.normal(size=(500, 4)), y=rng.integers(0, 5, 500)
    )
    params = {"eta": 0.9, "covariance": "full", "dtype": "float32", **OVA}
    reasons = set()
    for rows in (100, 500):
        ingest(
            str(tmp_path / "noise.npz"),
            str(tmp_path / f"noise{rows}" / "noise"),
            chunk_rows=rows,
        )
        (pack,) = packs(tmp_path / f"noise{rows}" / "noise", ("cw", params))
        (whole,) = through(GroupPass(pack))
        (cut,) = cut_shards([pack], 1, 5)
        assert run_bytes(in_shards(cut, tmp_path)) == run_bytes(whole)
        assert whole.outcome == "diverged"
        reasons.add(whole.reason)
        scratch = Scratch(open_store(tmp_path / "store"), pack.runs[0].id)
        rows_of = [
            int(scratch.read(f"{c}-{c + 1}.end")["failed_at"][2]) for c in range(5)
        ]
        assert len(set(rows_of)) == 5
        assert rows_of.index(min(rows_of)) == 3
        assert f"row {min(rows_of)}:" in whole.reason
    assert len(reasons) == 1


def test_a_missing_value_is_the_same_reason(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[40, 1] = np.nan
    np.savez(tmp_path / "holes.npz", X=X, y=np.arange(60) % 3)
    ingest(str(tmp_path / "holes.npz"), str(tmp_path / "holes"), chunk_rows=16)
    (pack,) = packs(tmp_path / "holes", ("pa", OVA))
    (whole,) = through(GroupPass(pack))
    (cut,) = cut_shards([pack], 1, 3)
    assert "row 40: score is not finite, and neither is the row" in whole.reason
    assert run_bytes(in_shards(cut, tmp_path)) == run_bytes(whole)


FULL = {"covariance": "full", **OVA}


def test_runs_are_cut_when_workers_would_be_idle(faces: Path, shelf: Path) -> None:
    """As many shards as workers a pack, where that repeats little, and only of learners whose classes are apart."""

    def shards(
        path: Path, workers: int, *learners: tuple[str, dict[str, Any]]
    ) -> list[int]:
        return [
            len(pack.parts())
            for pack in cut_shards(packs(path, *learners, parts=workers), workers)
        ]

    assert shards(faces, 1, ("arow", FULL)) == [1]
    assert shards(faces, 4, ("arow", FULL)) == [4]
    assert shards(faces, 4, ("arow", FULL), ("cw", FULL)) == [2, 2]
    assert shards(faces, 4, ("arow", FULL), ("pa", {})) == [2, 1]
    assert shards(faces, 4, ("pa", {}), ("sklearn.linear_model:Perceptron", {})) == [
        1,
        1,
    ]
    assert shards(shelf / "digits", 8, ("pa1", OVA)) == [1]
    assert shards(shelf / "dense", 8, ("lol", {})) == [1]


def test_shards_that_repeat_much_are_not_made_unasked(faces: Path) -> None:
    """Prototypes are the most of LOL: two shards would each learn all of them."""
    packed = packs(faces, ("lol", {"k": 5_000}), parts=4)
    lines: list[str] = []
    assert [pack.shards for pack in cut_shards(packed, 4, note=lines.append)] == [()]
    assert [
        len(pack.shards) for pack in cut_shards(packed, 4, 4, note=lines.append)
    ] == [4]
    unasked, asked = lines
    assert unasked.startswith("4 class shards of lol on faces take ")
    assert unasked.endswith("; so it stays in one (--class-shards 4 cuts it)")
    assert asked == unasked.removesuffix(
        "; so it stays in one (--class-shards 4 cuts it)"
    )


def test_shards_that_were_asked_for(
    faces: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that cannot be cut stay together, 1 is none, and there are no more shards than classes."""
    together = packs(
        shelf / "digits", ("lol", {}), ("pa", {}), ("pa1", OVA), ("pa2", {})
    )
    cut = list(cut_shards(together, 1, 20))
    assert [
        (pack.runs[0].learner, len(pack.runs), len(pack.shards)) for pack in cut
    ] == [
        ("lol", 1, 10),
        ("pa1", 1, 10),
        ("pa", 2, 0),
    ]
    assert list(cut_shards(together, 8, 1)) == together
    assert [
        len(pack.shards)
        for pack in cut_shards(packs(shelf / "dense", ("lol", {})), 8, 2)
    ] == [0]
    monkeypatch.setattr(Prequential, "reads_scores", True)
    assert list(cut_shards(together, 1, 20)) == together


def test_shards_of_a_run_of_two_passes(faces: Path, tmp_path: Path) -> None:
    (pack,) = packs(faces, ("lol", {"k": 5}), passes=2)
    (cut,) = cut_shards([pack], 1, 2)
    assert run_bytes(in_shards(cut, tmp_path)) == run_bytes(through(GroupPass(pack))[0])
