"""Support vector machines that keep all rows: batch references for learners that do not."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from olscale.learners.contract.detector import Detector
from olscale.learners.contract.learner import FloatArray
from olscale.learners.contract.parameters import Real, param
from olscale.learners.contract.weighted import WeightedClassifier, WeightedRegressor
from olscale.learners.reference.batch_machine import GaussianMachine
from olscale.learners.reference.class_machine import ClassMachine


class SVM(ClassMachine, GaussianMachine, WeightedClassifier):
    """Batch reference, not one-pass: scikit-learn's SVC with a Gaussian kernel, on all rows.

    It keeps every row. Test rows are scored by a machine trained on all rows. Along the stream a
    row is scored by the machine trained when the number of rows last doubled: at 64, 128, 256 and
    so on; before that there is no machine, and scores are 0. So the test error is that of batch
    learning, and the cumulative error that of a batch learner which is retrained ever more rarely.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training on n rows: O(n^2) kernel values or more, for
    each doubling and for the test; with late labels for every row that is predicted. More than two
    classes: one machine a pair, and scikit-learn's scores of a class by its votes.

    A row's weight multiplies `C`, as scikit-learn's ``sample_weight`` does.

    References
    ----------
    C. Cortes, V. Vapnik, Support-vector networks, Machine Learning 20 (1995).

    Examples
    --------
    >>> corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> X, y = np.tile(corners, (5, 1)), np.tile([1, 1, 0, 0], 5)
    >>> SVM().fit(X, y).predict(corners)
    array([1, 1, 0, 0])
    """

    name = "svm"
    numbers_per_second = 0.8e9

    C: float = param(1.0, Real(0.0, open_="low"), "Penalty of a row's loss.")

    def _machine(self, gamma: float) -> Any:
        from sklearn.svm import SVC

        return SVC(C=self.C, gamma=gamma)


class SVR(GaussianMachine, WeightedRegressor):
    """Batch reference, not one-pass: scikit-learn's SVR with a Gaussian kernel, on all rows.

    It keeps every row, and is retrained whenever their number has doubled, as
    `olscale.learners.reference.batch_machine.BatchMachine` describes; the scores of the first 64
    rows are 0.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training on n rows: O(n^2) kernel values or more, for
    each doubling and for the test.

    A row's weight multiplies `C`, as scikit-learn's ``sample_weight`` does.

    References
    ----------
    A. J. Smola, B. Schoelkopf, A tutorial on support vector regression, Statistics and Computing
    14, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 1))
    >>> model = SVR(epsilon=0.01, gamma=4.0).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.02)
    True
    """

    name = "svr"
    numbers_per_second = 1.2e9

    C: float = param(1.0, Real(0.0, open_="low"), "Penalty of a row's loss.")
    epsilon: float = param(
        0.1,
        Real(0.0),
        "Half the width of the tube in which there is no loss, in units of the target.",
    )

    def _machine(self, gamma: float) -> Any:
        import sklearn.svm

        return sklearn.svm.SVR(C=self.C, epsilon=self.epsilon, gamma=gamma)


class OneClassSVM(GaussianMachine, Detector):
    """Batch reference, not one-pass: scikit-learn's OneClassSVM, trained on all rows.

    It keeps every row, and is retrained whenever their number has doubled, as
    `olscale.learners.reference.batch_machine.BatchMachine` describes; the scores of the first 64
    rows are 0, which is normal.

    Notes
    -----
    State: all rows, as sparse ones. Cost of training on n rows: O(n^2) kernel values or more, for
    each doubling and for the test.

    References
    ----------
    B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson, Estimating the
    support of a high-dimensional distribution, Neural Computation 13(7), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> OneClassSVM(nu=0.1).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    name = "one-class-svm"
    numbers_per_second = 1.5e9

    nu: float = param(
        0.1,
        Real(0.0, 1.0, open_="low"),
        "Most rows that are novelties, and fewest that are support vectors, as a share.",
    )

    def _machine(self, gamma: float) -> Any:
        import sklearn.svm

        return sklearn.svm.OneClassSVM(nu=self.nu, gamma=gamma)

    def _score(self, machine: Any, X: Any) -> FloatArray:
        scores: FloatArray = machine.decision_function(X)
        return scores


class LSSVM(GaussianMachine, WeightedRegressor):
    """Batch reference, not one-pass: the least squares support vector machine of all rows.

    ``f(x) = sum_s alpha_s k(x, s) + b``, whose coefficients solve
    ``[0 1'; 1 K + I / C] [b; alpha] = [0; y]``. It keeps every row, and is retrained whenever their
    number has doubled, as `olscale.learners.reference.batch_machine.BatchMachine` describes; the
    scores of the first 64 rows are 0.

    Notes
    -----
    State: all rows, as sparse ones. Training on n rows takes n^2 numbers of memory and O(n^3) time,
    for each doubling and for the test. scikit-learn's KernelRidge has no b.

    A row's weight multiplies `C`, and with it the square of its error (J. A. K. Suykens et al.,
    Weighted least squares support vector machines, Neurocomputing 48, 2002).

    References
    ----------
    J. A. K. Suykens, T. Van Gestel, J. De Brabanter, B. De Moor, J. Vandewalle, Least squares
    support vector machines, World Scientific, 2002.

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

    def _machine(self, gamma: float) -> Any:
        return _LeastSquares(float(self.C), gamma)


class _LeastSquares:
    """The machine of some rows; their kernel matrix is that of the entire problem."""

    def __init__(self, C: float, gamma: float) -> None:
        self._C = C
        self._gamma = gamma

    def fit(
        self,
        X: Any,
        y: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None = None,
    ) -> Self:
        import scipy.linalg

        self._rows = X
        K = self._kernel(X)
        C: Any = self._C
        if sample_weight is not None:
            C = C * sample_weight
        K[np.diag_indices_from(K)] += 1.0 / C
        # Ones and targets share a factorisation; b makes the coefficients add up to 0.
        solved_ones, solved = scipy.linalg.solve(
            K, np.stack([np.ones(len(y)), y], axis=1), assume_a="pos", overwrite_a=True
        ).T
        self._b = solved.sum() / solved_ones.sum()
        self._alpha = solved - self._b * solved_ones
        return self

    def predict(self, X: Any) -> FloatArray:
        # Sums of BLAS would depend on how many rows are predicted at once.
        f: FloatArray = np.sum(self._kernel(X) * self._alpha, axis=1) + self._b
        return f

    def _kernel(self, X: Any) -> FloatArray:
        from sklearn.metrics.pairwise import rbf_kernel

        K: FloatArray = rbf_kernel(X, self._rows, gamma=self._gamma)
        return K
