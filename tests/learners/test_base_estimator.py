"""Learners are estimators of scikit-learn to whatever asks, and cost no import of it before."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import (
    BaseEstimator,
    clone,
    is_classifier,
    is_outlier_detector,
    is_regressor,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from olscale.learners.registry import learner_class, learner_names, make_learner

X, Y = load_iris(return_X_y=True)
KINDS = {
    "classification": is_classifier,
    "regression": is_regressor,
    "novelty": is_outlier_detector,
}

BEFORE_AND_AFTER = """
import pickle
import sys
import olscale
from olscale.learners import PA1

class Own(PA1):
    def score(self, X, y, own_weight=None):
        return 0.0

learners = [olscale.make_learner(name) for name in ("pa1", "rls", "norma-n")]
assert "sklearn" not in sys.modules
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
for learner, mixin in zip(learners, (ClassifierMixin, RegressorMixin, OutlierMixin)):
    assert isinstance(learner, BaseEstimator)
    assert isinstance(learner, mixin)
    assert isinstance(pickle.loads(pickle.dumps(learner)), mixin)
assert not [one for one in sys.meta_path if "scikit_learn" in type(one).__module__]
sklearn.set_config(enable_metadata_routing=True)
assert "own_weight" in str(Own().get_metadata_routing())
Own().set_score_request(own_weight=True)
from olscale.learners import LOL
assert issubclass(LOL, BaseEstimator)
print("estimators")
"""


@pytest.fixture(params=[False, True], ids=["routing off", "routing on"])
def routing(request: pytest.FixtureRequest) -> Iterator[bool]:
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


def test_a_learner_becomes_an_estimator_when_scikit_learn_is_imported() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", BEFORE_AND_AFTER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("estimators\n", 0), done.stderr


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_is_of_its_kind_and_copied_as_such(name: str) -> None:
    learner: Any = make_learner(name)
    assert isinstance(learner, BaseEstimator)
    for one in (learner, clone(learner), pickle.loads(pickle.dumps(learner))):
        assert [task for task, is_kind in KINDS.items() if is_kind(one)] == [
            learner.task
        ]
        assert one.get_params() == learner.get_params()
    assert repr(learner).splitlines()[0] in learner._repr_mimebundle_()["text/plain"]
    assert type(learner).__name__ in learner._repr_html_()


def test_pipelines_are_scored(routing: bool) -> None:
    pipeline = make_pipeline(StandardScaler(), make_learner("pa1"))
    assert np.mean(cross_val_score(pipeline, X, Y)) > 0.6
    search = GridSearchCV(pipeline, {"pa1__C": [0.1, 1.0]}).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    diabetes, progress = load_diabetes(return_X_y=True)
    assert np.isfinite(cross_val_score(make_learner("ridge"), diabetes, progress)).all()
    assert set(
        make_pipeline(StandardScaler(), make_learner("norma-n")).fit(X).predict(X)
    ) <= {
        1,
        -1,
    }


def test_ensembles_take_learners(routing: bool) -> None:
    names = ("pa1", "arow")
    learners = [(name, make_learner(name)) for name in names]
    calibrated = CalibratedClassifierCV(make_learner("pa1")).fit(X, Y)
    assert calibrated.predict_proba(X).shape == (len(X), 3)
    for ensemble in (VotingClassifier(learners), StackingClassifier(learners)):
        assert ensemble.fit(X, Y).score(X, Y) > 0.6


def test_what_a_learner_asks_to_be_routed_reaches_it() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        learner: Any = make_learner("pa1")
        learner.set_score_request(sample_weight=True)
        pipeline = make_pipeline(learner).fit(X, Y)
        weights = (pipeline.predict(X) == Y).astype(float)
        assert pipeline.score(X, Y, sample_weight=weights) == 1.0


def test_river_converts_learners() -> None:
    compat = pytest.importorskip("river.compat")
    model = compat.convert_sklearn_to_river(make_learner("pa1"), classes=[0, 1, 2])
    for row, label in zip(X[::10].tolist(), Y[::10].tolist(), strict=True):
        features = dict(enumerate(row))
        assert model.predict_one(features) in (0, 1, 2)
        model.learn_one(features, label)
    target = compat.convert_sklearn_to_river(make_learner("rls"))
    target.learn_one({0: 1.0}, 2.0)
    assert target.predict_one({0: 1.0}) == pytest.approx(1.0)


def test_a_learner_shown_as_html_shows_what_it_has_fitted() -> None:
    for name in ("pa1", "rls", "fogd"):
        learner: Any = learner_class(name)()
        learner.fit(X, Y)
        assert "n_features_in_" in learner._repr_html_()
    assert (
        "coef_"
        in make_learner("rls").fit(X, Y).set_params(form="diagonal")._repr_html_()
    )  # type: ignore[attr-defined]


def test_unfitted_parameters_may_be_set_and_set_back() -> None:
    """A search sets parameters on clones; what was set after fit may also be set back."""
    learner: Any = make_learner("fogd", {"D": 20})
    learner.set_params(D=30).fit(X, Y)
    expected = learner.predict(X)
    learner.set_params(D=20)
    with pytest.raises(
        ValueError, match="parameter D was 30 and is 20: changed after fit; call fit"
    ):
        learner.decision_function(X)
    np.testing.assert_array_equal(learner.set_params(D=30).predict(X), expected)


def test_a_parameter_of_updates_out_of_its_domain_is_refused() -> None:
    learner: Any = make_learner("pa1").fit(X, Y)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="C was -1"):
        learner.set_params(C=-1).partial_fit(X, Y)


@pytest.mark.parametrize("name", ["pa1", "rls", "norma-n"])
def test_a_fit_that_is_refused_leaves_no_model_for_other_rows(name: str) -> None:
    """The number of features is that of the new rows then, and no array is as long."""
    learner: Any = make_learner(name)
    learner.fit(X, Y)
    parameter = {"pa1": "C", "rls": "lam", "norma-n": "eta"}[name]
    wide = np.tile(X, 100)
    with pytest.raises(ValueError, match=f"{parameter} was -1"):
        learner.set_params(**{parameter: -1}).fit(wide, Y)
    learner.set_params(**{parameter: 0.5})
    with pytest.raises(NotFittedError):
        learner.predict(wide)
    assert len(learner.partial_fit(wide, Y).predict(wide)) == len(wide)


def test_models_that_joblib_maps_are_scored_in_parallel() -> None:
    """Processes of joblib get large arrays read-only; here all are large."""
    rows = np.tile(X, (10, 1))
    learner: Any = make_learner("fogd", {"D": 50}).fit(X, Y)  # type: ignore[attr-defined]
    work = joblib.Parallel(n_jobs=2, max_nbytes=1_000, backend="multiprocessing")
    scores = work(joblib.delayed(learner.decision_function)(rows) for _ in range(2))
    for one in scores:
        np.testing.assert_array_equal(one, learner.decision_function(rows))
