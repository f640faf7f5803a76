"""Conformance checks for learners, shipped so that a learner of your own can be held to the same contract.

>>> from olscale.learners.passive_aggressive import PA1
>>> for name, check in learner_checks(PA1):
...     check()
"""

from olscale.testing.learners import learner_checks

__all__ = ["learner_checks"]
