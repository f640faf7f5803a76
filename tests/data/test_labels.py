"""Labels: what is a class, and how it is coded."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.compiled.csr import CSR
from olscale.data import dataset as datasets
from olscale.data.formats.base import Batch
from olscale.data.ingest.columns import Columns
from olscale.data.ingest.ingest import ingest
from olscale.data.labels import ClassCodes, Labels
from olscale.errors import DatasetError, FormatError


def labels_of(*targets) -> Labels:
    labels = Labels()
    for target in targets:
        labels.encode(
            target if isinstance(target, list) else np.asarray(target, float), "source"
        )
    return labels


@pytest.mark.parametrize(
    ("target", "classes"),
    [
        ([1.0, -1.0, 1.0], (-1, 1)),
        ([0.5, 0.0], (0, 0.5)),
        (np.arange(65_536.0), tuple(range(65_536))),
        (np.arange(65_537.0), None),
        (
            np.arange(32) / 8,
            tuple(int(v) if v % 1 == 0 else v for v in (np.arange(32) / 8).tolist()),
        ),
        (np.arange(33) / 8, None),
    ],
)
def test_numeric_targets(target, classes):
    labels = labels_of(np.asarray(target))
    assert labels.classes == classes
    assert labels.task == ("regression" if classes is None else "classification")


def test_whole_numbers_may_be_followed_by_fractions():
    """The decision is about all rows: forty whole numbers are classes until a fraction shows they are measurements."""
    assert labels_of(np.arange(40)).task == "classification"
    assert labels_of(np.arange(40), np.array([0.5])).task == "regression"
    assert labels_of(np.array([0.5]), np.arange(40)).task == "regression"


def test_text_is_coded_by_first_appearance_and_classes_are_sorted():
    labels = labels_of(["b", "a", "b"], ["c"])
    assert (labels.names, labels.classes) == (("b", "a", "c"), ("a", "b", "c"))
    codes = ClassCodes(labels.classes, labels.names)(np.array([0.0, 1.0, 2.0]))
    assert codes.tolist() == [1, 0, 2]
    assert codes.dtype == np.int64


def test_text_beside_numbers_is_refused():
    with pytest.raises(
        DatasetError,
        match="source has text labels but the sources before it had numbers",
    ):
        labels_of([1.0][:0] or np.ones(2), ["a"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_labels_must_be_finite(bad: float):
    with pytest.raises(FormatError, match="not a finite number"):
        labels_of(np.array([1.0, bad]))


def test_target_known_to_be_of_a_regression_has_no_classes() -> None:
    labels = Labels()
    labels.encode(np.array([25.0, 346.0]), "diabetes", regression=True)
    assert (labels.task, labels.classes, labels.distinct) == ("regression", None, 2)


class Counted(str):
    """Text that counts how often it is looked up or compared."""

    uses = 0

    def __eq__(self, other: object) -> bool:
        Counted.uses += 1
        return str.__eq__(self, other)  # type: ignore[no-any-return, arg-type]

    def __hash__(self) -> int:
        Counted.uses += 1
        return str.__hash__(self)


def test_work_grows_with_the_classes_and_not_with_their_square() -> None:
    """60,000 classes took 21 s: each was sought among all."""
    names = [Counted(f"k{i}") for i in range(3_000)]
    labels = Labels()
    for split, rows in (("train", names[:2_000]), ("test", names[1_000:])):
        labels.begin(split)
        labels.encode(list(rows), split)
    Counted.uses = 0
    assert labels.unseen == tuple(sorted(names[2_000:]))
    assert labels.class_rows("test") == tuple(
        int(int(name[1:]) >= 1_000) for name in sorted(names)
    )
    assert Counted.uses < 20 * len(names)


def test_a_batch_is_matched_by_its_new_columns_only() -> None:
    names = tuple(Counted(f"c{i}") for i in range(500))
    X = CSR(np.array([0, 1]), np.array([0], np.int32), np.ones(1))
    columns = Columns()
    columns.align(Batch(X, np.zeros(1), 499, names[:499]), "a")
    Counted.uses = 0
    columns.align(Batch(X, np.zeros(1), 500, names), "a")
    assert Counted.uses < 10
    assert columns.width == 500


def test_codes_of_the_classes_are_made_once_for_a_dataset(
    tmp_path, monkeypatch
) -> None:
    made: list[int] = []

    class Codes(ClassCodes):
        def __init__(self, *given: object) -> None:
            made.append(1)
            super().__init__(*given)

    monkeypatch.setattr(datasets, "ClassCodes", Codes)
    (tmp_path / "a.csv").write_text("x,y\n" + "1,p\n2,q\n" * 20)
    assert (
        len(list(ingest(tmp_path / "a.csv", tmp_path / "d", chunk_rows=4).chunks()))
        == 10
    )
    assert made == [1]


@pytest.mark.parametrize("target", [["ok", "bad", "fine", "bad"], [2.0, 1.0, 3.0, 1.0]])
def test_one_label_is_that_of_novelties_and_all_others_are_normal(target) -> None:
    labels = Labels(novel="bad" if isinstance(target[0], str) else "1")
    labels.begin("train")
    stored = labels.encode(
        target if isinstance(target[0], str) else np.array(target), "source"
    )
    labels.check()
    assert stored.tolist() == [1.0, -1.0, 1.0, -1.0]
    assert (labels.task, labels.classes, labels.names) == ("novelty", (-1, 1), None)
    assert labels.class_rows("train") == (2, 2)


@pytest.mark.parametrize(
    ("novel", "targets", "said"),
    [
        ("bad", [["ok", "fine"]], "no row has the label 'bad'"),
        ("bad", [["bad"]], "every row has the label 'bad'"),
        ("bad", [np.array([1.0, 2.0])], "'bad' of --novel is none"),
        ("1", [np.array([1.0, np.nan])], "not a finite number"),
        (
            "1",
            [np.array([1.0, 2.0]), ["1"]],
            "text labels but the sources before it had numbers",
        ),
    ],
)
def test_what_cannot_be_told_apart_is_no_novelty_detection(
    novel, targets, said
) -> None:
    def encode_all() -> None:
        labels = Labels(novel=novel)
        for target in targets:
            labels.encode(target, "source")
        labels.check()

    with pytest.raises((DatasetError, FormatError), match=said):
        encode_all()


def test_what_labels_are_can_be_said() -> None:
    """Whole numbers as targets, and numbers as classes where there are not too many."""
    real = Labels(target="real")
    real.encode(np.arange(5.0), "source")
    assert (real.task, real.classes) == ("regression", None)
    with pytest.raises(FormatError, match="the label 'ok' is no number"):
        Labels(target="real").encode(["ok"], "source")
    few = Labels(target="classes")
    many = Labels(target="classes")
    few.encode(np.arange(20.0) / 7, "source", regression=True)
    few.check()
    assert few.task == "classification"
    many.encode(np.arange(40.0) / 7, "source")
    with pytest.raises(DatasetError, match="32 fractions; use --target real"):
        many.check()


@pytest.mark.parametrize("novel", [None, "3"])
@pytest.mark.parametrize("first", [2**53, -(2**53) - 2, 2**63])
def test_whole_numbers_that_float64_cannot_tell_apart_are_no_classes(first, novel):
    """The label 2^53 + 1 is 2^53 once it is a float: two classes would become one."""
    labels = Labels(novel=novel)
    labels.encode(np.array([3.0, float(first)]), "source")
    with pytest.raises(DatasetError, match=r"2\^53 on: they would be one class"):
        labels.check()


def test_large_numbers_may_be_targets_and_just_below_the_limit_labels():
    real = Labels("real")
    real.encode(np.array([2.0**60, 1.0]), "source")
    real.check()
    whole = labels_of([1.0, 2.0**53 - 1])
    whole.check()
    assert whole.classes == (1, 2**53 - 1)


def test_labels_that_are_declared_classes_are_classes_however_many() -> None:
    labels = Labels()
    labels.encode(np.arange(100) / 4, "t.arff", regression=False)
    assert (labels.task, len(labels.classes or ())) == ("classification", 100)
    labels.encode(np.arange(100) / 8, "more.arff", regression=True)
    assert labels.task == "classification"
    asked = Labels("real")
    asked.encode(np.arange(100) / 4, "t.arff", regression=False)
    assert asked.task == "regression"
