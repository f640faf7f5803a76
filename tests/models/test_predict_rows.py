"""What ``olscale predict`` writes and says of rows with and without labels."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from olscale.data.transforms.pipeline import Pipeline
from olscale.learners.registry import make_learner
from olscale.models.about import About, ColumnsEntry, LearnerEntry
from olscale.models.final_model import FinalModel
from tests.cli.command import run


def saved(path: Path, classes: tuple[str | int, ...], columns: ColumnsEntry) -> Path:
    """Save a model that predicts the second class where the first feature is positive."""
    about = About(
        learner=LearnerEntry(name="pa1", version=1, params={"C": 1.0}),
        columns=columns,
        classes=classes,
    )
    learner = make_learner("pa1", {"C": 1.0})
    learner.begin(columns.count, 2)
    rows = np.eye(1, columns.count)
    model = FinalModel(about, learner, Pipeline((), columns.count, columns.count))
    model.partial_fit(
        np.vstack([rows, -rows]), [classes[1], classes[0]], encoded=True
    ).save(path)
    return path


@pytest.fixture
def words(tmp_path: Path) -> Path:
    columns = ColumnsEntry(
        count=1, kind="dense", names=("a",), label="label", dropped=("id",)
    )
    return saved(tmp_path / "words.olm", ("ham", "spam"), columns)


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    return saved(
        tmp_path / "numbers.olm",
        (0, 1),
        ColumnsEntry(count=2, kind="dense", index_base=1, label="y"),
    )


def test_rows_that_lack_a_label_are_counted(words: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(
        "id,a,label\n1,1,spam\n2,-1,spam\n3,1,?\n4,-1,\n5,1,eggs\n"
    )
    done = run("predict", words, tmp_path / "new.csv", "--labels", "--keep", "id")
    assert (
        done.stdout
        == "id,prediction,label\n1,spam,spam\n2,ham,spam\n3,spam,\n4,ham,\n5,spam,eggs\n"
    )
    assert done.stderr == "5 rows, error 50.00 % (2 labelled rows), 2 without a label\n"
    assert run("predict", words, tmp_path / "new.csv").stderr == "5 rows\n"
    (tmp_path / "new.csv").write_text("a\n1\n")
    assert (
        "the source has no labels; leave out --labels"
        in run("predict", words, tmp_path / "new.csv", "--labels").stderr
    )


def test_rows_come_from_standard_input(words: Path, tmp_path: Path) -> None:
    table = b"a,label\n1,spam\n-1,spam\n"
    done = run("predict", words, "-", "--labels", stdin=table)
    assert done.stdout == "prediction,label\nspam,spam\nham,spam\n"
    assert done.stderr == "2 rows, error 50.00 % (2 labelled rows)\n"
    assert run("predict", words, "-", stdin=gzip.compress(table)).stdout == (
        "prediction\nspam\nham\n"
    )
    nothing = run("predict", words, "-", stdin=b"")
    assert nothing.returncode == 1
    assert "standard-input: no rows: the file is empty" in nothing.stderr


def test_words_are_no_labels_of_a_model_of_numbers(
    numbers: Path, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("b,c,y\n1,0,1\n-1,0,1.0\n1,0,spam\n-1,0,7\n")
    done = run("predict", numbers, tmp_path / "new.csv", "--labels")
    assert done.stdout == "prediction,label\n1,1\n0,1\n1,\n0,7\n"
    assert done.stderr == "4 rows, error 50.00 % (2 labelled rows), 1 without a label\n"
    (tmp_path / "new.svm").write_text("1 1:1\n1:1 7:1\n? 1:-1 8:2\n")
    done = run("predict", numbers, tmp_path / "new.svm", "--labels")
    assert done.stdout == "prediction,label\n1,1\n1,\n0,\n"
    assert done.stderr.splitlines() == [
        "3 rows, error 0.00 % (1 labelled rows), 2 without a label",
        "note: 2 values are at indices that the model has never seen; they are ignored",
    ]
    refused = run(
        "predict",
        numbers,
        tmp_path / "new.svm",
        "--unknown",
        "refuse",
        "--out",
        tmp_path / "out.csv",
    )
    assert refused.returncode == 1
    assert "row 1 of " in refused.stderr
    assert "index 7" in refused.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("kind", ["words", "numbers"])
def test_parquet_of_first_rows_without_labels(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A batch of 8,192 rows without a label does not tell the type of those to come."""
    known = {"words": "ham", "numbers": "1"}[kind]
    header, row = {"words": ("id,a,label", ",1,"), "numbers": ("b,c,y", "0,1,")}[kind]
    (tmp_path / "new.csv").write_text(header + f"\n{row}" * 9_000 + f"\n{row}{known}\n")
    keep = ["--keep", "id"] if kind == "words" else []
    model = request.getfixturevalue(kind)
    done = run(
        "predict",
        model,
        tmp_path / "new.csv",
        "--labels",
        "--out",
        tmp_path / "out.parquet",
        *keep,
    )
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table["label"].to_pylist()[-1] == (known if kind == "words" else int(known))
    assert table["label"].null_count == 9_000
    assert table["label"].type == table["prediction"].type


def test_a_late_fraction_is_not_cut_in_parquet(numbers: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("b,c,y\n" + "0,1,1\n" * 9_000 + "0,1.5,0.5\n")
    done = run(
        "predict",
        numbers,
        tmp_path / "new.csv",
        "--labels",
        "--out",
        tmp_path / "out.parquet",
    )
    assert done.returncode == 1
    assert done.stderr.startswith(
        "olscale: error: 'label' has a fraction after rows with whole numbers alone"
    )
    assert not (tmp_path / "out.parquet").exists()
    done = run(
        "predict",
        numbers,
        tmp_path / "new.csv",
        "--keep",
        "c",
        "--out",
        tmp_path / "out.parquet",
    )
    assert parquet.read_table(tmp_path / "out.parquet")["c"].to_pylist()[-2:] == [
        "1",
        "1.5",
    ]


def test_numbers_are_compared_where_they_are_known(tmp_path: Path) -> None:
    about = About(
        learner=LearnerEntry(
            name="pa1-r", version=1, params={"C": 1.0, "epsilon": 0.1}
        ),
        columns=ColumnsEntry(count=1, kind="dense", names=("a",), label="price"),
    )
    learner = make_learner("pa1-r", {"C": 1.0, "epsilon": 0.1})
    learner.begin(1, 0)
    FinalModel(about, learner, Pipeline((), 1, 1)).save(tmp_path / "m.olm")
    (tmp_path / "new.csv").write_text("a;price\n1;3,0\n2;?\n3;soon\n4;-4\n5;\n")
    done = run(
        "predict",
        tmp_path / "m.olm",
        tmp_path / "new.csv",
        "--labels",
        "--decimal",
        ",",
    )
    assert done.stdout == "prediction,label\n0.0,3.0\n0.0,\n0.0,\n0.0,-4.0\n0.0,\n"
    assert done.stderr == "5 rows, RMSE 3.536, 3 without a label\n"
    (tmp_path / "new.csv").write_text("a;price\n1;?\n")
    done = run("predict", tmp_path / "m.olm", tmp_path / "new.csv", "--labels")
    assert done.stderr == "1 row, 1 without a label\n"


def test_a_kept_column_that_is_called_as_the_answer_keeps_both(
    words: Path, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("a,label,prediction\n1,ham,old\n")
    done = run(
        "predict",
        words,
        tmp_path / "new.csv",
        "--keep",
        "prediction,label",
        "--drop",
        "prediction",
    )
    assert done.stdout == "prediction.1,label,prediction\nold,ham,spam\n"


def test_no_cell_of_text_is_a_formula_and_numbers_stay_numbers(tmp_path: Path) -> None:
    columns = ColumnsEntry(
        count=1, kind="dense", names=("a",), label="label", dropped=("=id",)
    )
    model = saved(tmp_path / "odd.olm", ("-1", "=1+1"), columns)
    (tmp_path / "new.csv").write_text("=id,a,label\n@x,-1,-1\n-7e2,1,=1+1\n+x,1,=1+1\n")
    done = run("predict", model, tmp_path / "new.csv", "--labels", "--keep", "=id")
    assert (
        done.stdout
        == "'=id,prediction,label\n'@x,-1,-1\n-7e2,'=1+1,'=1+1\n'+x,'=1+1,'=1+1\n"
    )
    assert done.stderr == "3 rows, error 0.00 % (3 labelled rows)\n"
    run(
        "predict",
        model,
        tmp_path / "new.csv",
        "--labels",
        "--out",
        tmp_path / "out.parquet",
    )
    assert parquet.read_table(tmp_path / "out.parquet")["prediction"].to_pylist() == [
        "-1",
        "=1+1",
        "=1+1",
    ]
