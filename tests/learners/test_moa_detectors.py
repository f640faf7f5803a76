"""Anomaly detectors of MOA and CapyMOA: the scores and the AUC of their own evaluation."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.errors import ParameterError
from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.learners.moa.java import start_java
from olscale.learners.registry import learner_class, make_learner
from olscale.testing import learner_checks

pytestmark = pytest.mark.skipif(
    find_spec("capymoa") is None or shutil.which("java") is None,
    reason="needs Java and capymoa",
)
ROWS = 1_500


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return rows around one point, and which of them are around another."""
    random = np.random.default_rng(0)
    anomalous = (random.random(ROWS) < 0.05).astype(np.int64)
    X = random.normal(size=(ROWS, 4)) + 2.5 * anomalous[:, np.newaxis]
    return np.round(X, 6), anomalous


def of_capymoa(
    X: np.ndarray, anomalous: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return scores and AUC of CapyMOA, whose detector sees the classes in `shown`."""
    start_java()
    from capymoa.anomaly import HalfSpaceTrees
    from capymoa.core import LabeledInstance
    from capymoa.evaluation import AnomalyDetectionEvaluator
    from capymoa.stream import NumpyStream

    schema = NumpyStream(X, anomalous).get_schema()
    detector = HalfSpaceTrees(schema, random_seed=7)
    evaluator = AnomalyDetectionEvaluator(schema)
    scores = np.empty(len(X))
    for i, x in enumerate(X):
        instance = LabeledInstance.from_array(schema, x, int(shown[i]))
        scores[i] = detector.score_instance(instance)
        evaluator.update(int(anomalous[i]), scores[i])
        detector.train(instance)
    return scores, float(evaluator.auc())


def test_scores_and_auc_are_those_of_capymoa_without_labels(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Path
):
    X, anomalous = rows
    scores, auc = of_capymoa(X, anomalous, np.zeros_like(anomalous))
    ours = make_learner("capymoa:HalfSpaceTrees", {"random_seed": 7})
    assert ours.task == "novelty"
    ours.begin(4, 2, (0, 0))
    spans = [slice(start, start + 700) for start in range(0, ROWS, 700)]
    zeros = np.zeros(ROWS, dtype=np.int64)
    answers = np.vstack([ours.learn(X[span], zeros[span]) for span in spans])
    assert np.array_equal(answers[:, 0], 0.5 - scores)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, anomalous]), "%.6f", ",")
    ingest([str(tmp_path / "rows.csv")], str(tmp_path / "rows"), label="4", novel=1)
    plan = parse_experiment(
        {
            "name": "detectors",
            "datasets": [{"path": str(tmp_path / "rows")}],
            "learners": [
                {"name": "capymoa:HalfSpaceTrees", "params": {"random_seed": 7}}
            ],
            "protocol": {"order": "time", "measures": ["auc"]},
        }
    )
    done = evaluate(plan, tmp_path / "store", in_process=True)
    [record] = done.store.read(["outcome", "metrics"]).to_pylist()
    assert record["outcome"] == "ok"
    assert dict(record["metrics"])["auc"] == pytest.approx(auc, abs=1e-9)


def test_moas_half_space_trees_look_at_the_class_if_it_is_shown(
    rows: tuple[np.ndarray, np.ndarray],
):
    """So the AUC of CapyMOA's own evaluation, which shows it, is another one."""
    X, anomalous = rows
    _, shown = of_capymoa(X, anomalous, anomalous)
    _, hidden = of_capymoa(X, anomalous, np.zeros_like(anomalous))
    assert (round(shown, 3), round(hidden, 3)) == (0.925, 0.914)


def test_a_negative_score_is_a_vote_for_an_anomaly(rows: tuple[np.ndarray, np.ndarray]):
    X, _ = rows
    zeros = np.zeros(ROWS)
    ours: Any = make_learner("capymoa:HalfSpaceTrees", {"random_seed": 7})
    ours.begin(4, 2, (0, 0))
    negative = ours.learn(X, zeros.astype(np.int64))[:, 0] < 0.0
    jpype = start_java()
    numeric = jpype.JArray.of(np.zeros(4, dtype=np.int32))
    header = jpype.JClass("RowLoop").header(numeric, 2)
    votes = jpype.JClass("RowLoop")(ours.make_model(header, 7), header, 4, 2)
    arrays = [jpype.JArray.of(values) for values in (X.reshape(-1), zeros)]
    answers = votes.run(arrays[0], None, None, arrays[1], None, ROWS)
    assert np.array_equal(np.array(answers).reshape(ROWS, 3)[:, 0] == 1.0, negative)
    assert 0 < negative.sum() < ROWS


def test_the_contract_of_learners_holds():
    for title, check in learner_checks(learner_class("moa:oneclass.HSTrees -p 50")):
        check()
        assert title


def test_a_detector_in_python_is_refused():
    ours: Any = None
    with pytest.raises(ParameterError, match="is written in Python"):
        ours = make_learner("capymoa:OnlineIsolationForest")
    assert ours is None
