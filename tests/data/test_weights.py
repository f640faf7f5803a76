"""Weights of rows come from a column of a source, are no feature, and go with their rows wherever these go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from olscale.cli import olscale
from olscale.compiled.csr import to_dense
from olscale.data.catalogue.sample import drawn, sample
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.export import export
from olscale.data.ingest.ingest import ingest
from olscale.data.shuffle.subset import Subset, ordered_rows
from olscale.data.stream import Part, Shuffle, open_streams
from olscale.errors import DatasetError, FormatError, OlscaleError

ROWS = 300
RNG = np.random.default_rng(0)
X = np.where(RNG.random((ROWS, 2)) < 0.2, 0.0, RNG.normal(size=(ROWS, 2)))
W = RNG.integers(0, 5, ROWS) * 0.25
Y = (X[:, 0] > 0).astype(int)
_ARFF = [
    "@relation r",
    *(f"@attribute {name} numeric" for name in ("a", "w", "b")),
    "@attribute y {0,1}",
    "@data",
]


def _records() -> list[dict[str, Any]]:
    columns = zip(X.tolist(), W.tolist(), Y.tolist(), strict=True)
    return [{"a": a, "w": w, "b": b, "y": y} for (a, b), w, y in columns]


def _source(folder: Path, kind: str) -> Path:
    """Write all rows as a source of a kind."""
    path = folder / f"rows-of.{kind.removeprefix('sparse-')}"
    rows = _records()
    lines = {
        "csv": lambda: [
            "a,w,b,y",
            *(",".join(map(repr, row.values())) for row in rows),
        ],
        "text.csv": lambda: [
            "a,w,b,word,y",
            *(f"{r['a']},{r['w']},{r['b']},{'xz'[r['y']]},{r['y']}" for r in rows),
        ],
        "arff": lambda: [*_ARFF, *(",".join(map(repr, row.values())) for row in rows)],
        "sparse-arff": lambda: [
            *_ARFF,
            *(
                f"{{{', '.join(f'{i} {v!r}' for i, v in enumerate(row.values()) if v)}}}"
                for row in rows
            ),
        ],
        "jsonl": lambda: map(json.dumps, rows),
        "vw": lambda: [
            f"{row['y']} {row['w']!r} | a:{row['a']!r} b:{row['b']!r}" for row in rows
        ],
    }
    if kind in lines:
        path.write_text("\n".join(lines[kind]()) + "\n")
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "npz":
        np.savez(path, X=X, y=Y, w=W)
    else:
        scipy.io.savemat(path, {"X": X, "y": Y, "w": W})
    return path


def _made(folder: Path, kind: str, **options: Any) -> Dataset:
    weights = "importance" if kind == "vw" else "w"
    return ingest(
        _source(folder, kind),
        folder / "made",
        weights=weights,
        chunk_rows=64,
        **options,
    )


def _rows(
    dataset: Dataset, split: str = "train"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chunks = list(dataset.chunks(split))
    dense = np.concatenate([to_dense(chunk.X, dataset.columns) for chunk in chunks])
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return dense, np.concatenate([chunk.y for chunk in chunks]), np.concatenate(weights)


@pytest.mark.parametrize(
    "kind",
    ["csv", "text.csv", "arff", "sparse-arff", "jsonl", "vw", "parquet", "npz", "mat"],
)
@pytest.mark.parametrize("layout", ["parquet", "zarr"])
def test_every_format_and_layout_keeps_weights_apart(
    tmp_path: Path, kind: str, layout: str
) -> None:
    made = _made(tmp_path, kind, layout=layout)
    dense, y, weights = _rows(made)
    np.testing.assert_array_equal(weights, W)
    np.testing.assert_array_equal(y, Y)
    assert sorted(np.abs(dense[:, :2]).sum(axis=0)) == sorted(np.abs(X).sum(axis=0))
    assert made.columns == (4 if kind == "text.csv" else 2)
    assert made.weights not in (made.manifest.feature_names or ())
    entry = made.manifest.weights
    assert entry is not None
    assert (entry.least, entry.greatest, entry.zeros) == (0.0, 1.0, int((W == 0).sum()))
    words = ROWS if kind == "text.csv" else 0
    assert made.manifest.feature_nonzeros == np.count_nonzero(X) + words
    made.verify()


def test_all_formats_of_the_same_numbers_are_one_dataset(tmp_path: Path) -> None:
    fingerprints = set()
    for kind in ("csv", "arff", "sparse-arff", "jsonl", "parquet", "npz"):
        (tmp_path / kind).mkdir()
        fingerprints.add(_made(tmp_path / kind, kind).fingerprint)
    assert len(fingerprints) == 1
    plain = ingest(tmp_path / "csv" / "rows-of.csv", tmp_path / "plain", drop="w")
    assert plain.weights is None
    assert plain.fingerprint not in fingerprints


@pytest.mark.parametrize("kind", ["csv", "vw"])
def test_every_order_of_rows_brings_the_weights_along(
    tmp_path: Path, kind: str
) -> None:
    made = _made(tmp_path, kind)
    order = Shuffle(0, 0).order(ROWS)
    streams = open_streams(made.path, ["bias"], Shuffle(0, 0))
    np.testing.assert_array_equal(
        np.concatenate([chunk.weights for chunk in streams.train.chunks()]), W[order]
    )
    few = ordered_rows(made, "train", order, 40_000)
    np.testing.assert_array_equal(
        np.concatenate([few.chunk(i).weights for i in range(5)]), W[order]
    )
    ascending = Subset(made, "train", np.arange(0, ROWS, 3))
    np.testing.assert_array_equal(
        np.concatenate([ascending.chunk(i).weights for i in range(2)]), W[::3]
    )
    part = Part("kfold", seed=0, fold=1, folds=3)
    train, held_out = part.rows(Y)
    parts = open_streams(made.path, part=part)
    np.testing.assert_array_equal(
        np.concatenate([chunk.weights for chunk in parts.train.chunks()]), W[train]
    )
    assert parts.test is not None
    np.testing.assert_array_equal(
        np.concatenate([chunk.weights for chunk in parts.test.chunks()]), W[held_out]
    )


@settings(max_examples=6, deadline=None)
@given(chunk_rows=st.integers(20, ROWS), cut=st.integers(1, ROWS - 1))
def test_neither_chunks_nor_splits_change_a_weight(
    tmp_path_factory: pytest.TempPathFactory, chunk_rows: int, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    path = _source(folder, "csv")
    made = ingest(path, folder / "d", weights="w", chunk_rows=chunk_rows)
    np.testing.assert_array_equal(_rows(made)[2], W)
    split = ingest(
        path, folder / "split", weights="w", chunk_rows=chunk_rows, train_rows=cut
    )
    np.testing.assert_array_equal(_rows(split)[2], W[:cut])
    np.testing.assert_array_equal(_rows(split, "test")[2], W[cut:])
    assert made.fingerprint == ingest(path, folder / "whole", weights="w").fingerprint


@pytest.mark.parametrize("cell", ["-1", "nan", "", "inf", "-inf", "abc", "1e999"])
@pytest.mark.parametrize("place", [3, 5000])
def test_what_is_no_weight_is_refused_with_its_line(
    tmp_path: Path, cell: str, place: int
) -> None:
    rows = ["1,1,2,0"] * 6000
    rows[place] = f"1,{cell},2,1"
    (tmp_path / "t.csv").write_text("\n".join(["a,w,b,y", *rows]) + "\n")
    with pytest.raises(FormatError, match=rf"t\.csv, line {place + 2}: .*weight"):
        ingest(tmp_path / "t.csv", tmp_path / "d", weights="w")
    assert not (tmp_path / "d").exists()
    body = [f"1,1,{i % 2}" for i in range(9)]
    arff = ["@relation r", *_ARFF[1:3], _ARFF[4], "@data", *body, f"1,{cell or '?'},1"]
    (tmp_path / "t.arff").write_text("\n".join(arff) + "\n")
    with pytest.raises(FormatError, match=r"t\.arff, line 15: .*weight"):
        ingest(tmp_path / "t.arff", tmp_path / "d", weights="w")


@pytest.mark.parametrize("value", ["-1", "null", "NaN", "Infinity", '"abc"'])
def test_records_without_a_weight_are_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"a":1,"w":1,"y":0}\n' * 4 + f'{{"a":1,"w":{value},"y":1}}\n'
    )
    with pytest.raises(FormatError, match=r"line 5: .*'w'"):
        ingest(tmp_path / "t.jsonl", tmp_path / "d", weights="w")


@pytest.mark.parametrize(
    ("name", "text", "weights", "problem"),
    [
        ("t.svm", "1 1:2\n0 1:1\n", "w", "no column of weights"),
        (
            "t.vw",
            "1 1 | a\n0 -2 | b\n",
            "importance",
            "line 2: .*importance less than 0",
        ),
        ("t.vw", "1 1 | a\n0 1 | b\n", "w", "give --weights importance"),
        ("t.csv", "a,w,y\n1,1,0\n2,2,1\n", "z", "'z'"),
        ("t.csv", "a,w,y\n1,1,0\n2,2,1\n", "a,w", "2 columns are named"),
        ("t.csv", "a,w,y\n1,1,0\n2,2,1\n", "", "0 columns are named"),
        ("t.csv", "a,w,y\n1,1,0\n2,2,1\n", "y", "has the weights and is the label"),
        ("t.csv", "a,w,y\n1,1,0\n2,2,1\n", "a", "has the weights and is to be dropped"),
    ],
)
def test_a_column_that_cannot_be_weights_is_refused(
    tmp_path: Path, name: str, text: str, weights: str, problem: str
) -> None:
    (tmp_path / name).write_text(text)
    options: dict[str, Any] = {"label": "y", "drop": "a"} if name == "t.csv" else {}
    with pytest.raises(OlscaleError, match=problem):
        ingest(tmp_path / name, tmp_path / "d", weights=weights, **options)


@pytest.mark.parametrize(
    "weights",
    [np.ones(3), np.array(["a"] * ROWS), np.full(ROWS, np.nan), -np.ones(ROWS)],
)
def test_an_array_that_cannot_be_weights_is_refused(
    tmp_path: Path, weights: np.ndarray
) -> None:
    np.savez(tmp_path / "t.npz", X=X, y=Y, w=weights)
    with pytest.raises(FormatError, match="weight"):
        ingest(tmp_path / "t.npz", tmp_path / "d", weights="w")


def test_both_splits_of_an_archive_have_their_weights(tmp_path: Path) -> None:
    train = slice(0, 200)
    test = slice(200, None)
    arrays = {
        "X_train": X[train],
        "y_train": Y[train],
        "X_test": X[test],
        "y_test": Y[test],
    }
    np.savez(tmp_path / "t.npz", w_train=W[train], w_test=W[test], **arrays)
    for given_name in ("w", "w_train"):
        made = ingest(tmp_path / "t.npz", tmp_path / given_name, weights=given_name)
        np.testing.assert_array_equal(_rows(made, "test")[2], W[test])
    np.savez(tmp_path / "u.npz", w_train=W[train], **arrays)
    with pytest.raises(FormatError, match="expected w_test for --weights w"):
        ingest(tmp_path / "u.npz", tmp_path / "u", weights="w")


@pytest.mark.parametrize("kind", ["csv", "vw"])
def test_exported_rows_come_back_with_their_weights(tmp_path: Path, kind: str) -> None:
    made = _made(tmp_path, kind)
    export(made, tmp_path / "out.csv")
    export(made, tmp_path / "out.npz")
    table = ingest(tmp_path / "out.csv", tmp_path / "table", weights=made.weights)
    np.testing.assert_array_equal(_rows(table)[2], W)
    assert table.manifest.columns == made.columns
    assert (
        ingest(tmp_path / "out.npz", tmp_path / "arrays", weights="weights").fingerprint
        == made.fingerprint
    )
    with pytest.raises(
        DatasetError, match="has weights, which SVMlight text cannot hold"
    ):
        export(made, tmp_path / "out.svm")


def test_a_sample_has_the_weights_of_its_rows(tmp_path: Path) -> None:
    some = sample(_made(tmp_path, "csv"), tmp_path / "some", 100)
    np.testing.assert_array_equal(_rows(some)[2], W[drawn(ROWS, 100)])
    assert some.weights == "w"


def test_targets_and_weights_stand_together(tmp_path: Path) -> None:
    table = np.column_stack([X, W, X.sum(axis=1), X[:, 0] - X[:, 1]])
    np.savetxt(
        tmp_path / "t.csv", table, delimiter=",", header="a,b,w,p,q", comments=""
    )
    made = ingest(
        tmp_path / "t.csv", tmp_path / "d", weights="w", label="p,q", target="real"
    )
    dense, y, weights = _rows(made)
    np.testing.assert_array_equal(weights, W)
    np.testing.assert_allclose(y, table[:, 3:])
    np.testing.assert_allclose(dense, X)


def test_the_label_is_the_last_column_but_for_the_weights(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y,w\n1,0,2\n2,1,3\n")
    made = ingest(tmp_path / "t.csv", tmp_path / "d", weights="-1")
    assert (made.manifest.label_column, made.weights, made.manifest.feature_names) == (
        "y",
        "w",
        ("a",),
    )


def test_the_command_says_what_rows_weigh(tmp_path: Path) -> None:
    path = _source(tmp_path, "csv")
    result = CliRunner().invoke(
        olscale, ["ingest", str(path), str(tmp_path / "d"), "--weights", "w"]
    )
    line = f"column 'w', 0 to 1, {(W == 0).sum()} rows of weight 0"
    assert result.exit_code == 0
    assert f"weights: {line}" in result.output
    shown = (
        CliRunner().invoke(olscale, ["datasets", "show", str(tmp_path / "d")]).output
    )
    assert f"weights      {line}" in shown
    facts = json.loads(
        CliRunner()
        .invoke(olscale, ["datasets", "show", str(tmp_path / "d"), "--json"])
        .output
    )
    assert facts["weights"]["column"] == "w"
    assert facts["nonzeros"] == np.count_nonzero(X)
    assert open_dataset(tmp_path / "d").manifest.table.dropped == ()  # type: ignore[union-attr]
