"""Names: libraries that address features by name get the names and labels of the dataset."""

from abc import abstractmethod
from collections.abc import Sequence

from olscale.data.feature_names import FeatureNames
from olscale.learners.contract.capability import Capability

Label = int | float | str


class TakesNames(Capability):
    """A learner whose model may ask for features by name."""

    @abstractmethod
    def expect_names(self, features: FeatureNames, labels: Sequence[Label]) -> None:
        """Name the features from the next `begin` on; `labels` belong to the codes 0, 1, ..."""


def expect_names(learner: object, features: FeatureNames, labels: Sequence[Label]) -> None:
    """Give `learner` the names of features and classes, if it asks for them."""
    if isinstance(learner, TakesNames):
        learner.expect_names(features, labels)
