"""The width of a kernel: a parameter with three names, or a value estimated from rows."""

from typing import Any

import numpy as np

from olscale.compiled.csr import Rows, rows_of
from olscale.data.transforms.kernel_features import median_gamma
from olscale.errors import ParameterError
from olscale.learners.contract.capability import LooksAhead
from olscale.learners.contract.estimator import OnePass
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Maybe, Real, param


class GammaLearner(OnePass, LooksAhead):
    """Base of learners with a kernel of width `gamma`, for any task.

    ``gamma = "auto"`` is one over the number of features, ``"median"`` that of the median distance
    of a thousand rows, which the learner sees before the stream. The state holds the width as
    `gamma`.
    """

    gamma: float | str = param(
        "auto",
        Real(0.0, open_="low", words=("auto", "median")),
        "Width: ``exp(-gamma |x - s|^2)``. ``'auto'`` is one over the number of features; "
        "``'median'`` is ``1 / (2 m^2)`` for the median distance m of a thousand rows, for which "
        "the learner must see rows before the stream.",
    )

    @property
    def looks_ahead(self) -> bool:
        """Whether the width is the median of distances, which needs rows."""
        return self.gamma == "median"

    def prepare(self, X: Rows) -> None:
        """Take the width from rows."""
        if not self.looks_ahead:
            raise TypeError(
                f"learner {self.name} is one-pass: its looks_ahead is False"
            )
        self.state_["gamma"][0] = median_gamma(X)

    def _first_width(self, columns: int) -> FloatArray:
        """Return the width before the first row, shape (1,); 0 if it depends on rows."""
        gamma = self.resolved_params()["gamma"]
        return np.array(
            [{"auto": 1.0 / max(1, columns), "median": 0.0}.get(gamma, gamma)],
            dtype=np.float64,
        )

    def _check_width(self, X: Rows) -> None:
        # A chunk without rows may come first: it compiles loops.
        if self.state_["gamma"][0] == 0.0 and rows_of(X):
            raise ValueError(
                f"learner {self.name} with gamma = 'median' must see rows before it learns: "
                "partial_fit sees only some of "
                "them; call fit, or prepare(X) after begin, or give gamma a number"
            )


class WidthLearner(GammaLearner):
    """Base of learners whose width is given as ``gamma = 1 / (2 sigma^2) = 1 / p^2``."""

    sigma: float | None = param(
        None,
        Maybe(Real(0.0, open_="low")),
        "The width in other terms: ``gamma = 1 / (2 sigma^2)``.",
    )
    p: float | None = param(
        None,
        Maybe(Real(0.0, open_="low")),
        "The width in other terms: ``gamma = 1 / p^2``.",
    )

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form: the width as `gamma`, however it was given."""
        params = super().resolved_params()
        widths = {name: params.pop(name) for name in ("sigma", "p")}
        given_widths = {
            name: value for name, value in widths.items() if value is not None
        }
        # Two names for one number would leave open which holds.
        if given_widths and (len(given_widths) > 1 or params["gamma"] != "auto"):
            names = ", ".join(
                sorted(
                    {*given_widths, *([] if params["gamma"] == "auto" else ["gamma"])}
                )
            )
            raise ParameterError(
                f"learner {self.name}: {names} were given, expected one of gamma, sigma and p"
            )
        # One canonical name: runs with equal widths are one run, however they were written.
        if "sigma" in given_widths:
            params["gamma"] = 1.0 / (2.0 * given_widths["sigma"] ** 2)
        if "p" in given_widths:
            params["gamma"] = 1.0 / given_widths["p"] ** 2
        return params
