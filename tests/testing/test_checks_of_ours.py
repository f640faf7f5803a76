"""Every format, layout, metric and transform of ours passes the checks that are shipped for extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.data.formats import ReadOptions, find_format, format_names
from olscale.data.layouts import LAYOUTS
from olscale.data.transforms.drop import Drop
from olscale.data.transforms.pipeline import TRANSFORMS, make_transform
from olscale.evaluation.metrics import METRICS
from olscale.evaluation.protocol import PLAIN, Scoring
from olscale.learners import Perceptron
from olscale.measures import UNWEIGHTED, askable
from olscale.testing import (
    format_checks,
    layout_checks,
    metric_checks,
    transform_checks,
)
from olscale.testing.check_list import Check
from olscale.testing.learners import (
    check_label_comes_after_the_prediction,
    check_labels_do_not_matter,
)

TRANSFORMS: dict[str, Callable[[], Any]] = {
    name: partial(make_transform, name)
    for name in TRANSFORMS
    if name not in ("project", "rff", "nystroem", "svd", "ipca")
} | {
    **{
        name: partial(make_transform, name)
        for name in (
            "rff:6",
            "rff:2,gamma=median",
            "nystroem:5",
            "nystroem:80,gamma=2",
            "svd:2",
            "svd:9",
            "ipca:2",
            "ipca:9,block=1",
        )
    },
    **{
        f"project, {kind}": partial(make_transform, f"project:3,kind={kind}")
        for kind in ("gaussian", "sparse")
    },
    "project, very-sparse": partial(make_transform, "project:40,kind=very-sparse"),
    "drop": partial(Drop, 2),
    **{
        f"impute, {strategy}": partial(make_transform, f"impute:{strategy}")
        for strategy in ("median", "zero")
    },
}
SCORINGS = {
    "plain": PLAIN,
    "window": Scoring(window=30),
    "fading": Scoring(fading=0.9),
    "holdout from the test split": Scoring(holdout_every=40),
    "holdout from the stream": Scoring(holdout_every=30, holdout_rows=10),
    "measures held out": Scoring(
        measures=tuple(askable()), positive="1", costs=(1.0, 2.0, 0.5), holdout_every=40
    ),
    "costs of a threshold": Scoring(
        threshold="0,1,2;3,0,4;5,6,0", window=30, holdout_every=40
    ),
    "measures": Scoring(
        measures=(*askable(), "recall:0", "average_precision:2"),
        positive="1",
        costs=(1.0, 2.0, 0.5),
        window=30,
        fading=0.9,
        holdout_every=30,
        holdout_rows=10,
    ),
    "drift adwin": Scoring(drift="adwin"),
    "drift ddm": Scoring(drift="ddm"),
    "drift page-hinkley": Scoring(drift="page-hinkley"),
    "mcnemar": Scoring(mcnemar=True),
    **{
        f"weighted, {text}": Scoring(
            weights="w",
            weighted_measures=True,
            measures=tuple(name for name in askable() if name not in UNWEIGHTED),
            positive="1",
            costs=(1.0, 2.0, 0.5),
            **options,
        )
        for text, options in {
            "window": {
                "window": 30,
                "fading": 0.9,
                "holdout_every": 30,
                "holdout_rows": 10,
            },
            "held out": {"holdout_every": 40},
        }.items()
    },
}
CSV = "a,b,kind,label\n1,2.5,x,yes\n-3,,y,no\n0.5,1e3,x,yes\n4,5,z,no\n"
ARFF = (
    "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute c "
    "{yes,no}\n@data\n1,x,yes\n?,y,no\n2.5,y,yes\n"
)
JSONL = '{"a": 1, "b": "x", "label": 0}\n{"a": null, "b": "y", "label": 1}\n{"a": 2.5, "label": 0}\n'
VW = "1 |f a:0.5 b |g c:2\n-1 2 'tag|f:2 b:1.25\n1 |\n-1 |f a a:2\n"
SVMLIGHT = "+1 1:0.5 3:2\n-1 2:1.25\n+1\n-1 1:1 7:-3\n"


def _sources(folder: Path) -> dict[str, str]:
    """Write a small valid source of every format and return their places."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import scipy.io

    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    y = np.array([0, 1, 1, 0])
    texts = {
        "csv": CSV,
        "tsv": CSV.replace(",", "\t"),
        "arff": ARFF,
        "svmlight": SVMLIGHT,
    }
    texts |= {"jsonl": JSONL, "vw": VW}
    for name, text in texts.items():
        (folder / f"rows.{name}").write_text(text)
    np.savez(folder / "rows.npz", X=X, y=y)
    scipy.io.savemat(folder / "rows.mat", {"X": X, "y": y})
    pq.write_table(
        pa.table({"a": [1.0, 2.0, 0.5], "b": ["x", "y", "x"], "label": [1, 0, 1]}),
        folder / "rows.parquet",
    )
    images = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    for name, array in (
        ("rows-images-idx3-ubyte", images),
        ("rows-labels-idx1-ubyte", np.array([1, 0, 2], np.uint8)),
    ):
        head = bytes([0, 0, 8, array.ndim]) + b"".join(
            n.to_bytes(4, "big") for n in array.shape
        )
        (folder / name).write_bytes(head + array.tobytes())
    places = {
        name: str(folder / f"rows.{name}") for name in (*texts, "npz", "mat", "parquet")
    }
    return places | {
        "idx": str(folder / "rows-images-idx3-ubyte"),
        "sklearn": "sklearn:iris",
    }


def _named(checks: list[Check], prefix: str) -> Iterator[Any]:
    for name, check in checks:
        yield pytest.param(check, id=f"{prefix}: {name}")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name == "mat" else name
        for name in format_names()
    ],
)
def test_formats_keep_the_contract(tmp_path: Path, name: str) -> None:
    sources = _sources(tmp_path)
    assert name in sources, (
        f"write a small source of {name} in _sources, to be read by the checks"
    )
    source = sources[name]
    for _, check in format_checks(find_format(source, name), source, ReadOptions()):
        check()


WEIGHTED = {
    "csv": "a",
    "tsv": "b",
    "arff": "a",
    "jsonl": "a",
    "vw": "importance",
    "parquet": "a",
    "npz": "w",
}
"""Formats that have weights, with what ``--weights`` names in their small sources; that of MAT is as that of NPZ."""


@pytest.mark.parametrize("name", WEIGHTED)
def test_formats_keep_the_contract_of_weights(tmp_path: Path, name: str) -> None:
    path = Path(_sources(tmp_path)[name])
    if name == "npz":
        np.savez(path, X=np.eye(4), y=np.array([0, 1, 1, 0]), w=np.arange(4.0))
    elif name != "parquet":
        whole = {"-3": "3", "?": "0", "null": "7", "\t\t": "\t4\t"}
        text = path.read_text()
        for odd, number in whole.items():
            text = text.replace(odd, number)
        path.write_text(text)
    options = ReadOptions(weights=WEIGHTED[name])
    assert all(
        batch.weights is not None
        for batch in find_format(str(path), name).read(str(path), options)
    )
    for _, check in format_checks(find_format(str(path), name), str(path), options):
        check()


def _layouts() -> Iterator[Any]:
    for name in LAYOUTS:
        module = LAYOUTS.load(name)
        yield from _named(layout_checks(module.Writer, module.Reader), name)


@pytest.mark.parametrize("check", list(_layouts()))
def test_layouts_keep_the_contract(check: Callable[[], None]) -> None:
    check()


def _metrics() -> Iterator[Any]:
    for metric in METRICS.load_all():
        for text, scoring in SCORINGS.items():
            if scoring.weighted_measures and not metric.weighs_rows:
                continue
            plain = metric.wanted(PLAIN)
            if metric.wanted(scoring) and (
                scoring.measures or plain == (scoring == PLAIN)
            ):
                yield from _named(
                    metric_checks(metric, scoring), f"{metric.__name__}, {text}"
                )


@pytest.mark.parametrize("check", list(_metrics()))
def test_metrics_keep_the_contract(check: Callable[[], None]) -> None:
    check()


def test_every_metric_is_checked() -> None:
    assert all(
        any(metric.wanted(scoring) for scoring in SCORINGS.values())
        for metric in METRICS.load_all()
    )


def _transforms() -> Iterator[Any]:
    for text, make in TRANSFORMS.items():
        yield from _named(transform_checks(make), text)


@pytest.mark.parametrize("check", list(_transforms()))
def test_transforms_keep_the_contract(check: Callable[[], None]) -> None:
    check()


def test_learners_are_checked_with_labels_as_streams_give_them() -> None:
    """With labels that could be written to, `olscale learners check` would compile each loop once more."""
    given = []

    class Sees(Perceptron):
        def learn(self, X: Rows, y: NDArray[Any]) -> NDArray[np.float64]:
            given.append(y.flags.writeable)
            return np.zeros((len(y), 1))

    check_label_comes_after_the_prediction(Sees, 2, "dense")
    check_labels_do_not_matter(Sees)
    assert len(given) > 5
    assert not any(given)
