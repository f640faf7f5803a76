"""Several targets of a row come from a source, are kept, and come back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.cli import olscale
from olscale.compiled.csr import CSR, to_csr, to_dense
from olscale.data.catalogue.sample import sample
from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.shuffle.subset import Subset, ordered_rows
from olscale.data.stored_rows import join_targets, part_targets
from olscale.data.stream import Shuffle, open_streams
from olscale.errors import DatasetError, FormatError

ROWS = 200
RNG = np.random.default_rng(0)
X = np.where(RNG.random((ROWS, 3)) < 0.3, 0.0, RNG.normal(size=(ROWS, 3)))
Y = np.where(RNG.random((ROWS, 2)) < 0.2, 0.0, RNG.normal(size=(ROWS, 2)))


def _table(path: Path, text: bool = False) -> Path:
    lines = ["b,f,g,h,a" + (",word" if text else "")]
    for i, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
        lines.append(
            ",".join(map(repr, [y[1], *x, y[0]])) + (f",{'xyz'[i % 3]}" if text else "")
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def _arff(path: Path) -> Path:
    head = [
        "@relation r",
        *(f"@attribute {name} numeric" for name in ("f", "g", "h", "a", "b")),
        "@data",
    ]
    rows = [",".join(map(repr, row)) for row in np.hstack([X, Y]).tolist()]
    path.write_text("\n".join([*head, *rows]) + "\n")
    return path


def _all(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(dataset.chunks())
    dense = np.concatenate([to_dense(chunk.X, dataset.columns) for chunk in chunks])
    return dense, np.concatenate([chunk.y for chunk in chunks])


@pytest.mark.parametrize("sparse", [False, True])
def test_targets_are_joined_to_rows_and_parted_again(sparse: bool) -> None:
    rows = to_csr(X) if sparse else X
    targets, back = part_targets(join_targets(Y, rows), 2)
    np.testing.assert_array_equal(targets, Y)
    assert isinstance(back, CSR) == sparse
    np.testing.assert_array_equal(to_dense(back, 3), X)


@pytest.mark.parametrize("source", ["table", "text", "arff", "npz"])
def test_several_targets_are_kept(tmp_path: Path, source: str) -> None:
    if source == "npz":
        np.savez(tmp_path / "t.npz", X=X, y=Y)
        made = ingest(tmp_path / "t.npz", tmp_path / "d", target="real", chunk_rows=64)
    else:
        path = tmp_path / ("t.arff" if source == "arff" else "t.csv")
        path = _arff(path) if source == "arff" else _table(path, source == "text")
        made = ingest(path, tmp_path / "d", target="real", label="a,b", chunk_rows=64)
    found, y = _all(made)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(found[:, :3], X)
    assert made.targets == (("y0", "y1") if source == "npz" else ("a", "b"))
    assert (made.kind, made.columns) == (
        ("sparse", 6) if source == "text" else ("dense", 3)
    )
    features = made.manifest.nonzeros - (made.manifest.target_nonzeros or 0)
    assert features == np.count_nonzero(X) + (ROWS if source == "text" else 0)
    made.verify()


@pytest.mark.parametrize("text", [False, True])
def test_every_order_of_rows_brings_the_targets_along(
    tmp_path: Path, text: bool
) -> None:
    path = tmp_path / "d"
    order = Shuffle(0, 0).order(ROWS)
    made = ingest(
        _table(tmp_path / "t.csv", text),
        path,
        target="real",
        label="a,b",
        chunk_rows=50,
    )
    stream = open_streams(str(path), shuffle=Shuffle(0, 0)).train
    np.testing.assert_array_equal(
        np.concatenate([chunk.y for chunk in stream.chunks()]), Y[order]
    )
    few = ordered_rows(made, "train", order, 30_000)
    np.testing.assert_array_equal(
        np.concatenate([few.chunk(i).y for i in range(4)]), Y[order]
    )
    some = Subset(made, "train", np.arange(0, ROWS, 2))
    np.testing.assert_array_equal(
        np.concatenate([some.chunk(0).y, some.chunk(1).y]), Y[::2]
    )
    drawn = sample(made, tmp_path / "some", 20)
    assert (drawn.targets, drawn.columns, _all(drawn)[1].shape) == (
        ("a", "b"),
        made.columns,
        (20, 2),
    )


def test_what_is_no_number_or_was_not_asked_for_is_refused(tmp_path: Path) -> None:
    table = _table(tmp_path / "t.csv", text=True)
    with pytest.raises(FormatError, match="a row has 2 targets; add --target real"):
        ingest(table, tmp_path / "d", label="a,b")
    with pytest.raises(FormatError, match="label 'word' holds text"):
        ingest(table, tmp_path / "d", label="a,word", target="real")
    table.write_text(table.read_text().replace("b,f,g,h,a,word\n", ""))
    with pytest.raises(FormatError, match="must have names"):
        ingest(table, tmp_path / "d", label="0,4", target="real")
    first, second, *rest = _table(tmp_path / "hole.csv").read_text().splitlines()
    (tmp_path / "hole.csv").write_text(
        "\n".join([first, second, second[second.index(",") :], *rest]) + "\n"
    )
    with pytest.raises(FormatError, match=r"the label is missing \(column 'b'\)"):
        ingest(tmp_path / "hole.csv", tmp_path / "d", label="a,b", target="real")
    one = _table(tmp_path / "one.csv")
    with pytest.raises(DatasetError, match="has the targets 'y0', 'y1' but"):
        ingest(one, tmp_path / "d", test=_other(tmp_path), label="a,b", target="real")


def _other(folder: Path) -> Path:
    np.savez(folder / "other.npz", X=X, y=Y)
    return folder / "other.npz"


def test_the_command_says_so_and_exports_what_it_read(tmp_path: Path) -> None:
    call = [
        "ingest",
        str(_table(tmp_path / "t.csv")),
        str(tmp_path / "d"),
        "--label",
        "a,b",
        "--target",
        "real",
    ]
    said = CliRunner().invoke(olscale, call, catch_exceptions=False).output
    assert "labels 'a', 'b' (regression of 2 targets)" in said
    shown = (
        CliRunner()
        .invoke(
            olscale, ["datasets", "show", str(tmp_path / "d")], catch_exceptions=False
        )
        .output
    )
    assert f"{np.count_nonzero(X):,} nonzeros" in shown
    assert "a regression of 2 targets: a, b" in shown
    call = ["datasets", "export", str(tmp_path / "d"), str(tmp_path / "back.csv")]
    CliRunner().invoke(olscale, call, catch_exceptions=False)
    back = ingest(tmp_path / "back.csv", tmp_path / "back", label="a,b", target="real")
    assert back.fingerprint == open_dataset(tmp_path / "d").fingerprint
    call[-1] = str(tmp_path / "back.svm")
    assert (
        "several targets, SVMlight text holds one"
        in CliRunner().invoke(olscale, call).output
    )
