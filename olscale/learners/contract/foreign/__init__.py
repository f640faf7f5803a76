"""External learners: scikit-learn, River and user estimators under the same protocol."""

from olscale.learners.contract.foreign.learner import ForeignLearner

__all__ = ["ForeignLearner"]
