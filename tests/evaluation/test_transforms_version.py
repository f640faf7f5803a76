"""Streams on which version 0.1 fitted its transforms wrongly have run ids of their own; all others keep theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import olscale
from olscale.analysis.summary import Summary, summarise
from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.transforms.scaling import transforms_version

ROWS = 1_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of three clusters, and ones that have a fourth feature besides."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, ROWS)
    X = rng.normal(size=(ROWS, 3)) + 2.0 * np.eye(3)[y]
    late = np.full(ROWS, 0.1)
    late[-1] = 0.2
    columns = {
        "plain": X,
        "constant": np.column_stack([X, np.full(ROWS, 0.1)]),
        "exact": np.column_stack([X, np.full(ROWS, 0.5)]),
        "late": np.column_stack([X, late]),
        "tiny": np.column_stack([X, 1e-181 * rng.normal(size=ROWS)]),
    }
    for name, rows in columns.items():
        np.savez(folder / f"{name}.npz", X=rows, y=y)
        ingest([folder / f"{name}.npz"], folder / name, chunk_rows=100)
    return folder


@pytest.mark.parametrize(
    ("name", "texts", "version"),
    [
        ("plain", ("standardize", "bias"), 1),
        ("constant", ("standardize", "bias"), 2),
        ("constant", ("bias",), 1),
        ("constant", ("minmax",), 1),
        ("exact", ("standardize",), 1),
        ("exact", ("bias", "standardize"), 1),
        ("late", ("standardize",), 1),  # constant in all chunks but the last
        ("tiny", ("standardize",), 2),
    ],
)
def test_only_what_was_fitted_wrongly_has_another_version(
    data: Path, name: str, texts: tuple[str, ...], version: int
) -> None:
    assert transforms_version(open_dataset(data / name), texts) == version


def test_it_is_part_of_the_definition_of_runs_and_of_tuning(
    data: Path, tmp_path: Path
) -> None:
    """And of nothing else: candidates of tuning are left out of the tables as before."""
    experiment = olscale.Experiment(
        transforms=["standardize"],
        protocol={"permutations": 2},
        tuning={"folds": 2},
        datasets=[{"path": str(data / "plain")}, {"path": str(data / "constant")}],
        learners=[{"name": "pa1", "tune": {"C": [0.1, 1.0]}}],
    )
    store = olscale.evaluate(experiment, tmp_path / "store", in_process=True).store
    found: dict[str, set[object]] = {"plain": set(), "constant": set()}
    for id in store.done():
        definition = store.get(id).run
        found[definition["dataset"]["name"]].add(
            definition["protocol"].get("transforms_version")
        )
    assert found == {"plain": {None}, "constant": {2}}
    shown = [(s.dataset, s.n) for s in errors_of(store)]
    assert sorted(set(shown)) == [("constant", 2), ("plain", 2)]


def errors_of(store: olscale.Store) -> list[Summary]:
    return [s for s in summarise(store) if s.metric == "cumulative_error"]
