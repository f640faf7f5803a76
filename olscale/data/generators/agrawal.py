"""Agrawal's loans: nine features of a person, and ten rules for who gets a loan.

The features are salary, commission (0 from a salary of 75,000 on), age, level of education, make of
car, zip code, value of the house, years it has been owned, and loan. Level, car and zip code are
numbers of values, or with ``one_hot`` a column of 0 and 1 for each value. Class 0 is group A of the
paper. After the class is known, numeric features move by up to ``perturbation`` of their ranges.

The rows are those of MOA's ``AgrawalGenerator -f FUNCTION -p PERTURBATION -i SEED``, bit for bit.
As there, the perturbed value of a house is at most 135,000, which most exceed before.

References
----------
R. Agrawal, T. Imielinski, A. Swami, "Database mining: a performance perspective", IEEE Transactions
on Knowledge and Data Engineering 5(6), 1993, section IV.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import java_random, next_double, next_int
from olscale.data.generators.agrawal_rules import is_group_a
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.numbered_columns import NumberedColumns
from olscale.data.generators.option_values import flag, real, whole

__all__ = ["ROWS", "SEGMENTS", "Agrawal", "batches"]

SEGMENTS = False

_NAMES = (
    "salary",
    "commission",
    "age",
    "elevel",
    "car",
    "zipcode",
    "hvalue",
    "hyears",
    "loan",
)
_VALUES = {
    "elevel": tuple(f"level{number}" for number in range(5)),
    "car": tuple(f"car{number}" for number in range(1, 21)),
    "zipcode": tuple(f"zipcode{number}" for number in range(1, 10)),
}


@compiled
def _moved(
    random: Any,
    value: float,
    span: float,
    low: float,
    high: float,
    perturbation: float,
) -> float:
    value += span * (2.0 * (next_double(random) - 0.5)) * perturbation
    return min(max(value, low), high)


@compiled
def _draw_person(random: Any, x: Any) -> None:
    x[0] = 20000.0 + 130000.0 * next_double(random)
    x[1] = 0.0
    if x[0] < 75000.0:
        x[1] = 10000.0 + 65000.0 * next_double(random)
    x[2] = 20 + next_int(random, 61)
    x[3] = next_int(random, 5)
    x[4] = next_int(random, 20)
    x[5] = next_int(random, 9)
    x[6] = (9.0 - x[5]) * 100000.0 * (0.5 + next_double(random))
    x[7] = 1 + next_int(random, 30)
    x[8] = next_double(random) * 500000.0


@compiled
def _perturb(random: Any, x: Any, perturbation: float) -> None:
    x[0] = _moved(random, x[0], 130000.0, 20000.0, 150000.0, perturbation)
    if x[1] > 0.0:
        x[1] = _moved(random, x[1], 65000.0, 10000.0, 75000.0, perturbation)
    x[2] = np.floor(_moved(random, x[2], 60.0, 20.0, 80.0, perturbation) + 0.5)
    x[6] = _moved(random, x[6], (9.0 - x[5]) * 100000.0, 0.0, 135000.0, perturbation)
    x[7] = np.floor(_moved(random, x[7], 29.0, 1.0, 30.0, perturbation) + 0.5)
    x[8] = _moved(random, x[8], 500000.0, 0.0, 500000.0, perturbation)


@compiled
def _draw(
    random: Any,
    function: int,
    perturbation: float,
    balance: bool,
    next_label: Any,
    X: Any,
    y: Any,
) -> None:
    for i in range(X.shape[0]):
        label = -1
        while label < 0:
            _draw_person(random, X[i])
            label = 0 if is_group_a(function, X[i]) else 1
            if balance and label != next_label[0]:
                label = -1
        next_label[0] = 1 - label
        if perturbation > 0.0:
            _perturb(random, X[i], perturbation)
        y[i] = label


class Agrawal(ConceptStream):
    """Agrawal's loans.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random``.
    function : {1, 2, ..., 10}
        Which rule.
    perturbation : float, default 0.05
        Largest move of a numeric feature, as a share of its range.
    balance : bool, default False
        Whether classes alternate, from class 1 on.
    one_hot : bool, default False
        Whether each level, car and zip code is a column of its own.
    """

    def __init__(
        self,
        seed: int,
        function: int = 1,
        perturbation: float = 0.05,
        balance: bool = False,
        one_hot: bool = False,
    ) -> None:
        self._function = whole("function", function, 1, 10)
        self._perturbation = real("perturbation", perturbation, 0.0, 1.0)
        self._balance = flag("balance", balance)
        self._columns = NumberedColumns(_NAMES, _VALUES, flag("one_hot", one_hot))
        self.feature_names = self._columns.names
        self._random = java_random(seed)
        self._wanted = np.ones(1, dtype=np.int64)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, len(_NAMES)))
        y = np.empty(count)
        _draw(
            self._random,
            self._function,
            self._perturbation,
            self._balance,
            self._wanted,
            X,
            y,
        )
        return self._columns.apply(X), y


batches = batches_of(Agrawal)
