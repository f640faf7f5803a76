"""The scikit-learn interface of a learner, over the streaming contract.

It has `fit`, `partial_fit`, `predict` and `decision_function`.

scikit-learn is imported when a learner is used as its estimator: an evaluation calls the contract
and never needs it.
"""

import numbers
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olscale.compiled.csr import CSR, Rows, read_only, rows_of
from olscale.errors import DivergedError, ParameterError
from olscale.learners.contract.capability import looks_ahead, targets_of
from olscale.learners.contract.compilation import CompilesLoops
from olscale.learners.contract.cost import check_rows
from olscale.learners.contract.learner import (
    FloatArray,
    Learner,
    State,
    codes_of,
    learn_rows,
    make_writable,
    no_labels,
)
from olscale.learners.contract.scikit_learn import inherits
from olscale.learners.contract.usable_rows import diverged_at, why_no_score
from olscale.system.plain_arrays import refuse_masked


def checked_weights(X: Any, sample_weight: Any, whole: bool) -> FloatArray | None:
    """Return weights of the rows of `X`, or None, for compiled loops.

    `whole` says whether `X` has all rows of the stream.

    Raises
    ------
    ValueError
        If there is not one weight per row, or one for all, each finite and not negative; or if all
        rows have weight 0.
    """
    if sample_weight is None:
        return None
    from sklearn.utils import check_array

    refuse_masked(sample_weight, "sample_weight")
    rows = X.shape[0]
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(rows, sample_weight, dtype=np.float64)
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        order="C",
        input_name="sample_weight",
    )
    if weights.shape != (rows,):
        raise ValueError(
            f"sample_weight had shape {weights.shape}, expected ({rows},), one for each row"
        )
    if (weights < 0.0).any():
        row = int(np.argmax(weights < 0.0))
        raise ValueError(
            f"sample_weight of row {row} was {weights[row]:g}, expected 0 or more"
        )
    if whole and not weights.any():
        raise ValueError(
            "sample_weight was zero for all rows, expected more for some: nothing would be learned"
        )
    return read_only(weights)


def to_rows(X: Any) -> Rows:
    """Return a validated array or sparse matrix as rows for compiled loops."""
    import scipy.sparse

    if scipy.sparse.issparse(X):
        matrix = X.tocsr()
        if not matrix.has_canonical_format:
            # It may belong to the caller, whose arrays would be sorted in place.
            matrix = matrix.copy()
            matrix.sum_duplicates()
        arrays = (
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )
        return CSR(*map(read_only, arrays))
    return read_only(X)


@inherits("BaseEstimator")
class Estimator(Learner, CompilesLoops):
    """Common base of learners as estimators of scikit-learn, for any task.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    first_rows_will_do : bool
        Whether ``partial_fit`` lets a learner that looks ahead see the rows of its first call, if
        there are at least two.
    """

    first_rows_will_do: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        import sklearn.base  # noqa: F401, the import adds the base class

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    @property
    def _repr_html_(self) -> Any:
        import sklearn.base  # noqa: F401, the import adds the base class

        return super()._repr_html_  # type: ignore[misc]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def _forget(self) -> None:
        """Drop the fitted model, even if the next rows or parameters are refused.

        By then the number of features may be that of the new rows, for which there is no array.
        """
        for name in ("state_", "classes_"):
            vars(self).pop(name, None)

    def _begin_rows(self, rows: Rows, columns: int, classes: int, whole: bool) -> None:
        """Begin a stream with `rows` as its first rows, or as all rows if `whole`."""
        self.begin(columns, classes)
        if whole:
            check_rows(self, rows_of(rows), apart=True)
        if (whole or (self.first_rows_will_do and rows_of(rows) > 1)) and looks_ahead(
            self
        ):
            self.prepare(rows)

    def _learn_rows(
        self, rows: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> Self:
        """Learn from rows; if learning ends at one, warn as scikit-learn's estimators do."""
        from sklearn.exceptions import ConvergenceWarning

        self._check_model()
        self.resolved_params()  # `update_params` may have been set since `begin`
        try:
            scores = learn_rows(self, rows, read_only(y), weights)
            wrong = np.flatnonzero(~np.isfinite(scores).all(axis=1))
            if len(wrong):
                raise diverged_at(self, rows, int(wrong[0]), int(wrong[0]))
        except DivergedError as error:
            # An evaluation calls `learn` and records the run as diverged.
            warnings.warn(
                f"{self.name}: {error}; learning ended there",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    def _check_model(self) -> None:
        """Check that the state is what the loops expect.

        They index its arrays by the parameters for which `begin` allocated them.

        Raises
        ------
        ParameterError
            If a parameter was set that is not one of the `update_params`.
        """
        for name, value in self._begun_params.items():
            value_now = getattr(self, name)
            if value_now != value:
                raise ParameterError(
                    f"learner {self.name}: parameter {name} was {value!r} and is {value_now!r}: "
                    "changed after fit; call fit"
                )
        make_writable(self)

    def _scores_of(self, X: Any) -> FloatArray:
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        self._check_model()
        refuse_masked(X, "X")
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=False
        )
        rows = to_rows(X)
        scores = self.scores(rows)
        for i in np.flatnonzero(~np.isfinite(scores).all(axis=1)):
            if why := why_no_score(self, rows, int(i)):
                raise ValueError(
                    f"{self.name}: row {i} of X cannot be predicted: {why}"
                )
        return scores


@inherits("ClassifierMixin")
class Classifier(Estimator):
    """A learner of classes as a scikit-learn classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    n_features_in_ : int
        Number of features.
    """

    def __sklearn_tags__(self) -> Any:
        import sklearn.base  # noqa: F401, the import adds the mixin

        tags = super().__sklearn_tags__()
        # One pass over a few dozen rows in the order given: the checks' accuracy bars assume many
        # passes.
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything and learn from the rows in one pass, in their order.

        A learner that `looks_ahead` sees the rows, without labels, once before that pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, classes=None, first=True, whole=True)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> Self:
        """Learn from the next rows of the stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), optional
            All labels that may come; needed in the first call unless `y` has them all; the same in
            later calls.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `classes` differ from those of the first call, or `y` has a label that is not among
            them.
        """
        return self._partial_fit(X, y, classes, first=not self._is_begun())

    def _is_begun(self) -> bool:
        # A refused fit may already have set the classes.
        return hasattr(self, "classes_") and hasattr(self, "state_")

    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        first: bool,
        whole: bool = False,
        sample_weight: Any = None,
    ) -> Self:
        from sklearn.utils import column_or_1d
        from sklearn.utils.multiclass import check_classification_targets, unique_labels
        from sklearn.utils.validation import validate_data

        if first:
            self._forget()
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", reset=first
        )
        check_classification_targets(y)
        y = column_or_1d(y)
        rows = to_rows(X)
        weights = checked_weights(X, sample_weight, whole)
        if first:
            self.classes_ = unique_labels(y if classes is None else classes)
            self._begin_rows(rows, X.shape[1], len(self.classes_), whole)
        elif classes is not None and not np.array_equal(
            self.classes_, unique_labels(classes)
        ):
            raise ValueError(
                f"classes was {np.asarray(classes).tolist()}, expected {self.classes_.tolist()} "
                "as in "
                "the first call; to learn others, call fit or start anew with all of them"
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has labels {unknown.tolist()} that are not among the classes of the first call"
            )
        return self._learn_rows(
            rows, np.searchsorted(self.classes_, y).astype(np.int64), weights
        )

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the scores: shape (n_samples,) for two classes, else (n_samples, n_classes)."""
        scores = self._scores_of(X)
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class labels, shape (n_samples,)."""
        codes = np.minimum(codes_of(self._scores_of(X)), len(self.classes_) - 1)
        return self.classes_[codes]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the share of rows whose label is predicted."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))


class OnePass(Learner):
    """Base of learners with one way of scoring, learning or not; a subclass gives `_pass`."""

    @abstractmethod
    def _pass(
        self, X: Rows, y: NDArray[Any], state: State, learning: bool, scores: FloatArray
    ) -> None:
        """Set `scores`; when `learning`, update `state` after each row.

        Without learning `y` is empty. The `_pass` of a learner that `takes_weights` has a last
        argument ``weights=None``.
        """

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        weights = self._weights_of(y, weights)
        return self._run(X, y, True, *(() if weights is None else (weights,)))

    def scores(self, X: Rows) -> FloatArray:
        return self._run(X, no_labels(self.task, targets_of(self)), False)

    def _run(
        self, X: Rows, y: NDArray[Any], learning: bool, *weights: FloatArray
    ) -> FloatArray:
        scores = np.empty((rows_of(X), self._outputs))
        self._pass(X, y, self.state_, learning, scores, *weights)
        return scores


class OnePassLearner(OnePass, Classifier):
    """A classifier with one loop, `_pass`."""
