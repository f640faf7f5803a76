"""Dates as parts, places in day, week and year, and seconds since the row before, wherever rows come from."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import olscale
from olscale.cli.columns import dates_line
from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.formats.coding import parse_codings
from olscale.data.formats.date_coding import Date
from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.known_columns import known_columns
from olscale.errors import FormatError, ParameterError
from olscale.evaluation.learn_on import learn_on
from olscale.models.about import ColumnsEntry
from olscale.models.file import load_model
from olscale.models.raw_rows import RowEncoder
from olscale.models.source import ModelSource

START = dt.datetime(2024, 12, 30, 22, 15)
TIMES: list[dt.datetime | None] = [
    START + dt.timedelta(minutes=37 * i * i) for i in range(40)
]
TIMES[7] = None
GAPS = [37.0 * 60 * (2 * i - 1) for i in range(40)]
GAPS[0] = GAPS[7] = 0.0
GAPS[8] = 37.0 * 60 * (64 - 36)
CODING = "ts=date:parts=hour,weekday,since-last"


def features(dataset: Dataset) -> np.ndarray:
    return np.vstack(
        [to_dense(chunk.X, dataset.columns) for chunk in dataset.chunks("train")]
    )


def expected() -> np.ndarray:
    hours = [0 if time is None else time.hour for time in TIMES]
    days = [0 if time is None else time.weekday() for time in TIMES]
    return np.column_stack([np.arange(40) % 5, days, hours, GAPS])


def cells(row: int) -> dict[str, Any]:
    time = TIMES[row]
    return {"x": row % 5, "ts": None if time is None else str(time), "y": "ab"[row % 2]}


def written(folder: Path, kind: str) -> str:
    path = folder / f"rows.{kind}"
    records = [cells(i) for i in range(len(TIMES))]
    if kind == "parquet":
        table = pa.table(
            {
                "x": [record["x"] for record in records],
                "ts": pa.array(TIMES, pa.timestamp("ns")),
                "y": [record["y"] for record in records],
            }
        )
        parquet.write_table(table, path, row_group_size=9)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        lines = [
            f"{r['x']},{'?' if r['ts'] is None else repr(r['ts'])},{r['y']}"
            for r in records
        ]
        head = [
            "@relation r",
            "@attribute x numeric",
            '@attribute ts date "yyyy-MM-dd HH:mm:ss"',
            "@attribute y {a,b}",
            "@data",
        ]
        if kind == "csv":
            head = ["x,ts,y"]
            lines = [line.replace("'", "").replace("?", "") for line in lines]
        path.write_text("\n".join([*head, *lines]) + "\n")
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "arff"])
@pytest.mark.parametrize("chunk_rows", [None, 3])
def test_every_format_gives_the_same_features(
    tmp_path: Path, kind: str, chunk_rows: int | None
) -> None:
    """A row without a date is skipped: the next is as long after the one before it."""
    options: dict[str, Any] = {} if chunk_rows is None else {"chunk_rows": chunk_rows}
    dataset = ingest(written(tmp_path, kind), tmp_path / "d", encode=CODING, **options)
    names = ("x", "ts=weekday", "ts=hour", "ts=since-last")
    assert dataset.manifest.feature_names == names
    np.testing.assert_array_equal(features(dataset), expected())
    known = known_columns(dataset.manifest)
    assert known.groups["numeric"] == frozenset(names)


def test_each_file_begins_anew_and_one_like_another_is_encoded_alike(
    tmp_path: Path,
) -> None:
    first = written(tmp_path, "csv")
    whole = ingest([first, first], tmp_path / "two", encode=CODING)
    np.testing.assert_array_equal(features(whole), np.vstack([expected(), expected()]))
    assert whole.manifest.table is not None
    assert whole.manifest.table.coded == {"ts": "date:parts=weekday,hour,since-last"}
    alike = ingest(written(tmp_path, "parquet"), tmp_path / "alike", like=whole.path)
    np.testing.assert_array_equal(features(alike), expected())


def forms() -> list[Any]:
    records = [cells(i) for i in range(len(TIMES))]
    frame = pd.DataFrame({"x": [r["x"] for r in records], "ts": pd.to_datetime(TIMES)})
    return [records, frame, pa.table({"x": frame["x"], "ts": pa.array(TIMES)})]


def test_a_model_reads_raw_rows_as_they_were_ingested(tmp_path: Path) -> None:
    """The row before is one of the same call, so that a row alone has been waited for 0 seconds."""
    source = written(tmp_path, "csv")
    columns = ColumnsEntry.of(ingest(source, tmp_path / "d", encode=CODING).manifest)
    encoder = RowEncoder(columns)
    for form in forms():
        np.testing.assert_array_equal(to_dense(encoder.rows(form), 4), expected())
    records: Sequence[Any] = forms()[0]
    alone = to_dense(encoder.rows(records[9]), 4)
    np.testing.assert_array_equal(alone[0, :3], expected()[9, :3])
    assert alone[0, 3] == 0.0
    after_another = to_dense(encoder.rows(records[8:10]), 4)
    np.testing.assert_array_equal(after_another[1], expected()[9])
    for kind in ("csv", "parquet"):
        parts = [rows.X for rows in ModelSource(columns, written(tmp_path, kind))]
        read = np.vstack([to_dense(part, 4) for part in parts])
        np.testing.assert_array_equal(read, expected())


def test_a_saved_model_learns_on_and_predicts_one_row(tmp_path: Path) -> None:
    dataset = ingest(
        written(tmp_path, "csv"), tmp_path / "d", encode="ts=date:cyclic,since-last"
    )
    experiment = olscale.Experiment(
        datasets=[{"path": dataset.path}],
        learners=[{"name": "arow"}],
        transforms=["running-standardize", "bias"],
        protocol={"order": "time", "keep_model": True},
    )
    olscale.evaluate(experiment, tmp_path / "store", in_process=True)
    [file] = (tmp_path / "store").glob("models/*")
    model = load_model(str(file))
    records = forms()[0]
    scores = model.decision_function(records)
    pairs = [model.decision_function(records[i : i + 2])[1] for i in range(8, 20)]
    np.testing.assert_array_equal(pairs, scores[9:21])
    alone = model.decision_function({**records[9], "ts": TIMES[9]})
    first = model.decision_function([records[9], records[9]])
    np.testing.assert_array_equal([alone[0], alone[0]], first)
    frame = forms()[1]
    with_labels = load_model(str(file)).partial_fit(frame, [r["y"] for r in records])
    with_labels.save(str(tmp_path / "frame.olm"))
    one_call = load_model(str(file)).partial_fit(records)
    for name, array in one_call.arrays().items():
        np.testing.assert_array_equal(array, with_labels.arrays()[name])
    again = load_model(str(tmp_path / "frame.olm"))
    source = written(tmp_path, "parquet")
    learn_on(again, ModelSource(again.about.columns, source))
    one_call.partial_fit(records)
    for name, array in one_call.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])


def test_cycles_have_fixed_bits_near_those_of_the_library() -> None:
    texts = [str(time) for time in TIMES if time is not None]
    X = to_dense(Date("cyclic").encode(texts), 6)
    for text, row in zip(texts, X, strict=True):
        time = dt.datetime.fromisoformat(text)
        for place, turn in enumerate(
            (
                (60 * time.hour + time.minute) / 1440,
                time.weekday() / 7,
                (time.month - 1) / 12,
            )
        ):
            assert abs(row[2 * place] - math.sin(math.tau * turn)) < 1e-15
            assert abs(row[2 * place + 1] - math.cos(math.tau * turn)) < 1e-15
    [row] = to_dense(Date("cyclic").encode(["2023-05-20 07:01:02.5"]), 6)
    assert [value.hex() for value in row] == BITS


BITS = [
    "0x1.edf255879a574p-1",
    "-0x1.0d8608d27e711p-2",
    "-0x1.f329c0558e969p-1",
    "-0x1.c7b90e3024589p-3",
    "0x1.bb67ae8584cacp-1",
    "-0x1.ffffffffffffcp-2",
]


def test_seconds_count_from_zone_to_zone() -> None:
    coding = Date("timestamp,since-last")
    texts = ["2024-03-31T01:59:59.5+01:00", "2024-03-31T03:00:00+02:00", "2024-03-31"]
    X = to_dense(coding.encode(texts), 2)
    assert X[:, 1].tolist() == [0.0, 0.5, -3600.0]
    assert X[2, 0] == dt.datetime(2024, 3, 31, tzinfo=dt.UTC).timestamp()


def test_parts_have_a_canonical_order_and_are_checked() -> None:
    texts = {
        "d=date": "date",
        "d=date:cyclic": "date:parts=cyclic",
        "d=date:since-last,hour": "date:parts=hour,since-last",
        "d=date:parts=second,minute,hour,weekday,day,month,year": "date",
    }
    for text, canonical in texts.items():
        assert str(parse_codings([text])["d"]) == canonical
    for wrong in (
        "d=date:hours",
        "d=date:hour,hour",
        "d=date:features=hour",
        "d=hash:parts=5",
    ):
        with pytest.raises(ParameterError, match="encode"):
            parse_codings([wrong])


def test_dates_that_are_not_encoded_come_with_advice(tmp_path: Path) -> None:
    plain = ingest(written(tmp_path, "csv"), tmp_path / "plain")
    assert dates_line(plain.manifest) == (
        "ts, one feature a date; --encode ts=date:cyclic makes few features of each (or --drop)"
    )
    encoded = ingest(
        written(tmp_path, "csv"), tmp_path / "encoded", encode="ts=date:cyclic"
    )
    assert dates_line(encoded.manifest) is None
    with pytest.raises(
        FormatError, match="--encode ts=date:cyclic makes features of dates"
    ):
        ingest(written(tmp_path, "parquet"), tmp_path / "refused")
