"""Models that share what they learn, have learned before, or draw from the clock; named by tests."""

from __future__ import annotations

import random
from typing import Any, ClassVar

import numpy as np
from river import ensemble, linear_model, neighbors, preprocessing
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import SGDClassifier

from tests.learners.own_estimators import Scored

Row = dict[Any, float]


class Weights:
    """A perceptron by names, without get_params; its weights are given, or stand in a default."""

    def __init__(self, weights: Row = {}) -> None:  # noqa: B006, the fault that is tested
        self.weights = weights

    def learn_one(self, x: Row, y: Any) -> None:
        for name, value in x.items():
            self.weights[name] = self.weights.get(name, 0.0) + (value if y else -value)

    def predict_one(self, x: Row) -> bool:
        return (
            sum(self.weights.get(name, 0.0) * value for name, value in x.items()) > 0.0
        )


class Hidden(Weights):
    """The same, but nobody can say what it was made with."""

    def __init__(self, source: Row) -> None:
        self.weights = source


class Default(Weights):
    """Its weights stand in a default, under another name."""

    def __init__(self, source: Row = {}) -> None:  # noqa: B006, the fault that is tested
        self.weights = source


class InClass(Weights):
    weights: ClassVar[Row] = {}  # type: ignore[misc]

    def __init__(self) -> None:
        pass


KNOWN: Row = {}


class InModule(Weights):
    """Its weights stand in the module; it does not hold them."""

    def __init__(self) -> None:
        pass

    def learn_one(self, x: Row, y: Any) -> None:
        Weights(KNOWN).learn_one(x, y)

    def predict_one(self, x: Row) -> bool:
        return Weights(KNOWN).predict_one(x)


class Remembers(Weights):
    """Has a cache in its class, which changes nothing."""

    squares: ClassVar[dict[float, float]] = {}
    made: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__({})
        Remembers.made += 1

    def learn_one(self, x: Row, y: Any) -> None:
        self.squares.update({value: value**2 for value in x.values()})
        super().learn_one(x, y)


def _scaled() -> Any:
    return preprocessing.StandardScaler() | linear_model.Perceptron()


_ONE_OF_RIVER = _scaled()
_ONE_OF_SCIKIT_LEARN = SGDClassifier(random_state=0)
_ONE_HIDDEN = Hidden({})
hidden = Hidden({})
kept = Weights({})
experienced = Weights({})
experienced.learn_one({0: 1.0}, True)


def new_of_river() -> Any:
    return _scaled()


def one_of_river() -> Any:
    return _ONE_OF_RIVER


def new_of_scikit_learn() -> Any:
    return SGDClassifier(random_state=0)


def one_of_scikit_learn() -> Any:
    return _ONE_OF_SCIKIT_LEARN


def one_hidden() -> Any:
    return _ONE_HIDDEN


def new_hidden() -> Any:
    return Hidden({})


def taught_of_river() -> Any:
    model = _scaled()
    model.learn_one({0: 1.0}, True)
    return model


def taught_hidden() -> Any:
    model = Hidden({})
    model.learn_one({0: 1.0}, True)
    return model


trained = SGDClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])


def trained_of_scikit_learn() -> Any:
    return trained


class Draws:
    """Predicts by its random numbers."""

    def learn_one(self, x: Row, y: Any) -> None:
        pass

    def predict_one(self, x: Row) -> bool:
        return bool(self.draw() < 0.5)

    def draw(self) -> float:
        return self.numbers.random()  # type: ignore[attr-defined, no-any-return]


class OfNumpy(Draws):
    def __init__(self) -> None:
        self.numbers = np.random.default_rng()


class OfPython(Draws):
    def __init__(self) -> None:
        self.numbers = {"inner": [random.Random()]}

    def draw(self) -> float:
        return self.numbers["inner"][0].random()


class OfClass(Draws):
    numbers = np.random.default_rng()


class OfProcess(Draws):
    def draw(self) -> float:
        return np.random.random() + random.random() - 0.5


class OfClock(Draws):
    def draw(self) -> float:
        return random.Random().random()


class SeededLater(ClassifierMixin, BaseEstimator):
    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        if not hasattr(self, "numbers_"):
            self.numbers_ = np.random.default_rng(self.random_state)
        return self

    def predict(self, X: Any) -> Any:
        return self.numbers_.integers(0, 2, len(X))


def seeded_later() -> Any:
    return SeededLater()


def bagged() -> Any:
    return ensemble.BaggingClassifier(_scaled(), n_models=3)


def graph() -> Any:
    engine = neighbors.SWINN(graph_k=3, warm_up=20)
    return preprocessing.StandardScaler() | neighbors.KNNClassifier(
        n_neighbors=3, engine=engine
    )


class Backwards(Scored):
    """Its scores have the first class where the second belongs."""

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(X)[:, ::-1]
