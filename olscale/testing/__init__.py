"""Conformance checks, shipped so that your own extensions can be held to olscale's contracts.

Each function returns a list of names and callables; a callable raises `AssertionError` where its
part of the contract does not hold. `learner_checks` is for subclasses of
`olscale.learners.Learner`, `foreign_checks` for estimators of other packages; `format_checks`,
`layout_checks`, `metric_checks`, `storage_checks` and `transform_checks` are for what their names
say.

>>> from olscale.learners.linear.passive_aggressive import PA1
>>> for name, check in learner_checks(PA1):
...     check()
"""

from olscale.testing.foreign import foreign_checks
from olscale.testing.formats import format_checks
from olscale.testing.layouts import layout_checks
from olscale.testing.learners import learner_checks
from olscale.testing.metrics import metric_checks
from olscale.testing.storage import storage_checks
from olscale.testing.transforms import transform_checks

__all__ = [
    "foreign_checks",
    "format_checks",
    "layout_checks",
    "learner_checks",
    "metric_checks",
    "storage_checks",
    "transform_checks",
]
