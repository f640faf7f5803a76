"""Names: a library that addresses features by name is given those of the dataset, and its labels as they stand there."""

from abc import abstractmethod
from collections.abc import Sequence

from olscale.data.feature_names import FeatureNames
from olscale.learners.contract.capability import Capability

Label = int | float | str


class TakesNames(Capability):
    """A learner whose model may ask for features by name."""

    @abstractmethod
    def expect_names(self, features: FeatureNames, labels: Sequence[Label]) -> None:
        """From the next `begin` on, call the features so; `labels` are those of the class codes 0, 1, ..."""


def expect_names(learner: object, features: FeatureNames, labels: Sequence[Label]) -> None:
    """Tell `learner` what features and classes are called, if it asks for that."""
    if isinstance(learner, TakesNames):
        learner.expect_names(features, labels)
