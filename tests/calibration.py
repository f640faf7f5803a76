"""How well probabilities are calibrated as streams go: ``python -m tests.calibration [NAME ...]``.

For PA-I, AROW and LOL on the real data sets at hand it prints the calibration error (15 bins) and
the log loss after 5,000 rows, in a permuted order and before each row is learned; beside it the log
loss of scikit-learn's `CalibratedClassifierCV` around the same scores, fitted on all of them at
once and so with rows that come later. Then the calibration error of the final model on the test
split, and for two classes F1 by the scores and by ``threshold = "f1"``, along the stream. It ends
with 1 where an error is over 3 % or a log loss over 1.15 times that of Platt's scaling, its default.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

from olscale.data.dataset import open_dataset
from olscale.data.ingest.ingest import ingest
from olscale.data.stream import Shuffle, open_streams
from olscale.evaluation.cut_groups import cut_groups
from olscale.evaluation.experiment import parse_experiment
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import make_plan
from olscale.learners.calibrator import Calibrator
from olscale.learners.registry import make_learner

DATA = Path(
    os.environ.get("OLSCALE_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data")
)
SETS = {
    "a9a": ("a9a/a9a", "a9a/a9a.t"),
    "w7a": ("w7a/w7a", "w7a/w7a.t"),
    "ijcnn1": ("ijcnn1/ijcnn1.trn.bz2", "ijcnn1/ijcnn1.tst.bz2"),
    "letter": ("letter/letter.scale", "letter/letter.scale.t"),
    "mnist": ("mnist/train-images-idx3-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz"),
}
TRANSFORMS = {"mnist": ("standardize", "bias")}
LEARNERS = ("pa1", "arow", "lol")
BEFORE = 5_000
MOST_ERROR = 0.03
MOST_RATIO = 1.15


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are scores already."""

    def __init__(self, classes: int = 2) -> None:
        self.classes = classes
        self.classes_ = np.arange(classes)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Scores:
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X.argmax(axis=1) if X.shape[1] > 1 else (X[:, 0] >= 0.0).astype(int)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0] if X.shape[1] == 1 else X


def measured(
    path: str, learner: str, transforms: tuple[str, ...], **protocol: Any
) -> dict[str, float]:
    """Return what a run measures."""
    content: dict[str, Any] = {
        "datasets": [{"path": path}],
        "learners": [{"name": learner}],
        "transforms": list(transforms),
        "protocol": {"permutations": 1, **protocol},
    }
    plan = make_plan(parse_experiment(content))
    [group] = cut_groups(plan.runs, plan.sources, 1)
    going = GroupPass(group)
    while not going.ended:
        going.advance()
    [record] = going.finish()
    return record.metrics


def scores_of(
    path: str, learner: str, transforms: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the rows of the same run before each is learned, and their classes."""
    dataset = open_dataset(path)
    stream = open_streams(dataset, transforms, Shuffle(0, 0)).train
    begun = make_learner(learner)
    begun.begin(stream.columns, len(dataset.classes or ()), (0, 0))
    chunks = [stream.chunk(i) for i in range(len(stream))]
    scores = [begun.learn(chunk.X, chunk.y) for chunk in chunks]
    return np.concatenate(scores), np.concatenate([chunk.y for chunk in chunks])


def main(names: list[str]) -> int:
    failed = False
    print(
        f"{'':13}{'ece':>8}{'log loss':>10}{'/ sigmoid':>11}{'/ isotonic':>12}{'us a row':>10}"
        f"{'test ece':>10}{'f1':>8}{'by threshold':>14}"
    )
    for name in names or SETS:
        files = [DATA / file for file in SETS[name]]
        if absent := [file for file in files if not file.exists()]:
            print(f"{name}: left out, since {absent[0]} is not there")
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = ingest(str(files[0]), f"{folder}/{name}", test=str(files[1])).path
            transforms = TRANSFORMS.get(name, ("bias",))
            for learner in LEARNERS:
                asked = {"measures": ["log_loss", "ece"], "burn_in": BEFORE}
                metrics = measured(path, learner, transforms, **asked)
                scores, y = scores_of(path, learner, transforms)
                classes = max(2, scores.shape[1])
                ratios = []
                for method in ("sigmoid", "isotonic"):
                    batch = CalibratedClassifierCV(
                        FrozenEstimator(Scores(classes)), method=method
                    )
                    p = batch.fit(scores, y).predict_proba(scores)[BEFORE:]
                    of_batch = log_loss(y[BEFORE:], p, labels=range(classes))
                    ratios.append(metrics["log_loss"] / of_batch)
                begin = perf_counter()
                Calibrator(classes).follow(scores, y)
                spent = 1e6 * (perf_counter() - begin) / len(y)
                of_two = ""
                if classes == 2:
                    for options in ({}, {"threshold": "f1"}):
                        found = measured(
                            path, learner, transforms, measures=["f1"], **options
                        )
                        of_two += f"{found['f1']:{14 if options else 8}.4f}"
                print(
                    f"{name:7}{learner:6}{metrics['ece']:8.4f}{metrics['log_loss']:10.4f}"
                    f"{ratios[0]:11.3f}{ratios[1]:12.3f}{spent:10.2f}"
                    f"{metrics['test_ece']:10.4f}{of_two}",
                    flush=True,
                )
                failed |= metrics["ece"] > MOST_ERROR or ratios[0] > MOST_RATIO
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
