"""The least squares support vector machine, which keeps all rows: a batch reference for regressors that do not."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedRegressor
from olscale.learners.reference.batch_machine import GaussianMachine


class LSSVM(GaussianMachine, WeightedRegressor):
    """Batch reference, no one-pass learner: the least squares support vector machine of all rows it was given.

    ``f(x) = sum_s alpha_s k(x, s) + b``, whose coefficients solve ``[0 1'; 1 K + I / C] [b; alpha]
    = [0; y]``. It keeps every row, and is trained anew whenever they have doubled in number, as
    `olscale.learners.reference.batch_machine.BatchMachine` says; the scores of the first 64 rows are 0.

    Notes
    -----
    State: all rows, as sparse ones. Training on n rows takes n^2 numbers of memory and O(n^3) time, for each doubling and
    for the test. scikit-learn's KernelRidge has no b.

    A row's weight multiplies `C`, and with it the square of its error (J. A. K. Suykens et al.,
    Weighted least squares support vector machines, Neurocomputing 48, 2002).

    References
    ----------
    J. A. K. Suykens, T. Van Gestel, J. De Brabanter, B. De Moor, J. Vandewalle, Least squares support vector machines, World
    Scientific, 2002.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = LSSVM(C=100.0, gamma=4.0).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """

    name = "ls-svm"
    numbers_per_second = 1.1e9

    C: float = param(1.0, Real(0.0, open_="low"), "Penalty of a row's loss.")
    capacity: int = 10_000

    def _machine(self) -> Any:
        return _LeastSquares(float(self.C), self._gamma())


class _LeastSquares:
    """The machine of some rows; their kernel matrix is that of the whole problem."""

    def __init__(self, C: float, gamma: float) -> None:
        self._C, self._gamma = C, gamma

    def fit(
        self, X: Any, y: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
    ) -> Self:
        import scipy.linalg

        self._rows = X
        K = self._kernel(X)
        C = self._C if sample_weight is None else self._C * sample_weight
        K[np.diag_indices_from(K)] += 1.0 / C
        # Of ones and of targets in one factorisation; b is what makes the coefficients add up to 0.
        ones, solved = scipy.linalg.solve(
            K, np.stack([np.ones(len(y)), y], axis=1), assume_a="pos", overwrite_a=True
        ).T
        self._b = solved.sum() / ones.sum()
        self._alpha = solved - self._b * ones
        return self

    def predict(self, X: Any) -> FloatArray:
        # Sums of BLAS would depend on how many rows are predicted at once.
        f: FloatArray = np.sum(self._kernel(X) * self._alpha, axis=1) + self._b
        return f

    def _kernel(self, X: Any) -> FloatArray:
        from sklearn.metrics.pairwise import rbf_kernel

        K: FloatArray = rbf_kernel(X, self._rows, gamma=self._gamma)
        return K
