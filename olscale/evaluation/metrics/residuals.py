"""How far predicted targets are from the true ones."""

from typing import ClassVar

import numpy as np

from olscale.evaluation.metrics.base import StreamShape
from olscale.evaluation.metrics.estimates import Estimates
from olscale.evaluation.metrics.residual_sums import ResidualSums
from olscale.task import Task


class Residuals(Estimates):
    """`mae`, `rmse`, `r2` and others of `ResidualSums`; every run has all forms of `rmse`.

    Examples
    --------
    >>> import numpy as np
    >>> metric = Residuals(StreamShape(rows=2, classes=0, task="regression"))
    >>> metric.see(np.array([1.0, 3.0]), np.array([0.0, 3.0]), np.zeros((2, 1)))
    >>> metric.values()["mae"], metric.values()["r2"]
    (0.5, 0.5)
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression",)
    always = ("rmse",)

    def overflows(self) -> bool:
        """Return whether squares of residuals exceed float64."""
        sums = np.stack([self.sums["stream"], self.sums["test"]])
        return bool(np.isinf(self._summary.values(sums)[:, ResidualSums.names.index("rmse")]).any())

    def summary(self, shape: StreamShape) -> ResidualSums:
        """Return sums of residuals."""
        return ResidualSums(shape)
