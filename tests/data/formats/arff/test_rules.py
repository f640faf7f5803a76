"""What ARFF means, rule by rule, and what is said where a file breaks one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.csr import to_dense
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from olscale.errors import FormatError

HEAD = """% a comment
@RELATION 'two words'

@attribute size real
@attribute 'the color' {red, 'dark blue', "green"}
@attribute day {1,2,3}
@attribute class {no,yes}
@data
"""


def read(tmp_path: Path, text: str, **options: object) -> list[Batch]:
    path = tmp_path / "rows"
    path.write_bytes(text.encode())
    return list(find_format(str(path)).read(str(path), ReadOptions(**options)))


def words(tmp_path: Path, cells: str) -> list[str | None]:
    """Return what each line of `cells` is as a string."""
    text = f"@relation r\n@attribute n numeric\n@attribute s string\n@data\n{cells}"
    (batch,) = read(tmp_path, text, label="n")
    names = [name.removeprefix("s=") for name in batch.feature_names or ()]
    return [
        names[row.argmax()] if row.any() else None
        for row in to_dense(batch.X, batch.columns)
    ]


def classes(tmp_path: Path, declared: str, rows: str) -> object:
    (batch,) = read(
        tmp_path,
        f"@relation r\n@attribute n numeric\n@attribute c {declared}\n@data\n{rows}",
    )
    return batch.target if isinstance(batch.target, list) else batch.target.tolist()


def test_declared_values_are_columns_before_any_row_is_seen(tmp_path: Path) -> None:
    text = HEAD + "1.5,'dark blue',2,yes\n% between\n?, red ,3,no\n0,?,1,no\n"
    batches = read(tmp_path, text, chunk_rows=1)
    assert [batch.columns for batch in batches] == [7, 7, 7]
    colors = ("the color=red", "the color=dark blue", "the color=green")
    assert batches[0].feature_names == ("size", *colors, "day=1", "day=2", "day=3")
    dense = np.vstack([to_dense(batch.X, 7) for batch in batches])
    expected = [
        [1.5, 0, 1, 0, 0, 1, 0],
        [np.nan, 1, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1, 0, 0],
    ]
    np.testing.assert_array_equal(dense, expected)
    assert [label for batch in batches for label in batch.target] == ["yes", "no", "no"]


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        (r"'the\nend\tof\rit\b\f'", "the\nend\tof\rit\b\f"),
        (r'"\a\v"', "\a\v"),
        (r"'\0\12\1234\377\400'", "\0\nS4\xff 0"),
        (r"'\u00e9\u4E2D\u12'", "é中u12"),
        (r"'\ud83d\ude00 \ud83d'", "😀 \ufffd"),
        (r"'it\'s' ", "it's"),
        (r"'it''s' ", "it's"),
        (r'"say \"no\" \\ \% \x"', 'say "no" \\ % x'),
        ("'\"a\"'", '"a"'),
        ("' a '", " a "),
        ("'a%b{c},d' % note", "a%b{c},d"),
        (r"a\nb", r"a\nb"),
        ("don't", "don't"),
        ("a%note", "a"),
        ("NA", "NA"),
        ("none", "none"),
        ("'?'", "?"),
        ("''", ""),
        ("?", None),
        ("? % note", None),
    ],
)
def test_a_cell_is(tmp_path: Path, cell: str, word: str | None) -> None:
    assert words(tmp_path, f"1,{cell}\n") == [word]
    if "note" not in cell:
        assert words(tmp_path, f"{{0 1, 1 {cell}}}\n") == [word]


@pytest.mark.parametrize(
    "row",
    [
        "1,x",
        "1 x",
        "1\tx",
        " 1 ,\tx ",
        "1,x,",
        "1 , x , % note",
        "1,x%note",
        "1,'x',\r",
        "1,x,{0.5}",
        "1,x {2}",
    ],
)
def test_a_row_of_two_cells_is(tmp_path: Path, row: str) -> None:
    assert classes(tmp_path, "{x,y}", f"{row}\n") == ["x"]


def test_nothing_between_commas_is_missing(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute c {x,y}\n@data\n"
    (batch,) = read(tmp_path, head + "1,,x\n,2,y,\n , ?,x\n")
    np.testing.assert_array_equal(batch.X, [[1, np.nan], [np.nan, 2], [np.nan, np.nan]])
    assert batch.table is not None
    assert np.asarray(batch.table.missing).sum(axis=0).tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    ("declared", "row", "label"),
    [
        ("{-1,1} %{<=50K, >50K}", "1,-1", -1),
        ("{ low, high} % low < 100", "1,high", "high"),
        ("%note\n{x,\n% between\n y}", "1,y", "y"),
        ("{x y}", "1,y", "y"),
        ("{'?',Y}", "1,'?'", "?"),
        (r"{'a\'b', 'a,b', '\u0041'}", "1,A", "A"),
        ("{' a',a}", "1,' a'", " a"),
        ("{x,y} {2}", "1,x", "x"),
        ("{x,,y,}", "1,y", "y"),
        ("{0.5,1e3}", "1,1000", 1000),
        ("integer [0,10]", "1,1.5", 1.5),
        ("REAL % note", "1,-Infinity", None),
    ],
)
def test_a_label_is(
    tmp_path: Path, declared: str, row: str, label: float | str | None
) -> None:
    found = classes(tmp_path, declared, f"{row}\n")
    assert found == [-np.inf if label is None else label]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_declarations_of_any_form(tmp_path: Path, end: str) -> None:
    text = (
        "\ufeff% note\n@Attribute'a b'numeric\n@ATTRIBUTE label{u,v}\n@attribute "
        '"it\'s"\nreal\n@DATA % rows\n\n1,u,2\n'
    )
    (batch,) = read(tmp_path, text.replace("\n", end), label="label")
    assert batch.feature_names == ("a b", "it's")
    assert (batch.X.tolist(), batch.target) == ([[1, 2]], ["u"])


@pytest.mark.parametrize(
    ("declared", "regression"),
    [
        ("numeric", True),
        ("integer", True),
        ("{0,1}", False),
        ("{u,v}", False),
        ("string", None),
        ('date "yyyy"', None),
    ],
)
def test_the_type_of_the_label_says_what_is_to_be_learned(
    tmp_path: Path, declared: str, regression: bool | None
) -> None:
    row = "u" if declared == "{u,v}" else "1"
    (batch,) = read(
        tmp_path,
        f"@relation r\n@attribute n real\n@attribute y {declared}\n@data\n1,{row}\n",
    )
    assert batch.regression is regression


def test_labels_that_meka_names_are_noted_unless_one_is_chosen(tmp_path: Path) -> None:
    text = (
        "@relation 'Music: -C -2'\n@attribute a real\n@attribute l1 {0,1}\n"
        "@attribute l2 {0,1}\n@data\n0.5,0,1\n0.25,1,0\n"
    )
    (note,) = read(tmp_path, text)[-1].notes
    assert "takes the last 2 attributes for labels of a row" in note
    assert "else 'l2'" in note
    assert not read(tmp_path, text, label="l1")[-1].notes


def test_ranges_of_keel_are_read_and_its_lists_of_inputs_refused(
    tmp_path: Path,
) -> None:
    text = "@attribute a real[0.5,1]\n@attribute k{x,y}\n@data\n0.5,x\n1,y\n"
    assert read(tmp_path, text)[0].target == ["x", "y"]
    with pytest.raises(
        FormatError, match=r"line 3: got '@inputs a', which KEEL writes"
    ):
        read(tmp_path, text.replace("@data", "@inputs a\n@data"))


def test_weights_are_counted_where_nobody_asks_for_them(tmp_path: Path) -> None:
    text = HEAD + "1,red,1,no,{5}\n2,red,1,no\n{0 1},{0.5}\n"
    batches = read(tmp_path, text, chunk_rows=2)
    assert batches[0].notes == ()
    assert batches[1].notes == (
        f"{tmp_path / 'rows'}: 2 rows have a weight in braces, which is not used without "
        "--weights instance",
    )


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_weights_in_braces_are_those_of_the_rows(
    tmp_path: Path, is_sparse: bool, chunk_rows: int
) -> None:
    """Rows that the compiled loop could read, and more than are read at once, among them."""
    rows = ["1,red,1,no,{5}", "2,red,1,no", "{0 1,3 yes},{0.5}", "3,green,2,yes, {0}"]
    if is_sparse:
        rows = ["{0 1} , {5}", "{0 2}", "{0 1,3 yes},{0.5}", "3,green,2,yes,{0}"]
    text = HEAD + "\n".join(rows * 300) + "\n"
    batches = read(tmp_path, text, chunk_rows=chunk_rows, weights="instance")
    weights = np.concatenate([batch.weights for batch in batches])
    assert weights.tolist() == [5.0, 1.0, 0.5, 0.0] * 300
    assert [label for batch in batches for label in batch.target] == [
        "no",
        "no",
        "yes",
        "yes",
    ] * 300
    assert not any(batch.notes for batch in batches)
    plain = read(tmp_path, text, chunk_rows=chunk_rows)
    for one, other in zip(batches, plain, strict=True):
        assert other.weights is None
        np.testing.assert_array_equal(
            to_dense(one.X, one.columns), to_dense(other.X, other.columns)
        )


def test_a_weight_in_braces_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    for weight in ("-1", "nan", "inf"):
        text = HEAD + f"1,red,1,no\n1,red,1,no,{{{weight}}}\n"
        with pytest.raises(FormatError, match=r"line 10: the weight is .*'instance'"):
            read(tmp_path, text, weights="instance")
    named = HEAD.replace("size", "instance") + "3,red,1,no,{5}\n"
    assert read(tmp_path, named, weights="instance")[0].weights == [3.0]


@pytest.mark.parametrize(
    ("row", "line", "problem"),
    [
        ("1,red,2\n", 9, "has 3 cells, expected 4 as declared"),
        ("1,red,2\nyes\n", 9, "has 3 cells, expected 4 as declared"),
        (
            "1,dark blue,2,yes\n",
            9,
            "has 5 cells, expected 4 as declared; a cell with a space needs quotes",
        ),
        (
            "1,pink,2,yes\n",
            9,
            "'the color' is 'pink', which is not among its declared values",
        ),
        ("1,red,2,maybe\n", 9, "'class' is 'maybe'"),
        (
            "1,red,3,yes\n1,red,3.0,yes\n",
            10,
            "'day' is '3.0', which is not among its declared values",
        ),
        ("{2 4, 3 yes}\n", 9, "'day' is '4', which is not among its declared values"),
        (
            "1,red,2,yes\nx,red,2,yes\n",
            10,
            "column 'size' is 'x', expected a number as declared",
        ),
        ("'?',red,2,yes\n", 9, r"column 'size' is '\?', expected a number"),
        ("NA,red,2,yes\n", 9, "column 'size' is 'NA', expected a number"),
        ("1_0,red,2,yes\n", 9, "column 'size' is '1_0', expected a number"),
        ("1,red,2,?\n", 9, "label is missing"),
        ("1,'red,2,yes\n", 9, 'the quote in "\'red,2,yes" is not closed in its line'),
        ("1,red,2,yes}\n", 9, "got '}' behind the cells"),
        ("1,red,2,yes,{x}\n", 9, "got '{' behind the cells"),
        (
            "{9 1}\n",
            9,
            "got '9 1' in a sparse row, expected POSITION VALUE, positions from 0 to 3",
        ),
        ("{0}\n", 9, "got '0' in a sparse row"),
        ("{0 1 2}\n", 9, "got '2' in a sparse row"),
        ("{-1 1}\n", 9, "got '-1 1' in a sparse row"),
        ("{0 1, 0 2}\n", 9, "has position 0 twice"),
        ("{0 1\n", 9, "has no end"),
        ("{3 ?}\n", 9, "label is missing"),
        ("", None, "no rows"),
    ],
)
def test_faults_in_rows_are_named(
    tmp_path: Path, row: str, line: int | None, problem: str
) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path, HEAD + row)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("head", "line", "problem"),
    [
        ("@relation r\n@attribute a\n", 2, "'a' has no type"),
        ("@relation r\n@attribute a\n@attribute b real\n", 2, "'a' has no type"),
        ("@relation r\n@attribute\n", 2, "expected NAME TYPE"),
        ("@relation r\n@attribute a matrix\n", 2, "'a' has type 'matrix'"),
        ("@relation r\n@attribute a relational\n", 2, "'a' is relational"),
        ("@relation r\n1,2\n", 2, "expected @attribute or @data"),
        ("@relation r\n@data\n", 2, "0 attributes declared"),
        ("@relation r\n@attribute a real\n", 2, "there is no @data"),
        ("@relation r\n@attribute a {u,v\n@data\n", 2, "'a' have no end"),
        ("@relation r\n@attribute a {u,{v}}\n", 2, "hold a brace"),
        ("@relation r\n@attribute a {u},v}\n", 2, "got ',' behind the values of 'a'"),
        ("@relation r\n@attribute a {}\n", 2, "declares no values"),
        ("@relation r\n@attribute a real\n@data 1\n", 3, "got '1' behind @data"),
        ("@relation r\n@attribute a {u,'v}\n", 2, "not closed in its line"),
        (
            "@relation r\n@attribute a {u,u}\n@attribute y {0,1}\n@data\nu,1\n",
            2,
            "declares 'u' and 'u'",
        ),
        (
            "@relation r\n@attribute a {u,v}\n@attribute y {0,0.0}\n@data\nu,0\n",
            3,
            "'0' and '0.0', which are the same number",
        ),
    ],
)
def test_faults_in_declarations_are_named(
    tmp_path: Path, head: str, line: int, problem: str
) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path, head)
    assert caught.value.line == line


@pytest.mark.parametrize("rows", [40, 500_000])
@pytest.mark.parametrize(
    ("row", "column"), [("7,0,u", "k"), ("1,5,u", "class"), ("1,-0.5,u", "class")]
)
def test_numbers_that_are_not_declared_are_named(
    tmp_path: Path, rows: int, row: str, column: str
) -> None:
    """500,000 rows are more than the first block, so that the compiled loop reads them."""
    head = "@relation r\n@attribute k {3,1,2}\n@attribute class {0,1}\n@attribute text {u,v}\n@data\n"
    good = "".join(f"{i % 3 + 1},{i % 2},u\n" for i in range(rows))
    text = head + good + "?,1.0,v\n"
    options = {"label": "class", "encode": ("k=number",)}
    assert sum(len(batch) for batch in read(tmp_path, text, **options)) == rows + 1
    problem = (
        f"attribute '{column}' is '{row.split(',')[column == 'class']}', which is not among "
        "its declared values"
    )
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path, f"{text}{row}\n{good}", **options)
    assert caught.value.line == 5 + rows + 2


def test_declared_numbers_with_gaps_and_fractions(tmp_path: Path) -> None:
    head = "@relation r\n@attribute k {5,0.5,-1,1e3}\n@attribute j {0,2}\n@attribute y {u,v}\n@data\n"
    good = "5,2,u\n.5,0,v\n-1.0,2,u\n1000,?,u\n?,0,v\n" * 100_000
    encode = ("k=number", "j=number")
    assert sum(map(len, read(tmp_path, head + good, encode=encode))) == 500_000
    for row, cell in (
        ("1,0,u", "1"),
        ("1001,0,u", "1001"),
        ("-2,0,u", "-2"),
        ("5,1,u", "1"),
    ):
        with pytest.raises(
            FormatError,
            match=f"line 500006: attribute '[kj]' is '{cell}', which is not among",
        ):
            read(tmp_path, f"{head}{good}{row}\n", encode=encode)


def test_a_dropped_attribute_may_declare_and_hold_anything(tmp_path: Path) -> None:
    text = "@relation r\n@attribute a {01,1,1}\n@attribute b real\n@attribute y {0,1}\n@data\n7,2,0\n"
    (batch,) = read(tmp_path, text, drop=("a",))
    assert batch.X.tolist() == [[2]]
