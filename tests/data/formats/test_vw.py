"""Vowpal Wabbit text against a reader of a few lines, and against Vowpal Wabbit itself where that is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from olscale import open_dataset
from olscale.compiled.csr import CSR
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from olscale.data.formats.vw import VwFormat
from olscale.data.ingest.ingest import ingest
from olscale.errors import FormatError

Row = tuple[float, dict[str, float]]
SMALL = "1 |f a:2 b:3\n-1 |f a:1\n1 |f a:2\n-1 |f b:1\n"


def read(path: Path, **options: object) -> list[Batch]:
    return list(VwFormat().read(str(path), ReadOptions(**options)))  # type: ignore[arg-type]


def rows_of(batches: list[Batch]) -> list[Row]:
    """Return label and named features of each row."""
    rows = []
    for batch in batches:
        assert isinstance(batch.X, CSR)
        assert batch.feature_names is not None
        for row, label in enumerate(np.asarray(batch.target).tolist()):
            span = slice(*batch.X.indptr[row : row + 2].tolist())
            names = [batch.feature_names[index] for index in batch.X.indices[span]]
            assert batch.X.indices[span].tolist() == sorted(
                set(batch.X.indices[span].tolist())
            )
            rows.append(
                (label, dict(zip(names, batch.X.data[span].tolist(), strict=True)))
            )
    return rows


def slow_features(line: str) -> Iterator[tuple[str, str, str | None, float]]:
    """Yield namespace, name, word and value of each feature, by the rules of Vowpal Wabbit's wiki."""
    for part in line.split("|")[1:]:
        head = "" if part[:1] in (" ", "\t", "") else part.split()[0]
        space, _, weight = head.partition(":")
        unnamed = 0
        for feature in part.removeprefix(head).split():
            name, colon, text = feature.partition(":")
            word = None
            value = 1.0
            if colon and not text[0].isdigit() and text[0] not in "+-.":
                word = text
            elif colon:
                value = float(text)
                if not name:
                    name = str(unnamed)
                    unnamed += 1
            value *= float(weight or 1)
            if value:
                yield space, name, word, value


def slow_rows(text: str) -> list[Row]:
    rows = []
    for line in text.split("\n"):
        if "|" in line:
            row: dict[str, float] = {}
            for space, name, word, value in slow_features(line):
                called = (
                    (f"{space}^" if space else "") + name + (f"^{word}" if word else "")
                )
                row[called] = row.get(called, 0.0) + value
            rows.append((float(line.split()[0]), row))
    return rows


def slow_hash(name: str, seed: int) -> int:
    if (name.isdigit() and name.isascii()) or not name:
        return (int(name or 0) + seed) % 2**64
    return int(murmurhash3_32(name.encode(), seed=seed % 2**32, positive=True))


def slow_hashed(line: str, bits: int) -> dict[int, float]:
    row: dict[int, float] = {}
    for space, name, word, value in slow_features(line):
        hashed = slow_hash(name, slow_hash(space, 0))
        index = (hashed if word is None else slow_hash(word, hashed)) % 2**bits
        row[index] = row.get(index, 0.0) + value
    return row


NAMES = st.one_of(
    st.sampled_from(
        [
            "a",
            "b",
            "007",
            "7",
            "12",
            "x^y",
            "größe",
            "a-b",
            "99999999999",
            "#",
            "'q",
            "long_name_of_a_feature",
        ]
    ),
    st.text(
        st.characters(
            blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp"),
            blacklist_characters=":|",
        ),
        min_size=1,
        max_size=12,
    ),
)
NUMBERS = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(-1e6, 1e6, allow_nan=False).map(repr),
    st.sampled_from(
        [
            "+.5",
            "5.",
            "1e3",
            "-1E-2",
            "0",
            "0.12345678901234567890123",
            "123456789012345678901234",
        ]
    ),
)
WORDS = st.sampled_from(["red", "b:c", "_", "é"])
FEATURES = st.one_of(
    NAMES,
    st.tuples(NAMES, NUMBERS).map(":".join),
    st.tuples(NAMES, WORDS).map(":".join),
    NUMBERS.map(":{}".format),
)
SPACES = st.one_of(
    st.just(""),
    st.sampled_from(["f", "g", "12", "ns"]),
    st.tuples(NAMES, NUMBERS).map(":".join),
)
PARTS = st.tuples(
    SPACES, st.lists(FEATURES, max_size=8), st.sampled_from([" ", "  ", "\t"])
).map(lambda part: part[0] + "".join(part[2] + feature for feature in part[1]))
LABELS = st.tuples(
    NUMBERS,
    st.sampled_from(["", " 1", " 2.5", " 1 0", " 0.5 -1"]),
    st.sampled_from(["", " 'tag", " 'tag "]),
).map("".join)
LINES = st.tuples(LABELS, st.lists(PARTS, min_size=1, max_size=3)).map(
    lambda line: (
        line[0] + ("" if line[0].endswith("tag") else " ") + "|" + " |".join(line[1])
    )
)
TEXTS = st.lists(LINES, min_size=1, max_size=12)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@example(
    [
        "1 |a x y:2 |a x",
        "-1 | x |b " + " ".join(f"w{i % 70}:{i + 1}" for i in range(200)),
    ]
)
@given(lines=TEXTS)
def test_features_are_read_as_they_are_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.mktemp("vw") / "rows.vw"
    path.write_text("\n".join(lines), encoding="utf-8")
    ends = ReadOptions(chunk_rows=5)
    expected = slow_rows("\n".join(lines))
    got = rows_of(list(VwFormat().read(str(path), ends)))
    assert got == expected
    hashed = read(path, encode=("*=hash:features=2^6",))
    rows = [
        row
        for batch in hashed
        for row in np.split(np.c_[batch.X.indices, batch.X.data], batch.X.indptr[1:-1])
    ]
    assert [dict(row.tolist()) for row in rows] == [
        slow_hashed(line, 6) for line in lines
    ]


def test_two_names_that_are_written_alike_are_two_features(tmp_path: Path) -> None:
    (tmp_path / "t.vw").write_text("1 |f^g a |f g^a\n")
    (batch,) = read(tmp_path / "t.vw")
    assert batch.feature_names == ("f^g^a", "f^g^a")
    with pytest.raises(Exception, match="has two features 'f\\^g\\^a'; rename one"):
        ingest(tmp_path / "t.vw", tmp_path / "out")


def test_many_names_are_numbered_by_first_appearance_whatever_the_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from olscale.data.formats import lines, vw

    text = "".join(
        f"{i % 2} |ns " + " ".join(f"n{(i * k) % 9973}:{k}" for k in range(1, 9)) + "\n"
        for i in range(3000)
    )
    (tmp_path / "t.vw").write_text(text)
    whole = read(tmp_path / "t.vw")
    monkeypatch.setattr(lines, "BLOCK_BYTES", 200)
    monkeypatch.setattr(vw, "_FIRST_NAMES", 2)
    monkeypatch.setattr(vw, "_FIRST_BYTES", 40)
    parts = read(tmp_path / "t.vw")
    assert rows_of(parts) == rows_of(whole) == slow_rows(text)
    assert parts[-1].feature_names == whole[-1].feature_names
    assert len(set(parts[-1].feature_names or ())) == parts[-1].columns


def test_a_namespace_weighs_its_features_and_zeros_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.vw").write_text(
        "1 2 0.5 'x|f:0.5 a:2 b |g:0 c |h d:0 e\r\n\n-1 |f a a:3\n"
    )
    batches = read(tmp_path / "t.vw")
    assert rows_of(batches) == [
        (1.0, {"f^a": 1.0, "f^b": 0.5, "h^e": 1.0}),
        (-1.0, {"f^a": 4.0}),
    ]
    first, second = batches[-1].notes
    assert first.endswith(
        "t.vw that have an importance other than 1, which is not used without --weights "
        "importance: 1"
    )
    assert second.endswith(
        "t.vw that have a base (an initial prediction), which is not used: 1"
    )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            "1|f a",
            "no label: '1' touches the bar, so Vowpal Wabbit takes it for the tag; write a space",
        ),
        ("|f a", "the row has no label"),
        ("'t |f a", "the row has no label"),
        ("cat |f a", "the label is 'cat', expected a number.*give each class a number"),
        (
            "1:0.5 2:1 |f a",
            r"the label is '1:0.5', as for costs or contextual bandits \(--csoaa, --cb\)",
        ),
        ("shared |f a", "as for costs or contextual bandits"),
        ("1,3 |f a", r"several labels \(--multilabel_oaa\)"),
        ("nan |f a", "the label is 'nan'"),
        ("1 2 3 4 |f a", "the label is '4'"),
        ("1 't 2 |f a", "the label is '2'"),
        ("1\t|f a", "a tab behind '1'"),
        ("1 2", "got '1 2', expected a label, a bar and features"),
        ("1 |f:x a", "the namespace is 'f:x', expected NAME or NAME:WEIGHT"),
        ("1 |:2 a", "the namespace is ':2'"),
        (
            "1 |f a:1x",
            "the feature is 'a:1x', expected NAME or NAME:VALUE, a finite number",
        ),
        ("1 |f a: b", "the feature is 'a:'"),
        ("1 |f a:nan", "the feature is 'a:nan'"),
        ("1 |f a:1e400", "the feature is 'a:1e400'"),
        ("1 |f a\rb", "a carriage return within the line"),
        ("1 |f a\0b", "holds a NUL byte"),
        ("1 |f \udcff", "is not UTF-8 text"),
    ],
)
def test_faults_are_named_with_their_line(
    tmp_path: Path, row: str, problem: str
) -> None:
    path = tmp_path / "t.vw"
    path.write_bytes(f"1 |f a\n\n{row}\n".encode("utf-8", "surrogateescape"))
    with pytest.raises(FormatError, match=rf"t\.vw, line 3: .*{problem}"):
        read(path)


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.vw"
    path.write_text(SMALL)
    for encode in ("f=hash", "*=text", "*=date"):
        with pytest.raises(
            FormatError, match=r"expected --encode '\*=hash:features=2\^18'"
        ):
            read(path, encode=(encode,))
    with pytest.raises(FormatError, match="hashed to a power of two, got 1000"):
        read(path, encode=("*=hash:features=1000",))
    with pytest.raises(FormatError, match="has no columns to drop"):
        read(path, drop=("f",))


def test_a_dataset_keeps_the_names_or_how_they_were_hashed(tmp_path: Path) -> None:
    (tmp_path / "k04-vw.txt").write_text(SMALL)
    named = ingest(tmp_path / "k04-vw.txt", tmp_path / "named")
    assert named.classes == (-1, 1)
    assert named.manifest.feature_names == ("f^a", "f^b")
    hashed = ingest(
        tmp_path / "k04-vw.txt", tmp_path / "hashed", encode="*=hash:features=2^10"
    )
    assert hashed.columns == 1024
    assert open_dataset(tmp_path / "hashed").manifest.table.coded == {
        "*": "hash:features=1024"
    }


@pytest.mark.parametrize(
    "text",
    [
        SMALL,
        "1 | a:2 b\n-1 | c\n",
        "|f a:1 b:2\n|f c:3\n",
        "1 |w the cat sat\n-1 |w on a mat\n",
        "1 | the cat sat\n-1 | on a mat\n",
        "1 1.0 'x|a b:1 |c d\n2 1.0 'y|a b:2 |c e\n",
        "0:1:0.5 |f a:1 b\n1:2:0.5 |f b c\n",
    ],
)
def test_its_text_is_known_by_its_first_lines(tmp_path: Path, text: str) -> None:
    (tmp_path / "rows.txt").write_text(text)
    assert find_format(str(tmp_path / "rows.txt")).name == "vw"
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(
        FormatError,
        match="is vw text, though its name says csv; read it with --format vw",
    ):
        find_format(str(tmp_path / "rows.csv"))


@pytest.mark.parametrize(
    "text",
    [
        "a|b|c\n1|2|x\n3|4|y\n",
        "1|2|x\n3|4|y\n",
        "1 | 2 | x\n3 | 4 | y\n",
        "1   |2   |3   \n4   |5   |6   \n",
        "1 |New York |5\n2 |New Jersey |6\n3 |Rhode Island |7\n",
        "1 | 10:30 | 2\n2 | 11:30 | 4\n",
        "1 | yes\n2 | no\n",
    ],
)
def test_a_table_with_bars_is_a_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "rows.txt").write_text(text)
    assert find_format(str(tmp_path / "rows.txt")).name == "csv"


def test_vowpal_wabbit_numbers_features_alike(tmp_path: Path) -> None:
    pytest.importorskip("vowpalwabbit")
    lines = [
        "1 |f a:2 b:3", "1 | a 12:3 -5 007 a", "1 |12 a 1", "1 2.0 0.5 'tag|f:2 a:3 b |f c", "1 |f", "1 |é ü:2",
        "1 | 99999999999 1.5", "1 |f :3 x :4", "1 zz|f a", "1 |f^g a^b | f^g^a^b", "1 |f a:red b:0", "1 | :0 :4 5",
    ]  # fmt: skip
    path = tmp_path / "rows.vw"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code = (
        f"from vowpalwabbit import Workspace as W; W('-d {path} -b 18 --audit --noconstant "
        "--quiet').finish()"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    audited = [
        [word.rsplit(":", 3) for word in line.strip().split("\t") if word]
        for line in out.split("\n")[1::2]
    ]
    (batch,) = read(path, encode=("*=hash:features=2^18",))
    bounds = batch.X.indptr.tolist()
    for row, line in enumerate(lines):
        expected: dict[int, float] = {}
        for _, index, value, _ in audited[row]:
            expected[int(index)] = expected.get(int(index), 0.0) + float(value)
        span = slice(bounds[row], bounds[row + 1])
        got = dict(
            zip(
                batch.X.indices[span].tolist(), batch.X.data[span].tolist(), strict=True
            )
        )
        assert got == pytest.approx(expected), line
