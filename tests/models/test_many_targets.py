"""Predictions of several targets stand beside the labels of the same targets."""

import numpy as np
import pytest

import olscale
from olscale.data.formats.base import ReadOptions
from olscale.errors import ModelError
from olscale.models.predict import predict
from olscale.models.source import ModelSource
from olscale.results.store import model_file

NAMES = ["a", "b", "price", "rent"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    X = np.random.default_rng(0).normal(size=(60, 2))
    rows = np.column_stack([X, X @ [1.0, 2.0], 100.0 * X @ [2.0, -1.0]])
    write(folder / "homes.csv", NAMES, rows)
    write(folder / "turned.csv", NAMES[::-1], rows[:, ::-1])
    write(folder / "price.csv", NAMES[:3], rows[:, :3])
    np.savez(folder / "rows.npz", X_train=rows[:, :2], y_train=rows[:, 2:])
    for name, label in (
        ("homes", "price,rent"),
        ("turned", "rent,price"),
        ("price", "price"),
    ):
        olscale.ingest(
            folder / f"{name}.csv", folder / name, target="real", label=label
        )
    return folder


def write(path, names, rows):
    path.write_text(
        ",".join(names)
        + "\n"
        + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
    )


@pytest.fixture(scope="module")
def model(folder):
    protocol = {"order": "time", "keep_model": True}
    experiment = olscale.Experiment(
        datasets=[{"path": str(folder / "homes")}],
        learners=[{"name": "ridge"}],
        protocol=protocol,
    )
    store = olscale.evaluate(experiment, folder / "store", in_process=True).store
    [run] = store.done()
    return olscale.load_model(f"{folder}/store/{model_file(run)}")


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("homes", None),
        ("turned", None),
        ("turned.csv", None),
        ("homes.csv", "rent,price"),
        ("homes.csv", "price,rent"),
        ("rows.npz", None),
    ],
)
def test_labels_go_by_the_names_of_their_targets(
    folder, model, tmp_path, source, label
):
    rows = ModelSource(
        model.about.columns, str(folder / source), options=ReadOptions(label=label)
    )
    done = predict(model, rows, tmp_path / "out.csv", labels=True)
    header, *lines = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "prediction_price,prediction_rent,label_price,label_rent"
    cells = np.array([line.split(",") for line in lines], dtype=float)
    known = np.loadtxt(folder / "homes.csv", delimiter=",", skiprows=1)[:, 2:]
    np.testing.assert_array_equal(cells[:, 2:], known)
    np.testing.assert_allclose(
        done.squares, np.sum((cells[:, :2] - known) ** 2, axis=0)
    )


def test_a_source_of_other_targets_is_refused_with_labels_only(folder, model, tmp_path):
    def source():
        return ModelSource(model.about.columns, str(folder / "price"))

    with pytest.raises(
        ModelError, match="has the targets one, the model predicts 'price', 'rent'"
    ):
        predict(model, source(), tmp_path / "out.csv", labels=True)
    assert predict(model, source(), tmp_path / "out.csv").rows == 60
