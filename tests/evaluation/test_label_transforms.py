"""Categories as numbers: a plain loop over rows and labels that have arrived, however rows come and are cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import open_streams
from olscale.data.transforms.pipeline import make_transform
from olscale.data.transforms.streaming import StreamingTransform
from olscale.errors import ExperimentError, OlscaleError, ParameterError
from olscale.evaluation import group_pass
from olscale.evaluation.class_shards import ShardPass, merge_shards
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.evaluation.shard_cuts import cut_shards
from olscale.evaluation.stream_transforms import StreamTransforms
from olscale.models.file import load_model
from olscale.models.grow import grow_classes
from olscale.results.opening import open_store
from olscale.results.rows import run_bytes
from olscale.results.scratch import Scratch
from tests.cli.command import run
from tests.cluster import Cluster

ROWS = 240
SHOPS = ["north", "south", "", "east"]
Table = dict[str, list[Any]]
Encoded = Callable[[Table], list[list[float]]]


def table(answers: str) -> Table:
    rng = random.Random(3)
    columns: Table = {"shop": [], "code": [], "size": [], "wait": [], "label": []}
    for _ in range(ROWS):
        shop = rng.randrange(4)
        code = rng.choice([7, 7, 12, -3])
        columns["shop"].append(SHOPS[shop])
        columns["code"].append("" if rng.random() < 0.1 else code)
        columns["size"].append(round(rng.gauss(0, 1), 3))
        columns["wait"].append(rng.choice([0, 0, 3, 11, 500]))
        label: Any = rng.choice(answers[: 1 + shop % len(answers)])
        if answers == "number":
            label = round(rng.gauss(shop, 1) + code, 2)
        columns["label"].append(label)
    return columns


def ingested(folder: Path, columns: Table, name: str = "t", **options: Any) -> Dataset:
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    if "like" not in options:
        options["label"] = "label"
    return ingest(str(folder / f"{name}.csv"), folder / name, **options)


def group(
    dataset: Dataset,
    *transforms: str,
    learner: str = "pa1",
    ova: bool = False,
    **protocol: Any,
) -> RunGroup:
    content: dict[str, Any] = {
        "datasets": [{"path": dataset.path}],
        "learners": [{"name": learner, "params": {"multiclass": "ova"} if ova else {}}],
        "transforms": list(transforms),
        "protocol": {"order": "time", **protocol},
    }
    plan = make_plan(parse_experiment(content))
    [made] = cut_groups(plan.runs, plan.sources, 1)
    return made


def rows_of(made: RunGroup) -> np.ndarray:
    """Return the rows of a stream as its learners get them."""
    key = made.runs[0].stream
    stream = open_streams(
        made.path,
        key.transforms,
        key.shuffle,
        key.part,
        delay_column=key.scoring.delay_position,
    ).train
    transforms = StreamTransforms(stream.pipeline, made.runs, stream.rows)
    parts = []
    for i in range(len(stream)):
        chunk = stream.pipeline.apply(stream.untransformed(i))
        [part] = transforms.learn(chunk, stream.first_row(i)).values()
        parts.append(to_dense(part.X, part.columns))
    return np.vstack(parts)


def by_targets(
    cells: list[Any],
    labels: list[Any],
    waits: list[int],
    teaches: list[bool],
    smoothing: float,
) -> list[list[float]]:
    """Return the features of a column by their definition."""
    classes = sorted(set(labels)) if isinstance(labels[0], str) else []
    shown = classes if len(classes) > 2 else classes[1:] or [None]
    made = []
    for row, cell in enumerate(cells):
        before = [s for s in range(row) if teaches[s] and s + waits[s] < row]
        features = []
        for answer in shown:
            values = [
                labels[s] if answer is None else float(labels[s] == answer)
                for s in before
            ]
            same = [
                value
                for s, value in zip(before, values, strict=True)
                if cells[s] == cell
            ]
            prior = 0.0 if answer is None else 1.0 / len(classes)
            if before:
                prior = sum(values) / len(before)
            features.append((sum(same) + smoothing * prior) / (len(same) + smoothing))
        made.append(features)
    return made


@pytest.mark.parametrize("encode", [None, "shop=hash:features=64"])
@pytest.mark.parametrize(
    ("answers", "learner"), [("yn", "pa1"), ("abc", "arow"), ("number", "rls")]
)
def test_a_category_has_the_mean_label_of_earlier_rows(
    tmp_path: Path, answers: str, learner: str, encode: str | None
) -> None:
    columns = table(answers)
    options = {} if encode is None else {"encode": encode}
    dataset = ingested(tmp_path, columns, **options)
    everywhere = [True] * ROWS
    made = rows_of(
        group(dataset, "target-encode@shop", "target-encode:2.5@code", learner=learner)
    )
    none_waits = [0] * ROWS
    shops = by_targets(columns["shop"], columns["label"], none_waits, everywhere, 1.0)
    codes = by_targets(columns["code"], columns["label"], none_waits, everywhere, 2.5)
    expected = np.hstack([np.array(shops), np.array(codes)])
    np.testing.assert_allclose(made[:, 2:], expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(made[:, 0], columns["size"])


@pytest.mark.parametrize("delay", [6, "wait"])
def test_late_labels_and_rows_that_are_held_out(
    tmp_path: Path, delay: int | str
) -> None:
    """A label counts once it has arrived, if its row trains the learner and it arrives at all."""
    columns = table("abc")
    waits = [delay] * ROWS if isinstance(delay, int) else columns["wait"]
    held = {"holdout_every": 30, "holdout_rows": 10}
    teaches = [row % 40 < 30 for row in range(ROWS)]
    made = {}
    for chunk_rows in (7, 100):
        dataset = ingested(tmp_path, columns, f"c{chunk_rows}", chunk_rows=chunk_rows)
        made[chunk_rows] = rows_of(
            group(dataset, "target-encode@shop", delay=delay, **held)
        )
    np.testing.assert_array_equal(made[7], made[100])
    expected = by_targets(columns["shop"], columns["label"], waits, teaches, 1.0)
    np.testing.assert_allclose(made[7][:, -3:], expected, rtol=1e-12)


def test_frequencies_are_shares_of_the_rows_so_far(tmp_path: Path) -> None:
    columns = table("yn")
    made = rows_of(
        group(ingested(tmp_path, columns), "frequency-encode@shop+code", delay=9)
    )
    for place, name in ((-2, "code"), (-1, "shop")):
        cells = columns[name]
        shares = [cells[: row + 1].count(cells[row]) / (row + 1) for row in range(ROWS)]
        np.testing.assert_allclose(made[:, place], shares, rtol=1e-12)


def test_bits_are_those_of_an_interrupted_stream(tmp_path: Path) -> None:
    """A checkpoint has the labels that have not arrived, and values of columns of numbers."""
    columns = table("abc")
    columns["code"] = [row // 3 for row in range(ROWS)]
    dataset = ingested(tmp_path, columns, chunk_rows=20)
    steps = ("target-encode@shop+code", "frequency-encode@size", "running-standardize")
    made = group(dataset, *steps, delay=8)
    whole = GroupPass(made)
    stopped = GroupPass(made)
    while not whole.ended:
        whole.advance()
        if whole.position <= 5:
            stopped.advance()
    resumed = GroupPass(made)
    resumed.restore({name: np.array(array) for name, array in stopped.state()})
    while not resumed.ended:
        resumed.advance()
    [expected], [got] = whole.finish(), resumed.finish()
    assert got.metrics == expected.metrics
    states = [going.pipeline(going.states[0]).steps for going in (whole, resumed)]
    for one, other in zip(*states, strict=True):
        for name, array in one.state().items():
            np.testing.assert_array_equal(array, other.state()[name])


def evaluated(folder: Path, columns: Table, name: str, *options: str) -> Path:
    dataset = ingested(folder, columns, name)
    transforms = (
        "target-encode@shop+code,frequency-encode@size,running-standardize,bias"
    )
    done = run(
        *(
            "evaluate",
            "--dataset",
            dataset.path,
            "--learner",
            "arow",
            "--order",
            "time",
        ),
        *(
            "--transform",
            transforms,
            "--store",
            folder / f"{name}-store",
            "--in-process",
        ),
        *("--keep-model", *options),
    )
    assert done.returncode == 0, done.stderr
    [model] = (folder / f"{name}-store").glob("models/*")
    return model


def part(columns: Table, start: int, stop: int) -> Table:
    return {name: cells[start:stop] for name, cells in columns.items()}


def test_a_model_learns_on_as_in_one_stream_and_takes_raw_rows(tmp_path: Path) -> None:
    columns = table("abc")
    whole = load_model(str(evaluated(tmp_path, columns, "whole")))
    first = evaluated(tmp_path, part(columns, 0, 150), "first")
    model = load_model(str(first))
    records = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    rows = [
        {name: record[name] for name in ("shop", "code", "size", "wait")}
        for record in records
    ]
    labels = columns["label"]
    model.partial_fit(rows[150], labels[150:151])
    model.partial_fit(rows[151:170], labels[151:170])
    model.save(str(tmp_path / "m.olm"))
    ingested(tmp_path, part(columns, 170, ROWS), "rest")
    learn = ("models", "learn", tmp_path / "m.olm", tmp_path / "rest.csv")
    done = run(*learn, "--out", tmp_path / "n.olm")
    assert done.returncode == 0, done.stderr
    learned = load_model(str(tmp_path / "n.olm"))
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(learned.arrays()[name], array, err_msg=name)
    rest = ingested(
        tmp_path, part(columns, 150, ROWS), "stream", like=str(tmp_path / "first")
    )
    begun = (
        "evaluate",
        "--dataset",
        rest.path,
        "--from-model",
        first,
        "--order",
        "time",
    )
    done = run(*begun, "--store", tmp_path / "begun", "--in-process", "--keep-model")
    assert done.returncode == 0, done.stderr
    [file] = (tmp_path / "begun").glob("models/*")
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(
            load_model(str(file)).arrays()[name], array, err_msg=name
        )
    together = whole.predict(rows)
    assert [whole.predict(row)[0] for row in rows[:40]] == list(together[:40])
    np.testing.assert_array_equal(learned.arrays()["transform0/left"], [])
    with pytest.raises(OlscaleError, match="cannot get the class"):
        grow_classes(whole, ["d"])


def test_workers_give_the_bytes_of_one_process(
    tmp_path: Path, cluster: Cluster
) -> None:
    dataset = ingested(tmp_path, table("abc"), chunk_rows=16)
    experiment = olscale.Experiment(
        datasets=[{"path": dataset.path}],
        learners=[{"name": "pa1"}],
        transforms=["target-encode@shop", "running-standardize", "bias"],
        protocol={"order": "permuted", "permutations": 2, "delay": 5},
    )
    where: dict[str, dict[str, Any]] = {
        "one": {"in_process": True},
        "two": {"scheduler": cluster.scheduler},
    }
    runs = []
    for name, options in where.items():
        olscale.evaluate(experiment, tmp_path / name, **options)
        store = open_store(tmp_path / name)
        runs.append({run: run_bytes(store.get(run)) for run in sorted(store.done())})
    assert len(runs[0]) == 2
    assert runs[0] == runs[1]


def passed(going: GroupPass) -> GroupPass:
    while not going.ended:
        going.advance()
    return going


def test_class_shards_see_all_labels(tmp_path: Path) -> None:
    dataset = ingested(tmp_path, table("abcde"))
    made = group(
        dataset, "target-encode@shop", "running-standardize", learner="pa1", ova=True
    )
    [whole] = passed(GroupPass(made)).finish()
    [sharded] = cut_shards([made], 2, asked=2)
    scratch = Scratch(open_store(str(tmp_path / "store"), create=True), made.runs[0].id)
    for part_of_classes in sharded.parts():
        passed(ShardPass(part_of_classes, scratch)).finish()
    assert run_bytes(merge_shards(sharded, scratch)) == run_bytes(whole)


def test_rows_shown_ahead_carry_no_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(group_pass.RunState, "looks_ahead", True)
    monkeypatch.setattr(group_pass.RunState, "prepare", lambda self, X: shown.append(X))
    dataset = ingested(tmp_path, table("abc"))
    GroupPass(group(dataset, "target-encode@shop")).advance()
    [X] = shown
    np.testing.assert_array_equal(to_dense(X, 6)[:, 3:], 1.0 / 3.0)


def test_what_cannot_be_encoded_is_refused(tmp_path: Path) -> None:
    dataset = ingested(tmp_path, table("yn"))
    for text in ("target-encode", "frequency-encode"):
        with pytest.raises(ParameterError, match=f"name them: {text}@COLUMN"):
            GroupPass(group(dataset, text))
    with pytest.raises(
        ExperimentError, match="smoothing was 0, expected a number above 0"
    ):
        group(dataset, "target-encode:smoothing=0@shop")
    with pytest.raises(ParameterError, match="learns as rows come"):
        GroupPass(group(dataset, "target-encode@shop", "standardize"))
    novelties = ingested(tmp_path, table("yn"), "n", novel="y")
    with pytest.raises(ParameterError, match="novelty detectors never see"):
        GroupPass(group(novelties, "target-encode@shop"))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("column", np.array([0, 5, 0])),
        ("by_value", np.zeros(0, dtype=np.int64)),
        ("owners", np.array([4])),
        ("counts", np.zeros(2, dtype=np.int64)),
        ("sums", np.zeros((4, 3))),
        ("start", np.zeros(0)),
        ("left", np.array([3])),
        ("odd", np.zeros(1)),
    ],
)
def test_arrays_of_a_model_are_checked(name: str, array: np.ndarray) -> None:
    step = make_transform("target-encode")
    assert isinstance(step, StreamingTransform)
    step.begin(3)
    state = step.state()
    make_transform("target-encode").restore(state, 3)
    with pytest.raises(ValueError, match="target-encode"):
        make_transform("target-encode").restore(state | {name: array}, 3)
