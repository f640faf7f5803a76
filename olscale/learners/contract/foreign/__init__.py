"""Learners from elsewhere: scikit-learn and River estimators, and those of users, beside ours under the same protocol."""

from olscale.learners.contract.foreign.learner import ForeignLearner

__all__ = ["ForeignLearner"]
