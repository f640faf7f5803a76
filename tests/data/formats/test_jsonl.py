"""JSON lines against Python's json and pandas."""

from __future__ import annotations

import gzip
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from olscale.compiled.csr import to_dense
from olscale.data.formats import ReadOptions, find_format, jsonl
from olscale.data.formats.base import Batch
from olscale.data.formats.jsonl import JsonLinesFormat
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, UnknownNameError

ROWS = '{"a": 1, "b": "x", "label": 0}\n{"a": 2, "b": "y", "label": 1}\n'


def read(path: Path, **options: object) -> list[Batch]:
    return list(JsonLinesFormat().read(str(path), ReadOptions(**options)))  # type: ignore[arg-type]


def cells_of(batches: list[Batch]) -> list[dict[str, Any]]:
    """Return each row as the record that it is: numbers, and the words of its text columns."""
    records = []
    for batch in batches:
        assert batch.table is not None
        assert batch.feature_names is not None
        columns = batch.table.columns
        text = [columns.names[i] for i in columns.features if columns.text[i]]
        missing = batch.table.missing
        for row, cells in enumerate(to_dense(batch.X, batch.columns)):
            record: dict[str, Any] = {}
            for name, value in zip(batch.feature_names, cells.tolist(), strict=False):
                column, mark, word = name.partition("=")
                if mark and column in text:
                    record |= {column: word} if value else {}
                else:
                    record[name] = value
            for i in columns.features:
                if missing is not None and missing[row, i]:
                    record[columns.names[i]] = None
            record[str(batch.label)] = batch.target[row]
            records.append(record)
    return records


def test_records_become_rows(tmp_path: Path) -> None:
    (tmp_path / "k04-rows.jsonl").write_text(ROWS)
    dataset = ingest(tmp_path / "k04-rows.jsonl", tmp_path / "out")
    assert dataset.manifest.feature_names == ("a", "b=x", "b=y")
    assert (dataset.manifest.label_column, dataset.classes) == ("label", (0, 1))
    chunk = next(iter(dataset.chunks("train")))
    assert to_dense(chunk.X, 3).tolist() == [[1, 1, 0], [2, 0, 1]]


WORDS = st.sampled_from(
    ["", "NA", "none", "?", "5", " x ", "größe", "null", 'a "b"', "\\n\n", "é\u2028"]
)
NUMBERS = st.one_of(
    st.integers(-(10**25), 10**25),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans().map(int),
)
VALUES = {"n": NUMBERS, "t": WORDS, "b": st.booleans()}
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"label": st.sampled_from(["yes", "no", "NA", " "])},
        optional={key: st.none() | values for key, values in VALUES.items()},
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=150, deadline=None)
@example(
    [
        {"n": 1.5, "t": None, "b": True, "label": "NA"},
        {"label": "yes", "n": 10**400 // 10**380},
    ],
    1,
    "\r\n",
)
@given(RECORDS, st.integers(1, 30), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_cells_are_those_of_pythons_json(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, Any]],
    sample: int,
    end: str,
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "rows.jsonl"
    records = [{"n": 0, "t": "first", "b": True, "label": "yes"}, *records]
    text = end.join(json.dumps(record, ensure_ascii=False) for record in records)
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "SAMPLE_ROWS", sample)  # the others go by Arrow
        batches = read(path, chunk_rows=7, label="label")
    expected = [
        {"label": record["label"]} | {key: record.get(key) for key in VALUES}
        for record in records
    ]
    for record in expected:
        for key in ("n", "b"):
            record[key] = None if record[key] is None else float(record[key])
    assert cells_of(batches) == expected


def test_numbers_are_those_of_pandas(tmp_path: Path) -> None:
    import pandas

    rng = np.random.default_rng(0)
    values = (rng.normal(size=5000) * 10.0 ** rng.integers(-30, 30, 5000)).tolist()
    text = "".join(
        json.dumps({"x": value, "i": i, "y": i % 3}) + "\n"
        for i, value in enumerate(values)
    )
    (tmp_path / "rows.json").write_text(text)
    frame = pandas.read_json(io.StringIO(text), lines=True, precise_float=True)
    X = np.vstack([np.asarray(batch.X) for batch in read(tmp_path / "rows.json")])
    assert X[:, 0].tolist() == values
    assert X[:, 1].tolist() == frame["i"].tolist()


def test_arrow_and_python_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        {"a": i / 7, "t": f"w{i % 5}", "flag": i % 2 == 0, "y": i % 3}
        for i in range(9000)
    ]
    for i in range(0, 9000, 11):
        records[i]["t"] = None  # type: ignore[assignment]
        del records[i]["flag"]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records)
    )
    fast = read(tmp_path / "rows.jsonl", chunk_rows=1000)
    monkeypatch.setattr(jsonl._Records, "_parsed", lambda self: None)
    slow = read(tmp_path / "rows.jsonl", chunk_rows=1000)
    assert len(fast) == len(slow) == 9
    for one, other in zip(fast, slow, strict=True):
        assert [a.tobytes() for a in one.X] == [a.tobytes() for a in other.X]  # type: ignore[union-attr]
        assert np.array_equal(one.table.missing, other.table.missing)  # type: ignore[union-attr, arg-type]
        assert np.array_equal(one.target, other.target)


LATE = "".join(f'{{"a": {i}, "y": {i % 2}}}\n' for i in range(2500))


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (
            ROWS + '{"a": "5", "b": "x", "label": 0}\n',
            3,
            "key 'a' is text: \"5\", expected a number as in the rows",
        ),
        (
            ROWS + '{"a": true, "b": "x", "label": 0}\n',
            3,
            "key 'a' is true or false: true, expected a number",
        ),
        (
            ROWS + '{"a": 1, "b": 5, "label": 0}\n',
            3,
            "key 'b' is a number: 5.0, expected text",
        ),
        (
            '{"a": {"b": 1}, "y": 0}\n',
            1,
            "key 'a' is an object.*flatten it.*or leave it out with --drop a",
        ),
        ('{"a": 1, "y": 0}\n{"a": [1], "y": 0}\n', 2, "key 'a' is an array"),
        ('{"a": 1, "a": 2, "y": 0}\n', 1, "key 'a' is in the record twice"),
        ('{"a": 1, "y": 0}\n[1, 0]\n', 2, "the line is an array, expected an object"),
        ('{"a": 1, "y": 0}\n5\n', 2, "the line is '5', expected an object"),
        (
            '{"a": 1, "y": 0}\n{"a": 1, "y": 0\n',
            2,
            "is no JSON record .*expected one object a line",
        ),
        ('{"a": 1, "y": 0} {"a": 1, "y": 0}\n', 1, "is no JSON record .Extra data."),
        (
            '{"a": "\\ud800", "y": 0}\n',
            1,
            r"key 'a' is .\\ud800., which is no valid text",
        ),
        ('{"a": 1, "y": null}\n', 1, "the label is missing .column 'y'."),
        (
            LATE + '{"a": 1, "y": 0, "new": 1}\n',
            2501,
            "key 'new' is in none of the first 2,000 records",
        ),
        (LATE + '{"a": "x", "y": 0}\n', 2501, "key 'a' is text"),
        (LATE + '{"a": 1}\n', 2501, "the label is missing"),
        (LATE + '{"a": 1, "y": 0}{"a": 2, "y": 0}\n', 2501, "is no JSON record"),
        (LATE + "\udcff\n", 2501, "is not UTF-8 text"),
    ],
)
def test_faults_are_named_with_their_line(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    (tmp_path / "t.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FormatError, match=rf"t\.jsonl, line {line}: .*{problem}"):
        read(tmp_path / "t.jsonl")


def test_keys_are_left_out_also_where_they_hold_objects_or_come_late(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"id": [1], "a": 1, "y": 0}\n'
        + LATE
        + '{"a": 7, "y": 1, "new": {"x": 1}, "id": "z"}\n'
    )
    batches = read(path, drop=("id", "new"))
    assert batches[-1].feature_names == ("a",)
    assert float(batches[-1].X[-1, 0]) == 7.0  # type: ignore[call-overload]
    with pytest.raises(UnknownNameError, match="'nwe'"):
        read(path, drop=("id", "new", "nwe"))


def test_a_later_source_has_the_columns_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(ROWS)
    (tmp_path / "b.jsonl").write_text(
        '{"label": 1, "b": "z", "a": 3}\n{"label": 0, "a": null}\n'
    )
    dataset = ingest(tmp_path / "a.jsonl", tmp_path / "out", test=tmp_path / "b.jsonl")
    assert dataset.manifest.feature_names == ("a", "b=x", "b=y", "b=z")
    (chunk,) = dataset.chunks("test")
    assert to_dense(chunk.X, 4)[0].tolist() == [3, 0, 0, 1]
    assert math.isnan(to_dense(chunk.X, 4)[1, 0])
    (tmp_path / "c.jsonl").write_text('{"a": "5", "b": "x", "label": 1}\n')
    with pytest.raises(
        FormatError, match="key 'a' is text, expected a number as in the source before"
    ):
        ingest(tmp_path / "a.jsonl", tmp_path / "other", test=tmp_path / "c.jsonl")


@pytest.mark.parametrize(
    "name",
    ["rows.jsonl", "rows.ndjson", "rows.json", "rows.jsonl.gz", "rows.txt", "rows"],
)
def test_it_is_known_by_name_or_content(tmp_path: Path, name: str) -> None:
    content = ("\ufeff" + ROWS).encode()
    (tmp_path / name).write_bytes(
        gzip.compress(content) if name.endswith(".gz") else content
    )
    format = find_format(str(tmp_path / name))
    assert format.name == "jsonl"
    (batch,) = format.read(str(tmp_path / name), ReadOptions())
    assert len(batch) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[{"a": 1}, {"a": 2}]',
            r"is a JSON array; write one record a line: jq -c '\.\[\]' FILE",
        ),
        (
            '{\n  "a": 1,\n  "y": 0\n}\n',
            r"is a JSON document over several lines; .*jq -c \. FILE",
        ),
        (
            '{"columns": ["a", "y"],\n "data": [[1, 0]]}\n',
            "is a JSON document over several lines",
        ),
        ("", "no rows"),
    ],
)
def test_documents_are_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    for name in ("rows.json", "rows.jsonl", "rows.txt"):
        (tmp_path / name).write_text(text)
        with pytest.raises(FormatError, match=problem):
            list(
                find_format(str(tmp_path / name)).read(
                    str(tmp_path / name), ReadOptions()
                )
            )
