"""Estimators as users write them, good and bad; named by tests as ``tests.learners.own_estimators:Name``."""

from __future__ import annotations

import abc
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler


class Scored(ClassifierMixin, BaseEstimator):
    """Softmax regression: no parameter constraints, weights in coef_, decision_function."""

    breaks_after = 10**9

    def __init__(self, eta: float = 0.5) -> None:
        self.eta = eta

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if not hasattr(self, "coef_"):
            self.classes_ = np.asarray(classes)
            self.rows_ = 0
            self.coef_ = np.zeros((len(classes), X.shape[1]))
        for x, label in zip(X, y, strict=True):
            s = self.coef_ @ x
            p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
            p[label] -= 1.0
            self.coef_ -= self.eta * np.outer(p, x)
            self.rows_ += 1
            if self.rows_ > self.breaks_after:
                self.coef_ *= np.nan
        return self

    def decision_function(self, X: Any) -> Any:
        return X @ self.coef_.T

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(X @ self.coef_.T, axis=1)]


class Silent(ClassifierMixin, BaseEstimator):
    """A perceptron with neither scores nor constraints, its weights under a name of its own."""

    breaks_after = 10**9

    def __init__(self) -> None:
        pass

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if not hasattr(self, "w"):
            self.w = np.zeros((len(classes), X.shape[1]))
            self.rows = 0
            self.recent = [np.nan]
            self.best_loss = np.inf
            self.buffer_ = np.full(1000, np.nan)
        for x, label in zip(X, y, strict=True):
            guess = int(np.argmax(self.w @ x))
            self.buffer_[self.rows % 1000] = label
            self.rows += 1
            if guess != label:
                self.w[label] += x
                self.w[guess] -= x
            if self.rows > self.breaks_after:
                self.w *= np.inf
        return self

    def predict(self, X: Any) -> Any:
        return np.argmax(X @ self.w.T, axis=1)


class ScoredBreaks(Scored):
    breaks_after = 100


class SilentBreaks(Silent):
    breaks_after = 100


class WrapperBreaks(ClassifierMixin, BaseEstimator):
    """Keeps what breaks down in a list."""

    def __init__(self) -> None:
        pass

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if not hasattr(self, "inner_"):
            self.inner_ = [ScoredBreaks()]
        self.inner_[0].partial_fit(X, y, classes)
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_[0].predict(X)


class RiverLike:
    """learn_one and predict_one, and nothing else."""

    def __init__(self) -> None:
        self.weights: dict[int, float] = {}

    def learn_one(self, x: dict[int, float], y: int) -> None:
        for i, value in x.items():
            self.weights[i] = self.weights.get(i, 0.0) + (2 * y - 1) * value

    def predict_one(self, x: dict[int, float]) -> bool | None:
        return (
            sum(self.weights.get(i, 0.0) * value for i, value in x.items()) > 0
            if self.weights
            else None
        )


class RiverLikeBreaks(RiverLike):
    def learn_one(self, x: dict[int, float], y: int) -> None:
        super().learn_one(x, y)
        self.rows = getattr(self, "rows", 0) + 1
        if self.rows > 100:
            self.weights = dict.fromkeys(self.weights, float("nan"))

    def predict_proba_one(self, x: dict[int, float]) -> dict[bool, float]:
        p = 1.0 / (
            1.0
            + np.exp(-sum(self.weights.get(i, 0.0) * value for i, value in x.items()))
        )
        return {False: 1.0 - p, True: p}


class Around(ClassifierMixin, BaseEstimator):
    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if not hasattr(self, "estimator_"):
            self.estimator_ = clone(self.estimator)
        self.estimator_.partial_fit(X, y, classes=classes)
        return self

    def predict(self, X: Any) -> Any:
        return self.estimator_.predict(X)


def around(alpha: float = 1e-4) -> Any:
    return Around(SGDClassifier(alpha=alpha))


class ScaledSteps(Pipeline):
    def __init__(self) -> None:
        super().__init__(
            [("scale", StandardScaler()), ("learn", SGDClassifier(random_state=0))]
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        for _, step in self.steps[:-1]:
            X = step.partial_fit(X).transform(X)
        self.steps[-1][1].partial_fit(X, y, classes=classes)
        return self


class Keywords(Scored):
    def __init__(self, **given: Any) -> None:
        self.given = given
        self.eta = given.get("eta", 0.1)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self.given


class Needs(Scored):
    def __init__(self, eta: float, beta: float) -> None:
        self.eta = eta
        self.beta = beta


class WithoutClasses(Silent):
    """partial_fit takes no classes."""

    def partial_fit(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        return super().partial_fit(X, y, range(2))


class Plain:
    """Nothing of scikit-learn: predicts a list."""

    def partial_fit(self, X: Any, y: Any, classes: Any) -> None:
        self.last = y[0]

    def predict(self, X: Any) -> list[int]:
        return [self.last] * len(X)


class HoldsLambda(Silent):
    """Cannot be pickled."""

    def __init__(self) -> None:
        self.rate = lambda t: 1.0 / t


class InName(Silent):
    """Has predict_proba in name only."""

    def predict_proba(self, X: Any) -> Any:
        raise NotImplementedError


class LikelyInAnotherOrder(Scored):
    """Its probabilities have the last class first, and ``classes_`` does not say so."""

    def predict_proba(self, X: Any) -> Any:
        p = np.exp(
            self.decision_function(X)
            - self.decision_function(X).max(axis=1, keepdims=True)
        )
        return (p / p.sum(axis=1, keepdims=True))[:, ::-1]


class Outer:
    class Inner(Scored):
        pass


class Abstract(Scored, abc.ABC):
    @abc.abstractmethod
    def step(self) -> float: ...


class OnlyFit(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        return self


class Raises(Scored):
    def __init__(self) -> None:
        raise KeyError("no such thing")


class SaysText(Scored):
    def predict(self, X: Any) -> Any:
        return super().predict(X).astype(str)


class SaysScores(Scored):
    def predict(self, X: Any) -> Any:
        return self.decision_function(X)


class SaysNaN(Silent):
    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan)


class SaysMore(Silent):
    def predict(self, X: Any) -> Any:
        return np.full(len(X), 7)


class Shares(Silent):
    """Its weights stand in the class."""

    w: ClassVar[Any] = None

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if Shares.w is None:
            Shares.w = np.zeros((4, X.shape[1]))
        for x, label in zip(X, y, strict=True):
            Shares.w[label] += x
        return self

    def predict(self, X: Any) -> Any:
        return np.argmax(X @ Shares.w.T, axis=1)


class Chance(Silent):
    def predict(self, X: Any) -> Any:
        return np.random.default_rng().integers(0, 2, len(X))


class Writes(Scored):
    def predict(self, X: Any) -> Any:
        if X.flags.writeable:
            X -= 1.0
        return super().predict(X)


class LearnsWhenAsked(Scored):
    def predict(self, X: Any) -> Any:
        self.coef_ = -0.9 * self.coef_
        return super().predict(X)


class DislikesZeros(Scored):
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        return super().partial_fit(
            X / np.sqrt((X**2).sum(axis=1, keepdims=True)), y, classes
        )


class NeedsAllClassesFirst(Scored):
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        self.told = getattr(self, "told", set()) | set(y.tolist())
        self.count = getattr(self, "count", 0) + 1
        if self.count > 60 and len(self.told) < 2:
            raise ValueError("one class only")
        return super().partial_fit(X, y, classes)


class CannotBeCloned(Scored):
    def __init__(self, eta: float = 0.5) -> None:
        self.eta = [eta]


class KnowsItsProcess(Silent):
    def predict(self, X: Any) -> Any:
        import sys

        return np.zeros(len(X), int) if "pytest" in sys.modules else super().predict(X)


pipeline = make_pipeline(StandardScaler(), SGDClassifier())
model = SGDClassifier(alpha=1e-3)
bound = partial(SGDClassifier, alpha=1e-2)
STEP = 1.0


def river_pipeline() -> Any:
    from river import linear_model, preprocessing

    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def river_regression() -> Any:
    from river.linear_model import LinearRegression
    from river.preprocessing import StandardScaler as Scaler

    return Scaler() | LinearRegression()


def river_filter() -> Any:
    from river.anomaly import HalfSpaceTrees, QuantileFilter

    return QuantileFilter(HalfSpaceTrees(seed=0), q=0.95)


class OverflowsAtFifty(RegressorMixin, BaseEstimator):
    """A mean that is infinite after fifty rows."""

    def partial_fit(self, X: Any, y: Any) -> Any:
        self.rows_ = getattr(self, "rows_", 0) + 1
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.inf if self.rows_ >= 50 else 0.0)


class SaysMuch(OverflowsAtFifty):
    """Its predictions are words."""

    def predict(self, X: Any) -> Any:
        return np.array(["much"] * len(X))


def one_sgd_a_target() -> Any:
    """Return scikit-learn's way to several targets, which says that it takes them."""
    from sklearn.linear_model import SGDRegressor
    from sklearn.multioutput import MultiOutputRegressor

    return MultiOutputRegressor(SGDRegressor(random_state=0))
