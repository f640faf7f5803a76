"""Conformance checks, shipped so that a learner or storage of your own can be held to the same contract.

`learner_checks` is for subclasses of `olscale.learners.Learner`, `foreign_checks` for estimators of other makes,
`storage_checks` for storages.

>>> from olscale.learners.passive_aggressive import PA1
>>> for name, check in learner_checks(PA1):
...     check()
"""

from olscale.testing.foreign import foreign_checks
from olscale.testing.learners import learner_checks
from olscale.testing.storage import storage_checks

__all__ = ["foreign_checks", "learner_checks", "storage_checks"]
