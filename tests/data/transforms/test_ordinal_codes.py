"""Codes of categories: their order, which features are codes, and trees that split on them."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import to_dense
from olscale.data.dataset import Dataset
from olscale.data.feature_names import FeatureNames, feature_names
from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.pipeline import bound_transforms
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.results import open_store

COLOURS = ("teal", "red", "blue")


def words_of_rows(rows: int = 3_000) -> list[tuple[float, str]]:
    rng = np.random.default_rng(5)
    words = np.array(["", *COLOURS])[rng.integers(0, 4, rows)]
    return [*zip(rng.normal(size=rows).round(3).tolist(), words.tolist(), strict=True)]


def label(x: float, word: str) -> str:
    return "yes" if word == "red" or (word == "teal" and x > 0.3) else "no"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Dataset]:
    """The same rows with words, declared in an order of their own, and with their codes."""
    folder = tmp_path_factory.mktemp("tables")
    words = [
        f"@relation t\n@attribute x real\n@attribute colour {{{','.join(COLOURS)}}}"
    ]
    words.append("@attribute y {no,yes}\n@data")
    codes = ["x,colour,y"]
    for x, word in words_of_rows():
        words.append(f"{x},{word or '?'},{label(x, word)}")
        code = COLOURS.index(word) if word else -1
        codes.append(f"{x},{code},{label(x, word)}")
    (folder / "words.arff").write_text("\n".join(words))
    (folder / "codes.csv").write_text("\n".join(codes))
    return (
        ingest(str(folder / "words.arff"), str(folder / "words")),
        ingest(str(folder / "codes.csv"), str(folder / "codes"), label="y"),
    )


def names_after(dataset: Dataset, *transforms: str) -> FeatureNames:
    steps = bound_transforms(transforms, dataset.manifest)
    return feature_names(dataset.manifest, steps)


def test_codes_follow_the_declared_values_and_a_missing_one_is_less_than_0(
    tables: tuple[Dataset, Dataset],
) -> None:
    with_words, with_codes = tables
    [step] = bound_transforms(["ordinal-encode@colour"], with_words.manifest)
    chunk = with_words.chunk("train", 0)
    columns = with_words.columns
    step.begin(columns)  # type: ignore[attr-defined]
    made = to_dense(step.apply(chunk.X, columns), 2)
    np.testing.assert_array_equal(made, to_dense(with_codes.chunk("train", 0).X, 2))


@pytest.mark.parametrize(
    ("transforms", "names", "codes"),
    [
        (["ordinal-encode@onehot"], ("x", "colour"), {1: 3}),
        (["ordinal-encode@onehot", "bias"], ("x", "colour", "bias2"), {1: 3}),
        (["ordinal-encode@onehot", "standardize@x"], ("x", "colour"), {1: 3}),
        (["ordinal-encode@onehot", "standardize@colour"], ("x", "colour"), {}),
        (["ordinal-encode@onehot", "standardize"], ("x", "colour"), {}),
        (["ordinal-encode@x"], (*(f"colour={word}" for word in COLOURS), "x"), {3: 0}),
    ],
)
def test_features_are_codes_until_their_values_change(
    tables: tuple[Dataset, Dataset],
    transforms: list[str],
    names: tuple[str, ...],
    codes: dict[int, int],
) -> None:
    known = names_after(tables[0], *transforms)
    assert known.codes == codes
    assert known.names[: len(names) - 1] == names[:-1]
    # A code of 0 is a value, though sparse rows leave it out.
    assert all(known.blank[known.names[i]] == 0.0 for i in codes)


def mistakes(
    dataset: Dataset,
    params: dict[str, Any],
    folder: Path,
    *transforms: str,
    learner: str = "hoeffding-tree",
) -> float:
    experiment = parse_experiment(
        {
            "datasets": [{"path": dataset.path}],
            "learners": [{"name": learner, "params": params}],
            "transforms": list(transforms),
            "protocol": {"order": "time"},
        }
    )
    evaluate(experiment, folder, in_process=True, progress=False)
    [metrics] = open_store(folder).read(["metrics"])["metrics"].to_pylist()
    return float(dict(metrics)["mistakes"])


def test_a_tree_splits_on_them_as_on_columns_that_are_named(
    tables: tuple[Dataset, Dataset], tmp_path: Path
) -> None:
    with_words, with_codes = tables
    quick = {"grace": 50, "confidence": 0.05}
    by_words = mistakes(with_words, quick, tmp_path / "words", "ordinal-encode@onehot")
    named = {**quick, "nominal": "colour"}
    assert by_words == mistakes(with_codes, named, tmp_path / "codes")
    assert by_words != mistakes(with_codes, quick, tmp_path / "numbers")


@pytest.mark.skipif(
    find_spec("capymoa") is None or shutil.which("java") is None,
    reason="needs Java and capymoa",
)
def test_they_are_nominal_attributes_of_moa(
    tables: tuple[Dataset, Dataset], tmp_path: Path
) -> None:
    quick = {"grace": 50, "confidence": 0.05}
    encoded = "ordinal-encode@onehot"
    ours = mistakes(tables[0], quick, tmp_path / "ours", encoded)
    name = "moa:trees.HoeffdingTree -g 50 -c 0.05"
    assert ours == mistakes(tables[0], {}, tmp_path / "moa", encoded, learner=name)
    as_numbers = mistakes(tables[1], {}, tmp_path / "numbers", learner=name)
    assert ours != as_numbers
