"""What linear learners of the log loss share: residuals, and settings in one pass."""

from typing import Any

from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.compiled.decorator import nested
from olscale.learners.contract.class_axes import ShardsClasses
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Choice, param
from olscale.learners.contract.score_probabilities import (
    LogProbabilityScores,
    logistic_function,
    set_softmax,
)
from olscale.learners.contract.weighted import WeightedClassifier
from olscale.learners.linear.first_order import FusedLinear


@nested
def set_residuals(
    f: FloatArray, first: int, outputs: int, label: int, softmax: bool, r: FloatArray
) -> None:
    """Set `r` to 1 for the class `label`, 0 for others, less the probabilities by `f`.

    It is the derivative of the log loss, with its sign changed. `outputs` columns from `first` on
    are read and set.
    """
    if softmax:
        set_softmax(f, first, first + outputs, r)
        for c in range(first, first + outputs):
            r[c] = -r[c]
        r[first + label] += 1.0
        return
    for k in range(outputs):
        c = first + k
        if outputs > 1:
            own_class = k
        else:
            own_class = 1
        if label == own_class:
            target = 1.0
        else:
            target = -1.0
        # 1 - p would be lost in rounding where p is close to 1.
        r[c] = target * logistic_function(-target * f[c])


class LogLossLearner(
    WeightedClassifier, LogProbabilityScores, ShardsClasses, EstimatesCost
):
    """Base of the linear learners of the log loss, which have probabilities of their own."""

    layout_exact = True
    takes_unknown = True
    checks_rows = True

    multiclass: str = param(
        "softmax",
        Choice(("softmax", "ova")),
        "Probabilities by the softmax of all scores, or one binary learner a class.",
    )

    def is_softmax(self, outputs: int) -> bool:
        """Return whether so many score columns belong together."""
        return outputs > 1 and self.multiclass == "softmax"


class FusedLogLoss(FusedLinear):
    """Settings of a learner of the log loss in one pass, with probabilities where shown."""

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> list[FloatArray]:
        parts = super().learn(X, y, weights)
        pairs = zip(self._learners, parts, strict=True)
        return [learner.with_probabilities(scores) for learner, scores in pairs]
