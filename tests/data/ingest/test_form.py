"""The form of a table (names in its first row, what is between cells) as it is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.formats import ReadOptions
from olscale.data.formats.csv import read_table
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError, ParameterError


def made(tmp_path: Path, text: str, name: str = "t.csv", **options: object) -> Dataset:
    (tmp_path / name).write_text(text)
    return ingest(
        tmp_path / name, tmp_path / f"d{len(list(tmp_path.iterdir()))}", **options
    )


def test_a_note_in_python_is_one_line(tmp_path: Path) -> None:
    with pytest.warns(UserWarning) as said:  # noqa: PT030  # both are looked at
        made(tmp_path, '"un\nknown",5.5,1\n0.5,2.5,0\n0.7,1.5,1\n', delimiter=",")
    (note,) = (str(warning.message) for warning in said)
    assert (
        "the quote that opens a cell in line 1 closes in line 2; --quoting none" in note
    )
    assert "\n" not in note


def test_a_header_is_as_it_is_given(tmp_path: Path) -> None:
    named = made(tmp_path, "1,2\n3,4\n5,6\n", header=True)
    assert (named.rows("train"), named.manifest.feature_names) == (2, ("1",))
    bare = made(tmp_path, "x,2\n3,4\n5,6\n", header=False)
    assert (bare.rows("train"), bare.manifest.label_column) == (3, 1)


@pytest.mark.parametrize(
    ("word", "between"),
    [
        ("tab", "\t"),
        ("\\t", "\t"),
        ("\t", "\t"),
        ("space", "  "),
        (" ", "\t"),
        ("~", "~"),
        (":", ":"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_a_delimiter_is_as_it_is_given(
    tmp_path: Path, word: str, between: str, name: str
) -> None:
    text = "".join(
        between.join(row) + "\n" for row in (("a", "y"), ("1,5", "0"), ("1,7", "1"))
    )
    dataset = made(tmp_path, text, name, delimiter=word, decimal=",")
    assert dataset.chunk("train", 0).X.ravel().tolist() == [1.5, 1.7]


@pytest.mark.parametrize("delimiter", list("!#$%&'()*/:<=>?@[]^`{}~\\\x01\x1f"))
def test_any_delimiter_gives_the_rows_of_a_comma(
    tmp_path: Path, delimiter: str
) -> None:
    rows = [
        ("a", "b", "y"),
        *((f"-{i}.5e{i % 3}", f"t {i % 4}", str(i % 2)) for i in range(3000)),
    ]
    found = []
    for between in (",", delimiter):
        (tmp_path / "t").write_text("".join(between.join(row) + "\n" for row in rows))
        batches = list(read_table(str(tmp_path / "t"), ReadOptions(delimiter=between)))
        found.append([to_dense(batch.X, batch.columns).tolist() for batch in batches])
    assert found[0] == found[1]


@pytest.mark.parametrize("word", ["", "ab", "0", "e", ".", "-", '"', "\n", "\0", "§"])
def test_what_is_no_delimiter(tmp_path: Path, word: str) -> None:
    with pytest.raises(
        ParameterError, match=r"delimiter is .*, expected one character"
    ):
        made(tmp_path, "1;2\n", delimiter=word)
    with pytest.raises(ParameterError, match="delimiter is"):
        ReadOptions(delimiter=word)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"header": True},
            "is svmlight and has no row of names to choose; leave --header out",
        ),
        (
            {"header": False},
            "is svmlight and has no row of names to choose; leave --no-header out",
        ),
        (
            {"delimiter": ";"},
            "is svmlight and has no delimiter to choose; leave --delimiter out, or read it with "
            "--format csv",
        ),
        (
            {"decimal": ","},
            "is svmlight and has no decimal mark to choose; leave --decimal out",
        ),
        (
            {"decimal": "."},
            "is svmlight and has no decimal mark to choose; leave --decimal out",
        ),
    ],
)
def test_formats_without_a_form_refuse_it(
    tmp_path: Path, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(FormatError, match=problem):
        made(tmp_path, "1 1:1\n", "t.svm", **options)


def test_labels_beside_are_put_before_the_delimiter_that_is_given(
    tmp_path: Path,
) -> None:
    (tmp_path / "t.labels").write_text("1\n0\n")
    X = (
        made(tmp_path, "3~4\n5~6\n", "t.data", delimiter="~", format="csv")
        .chunk("train", 0)
        .X
    )
    assert X.tolist() == [[3, 4], [5, 6]]


def test_an_interrupted_ingest_is_gone_on_with_in_the_same_form_only(
    tmp_path: Path,
) -> None:
    def recipe(**options: object) -> dict[str, object]:
        (tmp_path / "t.csv").write_text("1;2\n3;4\n")

        def stop(name: str, rows: int, size: int) -> None:
            raise SystemExit  # which nothing clears up after

        with pytest.raises(SystemExit):
            ingest(tmp_path / "t.csv", tmp_path / "d", progress=stop, **options)
        return json.loads((tmp_path / "d" / "ingest.json").read_text())["options"]

    plain = recipe()
    assert not {"header", "delimiter"} & plain.keys()  # as earlier versions wrote it
    assert recipe(header=False) == {**plain, "header": False}
    assert recipe(delimiter=";") == {**plain, "delimiter": ";"}
