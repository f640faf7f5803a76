"""Capabilities: what a learner can do beyond the contract; each is optional.

| capability | module | a learner that declares it |
|---|---|---|
| `LooksAhead` | `capability` | sees rows of the stream before the stream begins |
| `LearnsTargets` | `capability` | learns several targets of a row in one pass |
| `TakesNames` | `capability` | addresses features by name |
| `LearnsBatches` | `capability` | predicts, then learns, a batch of rows in one piece |
| `GivesProbabilities` | `capability` | says how likely each class is |
| `ShowsMargins` | `capability` | has scores to calibrate, separate from its predictions |
| `RanksRows` | `capability` | has scores to rank rows by, separate from its predictions |
| `ShiftFree` | `capability` | predicts the same where all rows are shifted alike |
| `ExplainsNoScore` | `capability` | knows why a row has no score |
| `CompilesLoops` | `compilation` | has its compiled loops ready before a clock starts |
| `EstimatesCost` | `cost` | estimates the cost of a row and of the state before a run |
| `ShardsClasses` | `class_axes` | learns some of the classes apart from the others |
| `FusesSettings` | `fused_settings` | shares one pass over the rows among several of its settings |
| `MergesSums` | `merged_sums` | has a final model of sums that workers add up separately |

A learner declares a capability by inheriting from its class, as in
``class Mine(Classifier, LooksAhead)``. Code that uses a capability asks
``isinstance(learner, LooksAhead)``, or calls the function next to the class, which answers for all
learners.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.data.feature_names import FeatureNames


class Capability(metaclass=ABCMeta):  # noqa: B024, its subclasses have abstract methods
    """Base of the capabilities.

    A class with an abstract method of a capability declares the capability without inheriting.
    """

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        # A user's class needs no import of ours: having the methods is enough.
        methods = cls.__abstractmethods__ if Capability in cls.__bases__ else ()
        return (
            True
            if any(hasattr(other, method) for method in methods)
            else NotImplemented
        )


class LooksAhead(Capability):
    """A learner that sees rows without labels between `begin` and the first `learn`."""

    @property
    @abstractmethod
    def looks_ahead(self) -> bool:
        """Whether it looks ahead with its parameters."""

    @abstractmethod
    def prepare(self, X: Rows) -> None:
        """Look at all rows that will come, or at a uniform sample of them."""


def looks_ahead(learner: object) -> TypeGuard[LooksAhead]:
    """Return whether `learner` must `prepare` on rows of the stream before it learns.

    Examples
    --------
    >>> from olscale.learners import LOL
    >>> looks_ahead(LOL()), looks_ahead(LOL(prototypes="offline"))
    (False, True)
    """
    return isinstance(learner, LooksAhead) and bool(learner.looks_ahead)


class LearnsTargets(Capability):
    """A regressor that learns several targets of a row in one pass, each as it would alone.

    Targets are then of shape (rows, targets), all known or all NaN, and so are the scores.
    """

    _targets: int = 1

    def takes_several(self) -> bool:
        """Return whether the parameters allow several targets."""
        return True

    def expect_targets(self, targets: int) -> None:
        """Expect `targets` targets per row from the next `begin` on.

        Raise `ParameterError` where the parameters allow only one.
        """
        self._targets = targets


def learns_targets(learner: object) -> bool:
    """Return whether `learner` learns several targets in one pass."""
    return isinstance(learner, LearnsTargets)


def takes_several(learner: object) -> bool:
    """Return whether `learner`, with its parameters, learns several targets in one pass."""
    return isinstance(learner, LearnsTargets) and learner.takes_several()


def expect_targets(learner: object, targets: int) -> None:
    """Let `learner` expect `targets` targets per row.

    Raises
    ------
    TypeError
        If the learner learns one target.
    """
    # A learner of one target needs not be told of one.
    if isinstance(learner, LearnsTargets):
        learner.expect_targets(targets)
    elif targets > 1:
        raise TypeError(f"{type(learner).__name__} learns one target, got {targets}")


def targets_of(learner: object) -> int:
    """Return how many targets per row `learner` expects."""
    if isinstance(learner, LearnsTargets):
        return learner._targets
    return 1


Label = int | float | str


class TakesNames(Capability):
    """A learner whose model may ask for features by name."""

    @abstractmethod
    def expect_names(self, features: FeatureNames, labels: Sequence[Label]) -> None:
        """Name the features from the next `begin` on; `labels` belong to the codes 0, 1, ..."""


def expect_names(
    learner: object, features: FeatureNames, labels: Sequence[Label]
) -> None:
    """Give `learner` the names of features and classes, if it asks for them."""
    if isinstance(learner, TakesNames):
        learner.expect_names(features, labels)


class LearnsBatches(Capability):
    """A learner whose model takes many rows in one call, for protocols with batches.

    Others learn a batch row by row.

    Attributes
    ----------
    batch : int
        Rows of a batch in its run, for estimates of cost; 1 without batches.
    """

    batch: int = 1

    @abstractmethod
    def learn_batches(
        self,
        X: Rows,
        y: NDArray[Any],
        batch: int,
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Predict `batch` rows, then learn them, and so on; return the scores of `learn`."""


def expect_memory(learner: object, columns: int, classes: int) -> None:
    """Let a learner that `EstimatesCost` refuse a state that this machine cannot hold."""
    check_memory = getattr(learner, "check_memory", None)
    if check_memory is not None:
        check_memory(columns, classes)


def expect_batches(learner: object, batch: int | None) -> None:
    """Tell `learner` of the batches of its run, if it learns in batches."""
    if isinstance(learner, LearnsBatches):
        learner.batch = batch or 1


class ExplainsNoScore(Capability):
    """A learner whose scores are NaN for its own reason, which the run that ends there reports."""

    @abstractmethod
    def why_no_score(self, row: Rows) -> str:
        """Return why the only row of `row` has no score, or an empty text if that is unknown."""


class GivesProbabilities(Capability):
    """A learner whose model gives probabilities of classes; squeezed scores do not count."""

    @abstractmethod
    def show_probabilities(self) -> bool:
        """Let `learn` and `scores` append a probability of each class to the scores.

        It is called after `begin`, in runs that need probabilities. Return whether there are
        probabilities: if not, the scores stay unchanged.
        """


def show_probabilities(learner: object, classes: int) -> int:
    """Let a begun learner append its probabilities, if it has any; return their columns."""
    if isinstance(learner, GivesProbabilities) and learner.show_probabilities():
        return classes
    return 0


class RanksRows(Capability):
    """A learner that may have better scores to rank rows by than those it predicts with."""

    @abstractmethod
    def expect_ranking(self) -> None:
        """From the next `begin` on, return scores that rank rows of two classes, if there are any.

        They are one column of what `learn` and `scores` return, after the scores and before
        probabilities: higher for the second class.
        """

    @property
    @abstractmethod
    def ranking_columns(self) -> int:
        """Number of columns for that: 1, or 0 if there are none; known after `begin`."""

    @property
    @abstractmethod
    def ranks_by_class(self) -> bool:
        """Whether rows can be ranked by the predicted class alone."""


def expect_ranking(learner: object) -> None:
    """Tell `learner` that its scores will rank rows."""
    if isinstance(learner, RanksRows):
        learner.expect_ranking()


def ranking_columns(learner: object) -> int:
    """Return how many columns of `learner` only rank rows."""
    if isinstance(learner, RanksRows):
        return learner.ranking_columns
    return 0


def ranks_by_class(learner: object) -> bool:
    """Return whether `learner` only says which class, so that its ranking measures classes."""
    return isinstance(learner, RanksRows) and learner.ranks_by_class


class ShowsMargins(Capability):
    """A learner whose scores only say which class, and whose model has more telling ones."""

    @abstractmethod
    def show_margins(self) -> int:
        """Let `learn` and `scores` append the model's own scores, to be made probabilities.

        It is called after `begin`, where there are no probabilities. Return the number of columns:
        1 for two classes, higher for the second one, else one for each class; 0 if there are none.
        """


def show_margins(learner: object) -> int:
    """Let a begun learner append scores to calibrate, if it has any apart from its own."""
    if isinstance(learner, ShowsMargins):
        return learner.show_margins()
    return 0


def only_says_class(learner: object) -> bool:
    """Return whether a learner has neither probabilities nor scores to make them of."""
    return ranks_by_class(learner)


class ShiftFree(Capability):
    """A learner whose predictions do not change when all rows are shifted alike.

    A Gaussian kernel gives that. `olscale.testing` checks it by an offset of 1e8, of which products
    of rows leave only rounding.
    """

    @property
    @abstractmethod
    def shift_free(self) -> bool:
        """Whether that holds with its parameters."""


def shift_free(learner: object) -> bool:
    """Return whether a shift of all rows leaves the predictions of `learner` unchanged.

    Examples
    --------
    >>> from olscale.learners import NORMA, LOL
    >>> shift_free(NORMA()), shift_free(NORMA(kernel="linear")), shift_free(LOL())
    (True, False, False)
    """
    return isinstance(learner, ShiftFree) and bool(learner.shift_free)
