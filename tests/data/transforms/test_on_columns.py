"""Transforms of some columns: the bits of the inner transform, and other columns as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import CSR, Rows, rows_of, slice_rows, to_csr, to_dense
from olscale.data.dataset import Dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.known_columns import KnownColumns, known_columns
from olscale.data.transforms.on_columns import OnColumns
from olscale.data.transforms.pipeline import (
    canonical_transform,
    fit_transforms,
    make_transform,
)
from olscale.data.transforms.streaming import StreamingTransform
from olscale.errors import (
    ExperimentError,
    OlscaleError,
    ParameterError,
    UnknownNameError,
)
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.testing.transforms import transform_checks

KNOWN = KnownColumns("five", ("a", "b", "c", "d", "e"), {}, {})
CHOSEN = np.array([1, 3, 4])
OTHER = np.array([0, 2])
INNER = (
    "standardize",
    "minmax",
    "unit-norm",
    "bias",
    "missing-indicator",
    "impute:mean",
    "impute:median",
    "impute:zero",
    "running-standardize",
    "project:2",
    "rff:4,gamma=median",
    "svd:2",
    "ipca:2,block=4",
    "frequency-encode",
    "ordinal-encode",
    "target-encode",
)


def bound(inner: str) -> OnColumns:
    step = make_transform(f"{inner}@b+d+e")
    assert isinstance(step, OnColumns)
    return step.bound(KNOWN)


def rows(gaps: bool) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X[rng.random(X.shape) < 0.4] = 0.0
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X


def passed(step: Any, X: Rows, columns: int, cuts: tuple[int, ...]) -> np.ndarray:
    """Return rows after the step, which is fitted on them and learns from them in pieces."""

    def chunks() -> Iterator[Rows]:
        for start, stop in zip((0, *cuts), (*cuts, 40), strict=True):
            yield slice_rows(X, start, stop)

    made = []
    if not step.streams:
        step.fit(
            lambda: (
                part if step.fits_sparse else to_dense(part, columns)
                for part in chunks()
            ),
            columns,
        )
        made = [step.apply(step.rows(part, columns), columns) for part in chunks()]
    else:
        step.begin(columns)
        for part in chunks():
            trains = np.ones(rows_of(part), dtype=np.bool_)
            made.append(step.learn(step.rows(part, columns), columns, trains))
    assert len({isinstance(part, CSR) for part in made}) == 1
    return np.concatenate([to_dense(part, step.width(columns)) for part in made])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("inner", INNER)
def test_bits_are_those_of_a_dataset_of_only_these_columns(
    inner: str, sparse: bool
) -> None:
    only = make_transform(inner)
    X = rows(gaps=only.keeps_missing)
    form = to_csr if sparse else np.asarray
    expected = passed(only, form(X[:, CHOSEN]), 3, (7, 20))
    made = passed(bound(inner), form(X), 5, (1, 33))
    if only.mixes_features:
        np.testing.assert_array_equal(made[:, :2], X[:, OTHER])
        np.testing.assert_array_equal(made[:, 2:], expected)
    else:
        np.testing.assert_array_equal(made[:, OTHER], X[:, OTHER])
        np.testing.assert_array_equal(made[:, CHOSEN], expected[:, :3])
        np.testing.assert_array_equal(made[:, 5:], expected[:, 3:])


@pytest.mark.parametrize(
    "inner",
    [
        "standardize",
        "missing-indicator",
        "running-standardize",
        "svd:2",
        "target-encode",
    ],
)
def test_it_keeps_the_contract_of_transforms(inner: str) -> None:
    for _, check in transform_checks(lambda: bound(inner)):
        check()


@pytest.mark.parametrize(
    "inner",
    [
        "standardize",
        "running-standardize",
        "project:2",
        "frequency-encode",
        "ordinal-encode",
    ],
)
def test_a_saved_state_gives_the_same_rows(inner: str) -> None:
    X = rows(gaps=False)
    step = bound(inner)
    passed(step, X, 5, ())
    again = make_transform(f"{inner}@b+d+e")
    again.restore(step.state(), 5)
    np.testing.assert_array_equal(again.apply(X, 5), step.apply(X, 5))
    with pytest.raises(ValueError, match="positions"):
        again.restore(step.state(), 4)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("table")
    lines = ["amount,age,a_gap,b_gap,colour,city,y"]
    for number in range(60):
        gap = "" if number % 4 == 0 else number % 7
        colour = ["red", "blue"][number % 2]
        lines.append(
            f"{number * 1.5},{number % 9},{gap},{number % 5},{colour},c{number},{number % 3 > 0}"
        )
    (folder / "t.csv").write_text("\n".join(lines))
    return ingest(
        str(folder / "t.csv"),
        str(folder / "t"),
        label="y",
        encode=["city=hash:features=16"],
    )


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("amount+age", ["amount", "age"]),
        ("age + amount", ["amount", "age"]),
        ("*_gap", ["a_gap", "b_gap"]),
        ("gaps", ["a_gap"]),
        ("numeric", ["amount", "age", "a_gap", "b_gap"]),
        ("onehot", ["colour=blue", "colour=red"]),
        ("colour", ["colour=blue", "colour=red"]),
        ("colour=red+age", ["age", "colour=red"]),
        ('["age"]', ["age"]),
    ],
)
def test_columns_are_chosen_by_name_pattern_and_kind(
    table: Dataset, columns: str, expected: list[str]
) -> None:
    step = make_transform(f"bias@{columns}")
    assert isinstance(step, OnColumns)
    names = table.manifest.feature_names or ()
    chosen = step.bound(known_columns(table.manifest)).chosen
    assert [names[place] for place in chosen] == expected
    hashed = make_transform("bias@hashed")
    assert isinstance(hashed, OnColumns)
    assert len(hashed.bound(known_columns(table.manifest)).chosen) == 16


def experiment(table: Dataset, *transforms: Any) -> Any:
    return parse_experiment(
        {
            "datasets": [{"path": table.path}],
            "learners": [{"name": "pa1"}],
            "transforms": list(transforms),
            "protocol": {"order": "time"},
        }
    )


def test_an_unknown_column_is_one_line_with_the_nearest(table: Dataset) -> None:
    with pytest.raises(
        UnknownNameError, match="'amuont'; did you mean 'amount'"
    ) as wrong:
        make_plan(experiment(table, "standardize@amuont"))
    assert "city=" not in str(wrong.value)
    with pytest.raises(UnknownNameError, match=r"'\*_hole'"):
        make_plan(experiment(table, "standardize@*_hole"))


def test_a_table_names_any_column(table: Dataset) -> None:
    assert canonical_transform("standardize@age+amount+age") == "standardize@age+amount"
    made = experiment(
        table,
        {"name": "impute:mean", "columns": ["age", "amount"]},
        {"name": "running-standardize", "columns": ["a+b", "c,d", "numeric"]},
    )
    plain = "impute:strategy=mean@age+amount"
    listed = json.dumps(["a+b", "c,d", "numeric"])
    assert made.transforms == (plain, f"running-standardize@{listed}")
    (run,) = make_plan(experiment(table, {"name": "bias", "columns": ["age"]})).runs
    (same,) = make_plan(experiment(table, "bias@age")).runs
    (other,) = make_plan(experiment(table, "bias@amount")).runs
    assert run.id == same.id != other.id
    for wrong in (
        {"name": "bias"},
        {"name": "bias@a", "columns": ["b"]},
        "bias@",
        "bias@a@b",
    ):
        with pytest.raises((ExperimentError, ParameterError), match="transform"):
            experiment(table, wrong)


def test_the_same_rows_with_other_names_are_other_runs(
    table: Dataset, tmp_path: Path
) -> None:
    """The fingerprint says nothing of names, and a name may be that of another column."""
    text = (Path(table.path).parent / "t.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace("amount,age", "age,amount", 1))
    renamed = ingest(
        str(tmp_path / "t.csv"),
        str(tmp_path / "t"),
        label="y",
        encode=["city=hash:features=16"],
    )
    assert renamed.fingerprint == table.fingerprint
    ids = [
        make_plan(experiment(each, "bias@age")).runs[0].id for each in (table, renamed)
    ]
    assert ids[0] != ids[1]
    ids = [make_plan(experiment(each, "bias")).runs[0].id for each in (table, renamed)]
    assert ids[0] == ids[1]


def test_columns_are_unknown_without_a_dataset() -> None:
    with pytest.raises(OlscaleError, match="expected the manifest"):
        fit_transforms(["standardize@a"], lambda: iter(()), 2)


def test_a_group_without_columns_changes_nothing() -> None:
    step = make_transform("missing-indicator@hashed")
    assert isinstance(step, OnColumns)
    known = KnownColumns("two", ("a", "b"), {"hashed": frozenset()}, {})
    step = step.bound(known)
    assert isinstance(step, StreamingTransform)
    X = np.ones((2, 2))
    assert step.width(2) == 2
    np.testing.assert_array_equal(step.apply(X, 2), X)


def test_codes_of_a_hashed_column_are_refused(table: Dataset) -> None:
    with pytest.raises(ParameterError, match="values of a hashed column are not known"):
        make_plan(experiment(table, "ordinal-encode@city"))
