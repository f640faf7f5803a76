"""A final model: a learner with its fitted transforms and class labels, for rows as ingested."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olscale.compiled.csr import Rows, read_only, rows_of, slice_rows, to_csr, to_dense
from olscale.data.chunk import Chunk
from olscale.data.transforms.drop import Drop
from olscale.data.transforms.pipeline import Pipeline, make_transform
from olscale.errors import ParameterError
from olscale.learners.contract.estimator import checked_weights, to_rows
from olscale.learners.contract.learner import (
    FloatArray,
    Learner,
    codes_of,
    make_writable,
    no_weights,
)
from olscale.learners.contract.usable_rows import diverged_at, learn_usable, score_usable
from olscale.models.about import About
from olscale.models.write import check_savable, write_model
from olscale.storage.open import open_output
from olscale.system.paths import path_text
from olscale.system.plain_arrays import refuse_masked

Arrays = dict[str, NDArray[Any]]


class FinalModel:
    """A model as the end of a run left it; `olscale.load_model` reads one from a file.

    It predicts as the run did, bit for bit, and `partial_fit` continues as the run would. Rows
    are those of the dataset: the transforms, as they were fitted in the run, are part of the model.

    Parameters
    ----------
    about : About
    learner : Learner
        With its state.
    pipeline : Pipeline
        Fitted transforms.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels; a model without classes has none.
    n_features_in_ : int
        Number of features, before the transforms.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the dataset had names.

    Examples
    --------
    >>> from olscale.models.about import ColumnsEntry, LearnerEntry
    >>> about = About(
    ...     learner=LearnerEntry(name="pa1", version=1, params={"C": 0.5}),
    ...     columns=ColumnsEntry(count=2, kind="dense"),
    ...     classes=("ham", "spam"),
    ... )
    >>> from olscale.learners.registry import make_learner
    >>> learner = make_learner("pa1", {"C": 0.5})
    >>> learner.begin(2, 2)
    >>> model = FinalModel(about, learner, Pipeline((), 2, 2))
    >>> model.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["spam", "ham"]).predict([[3.0, 1.0]])
    array(['spam'], dtype='<U4')
    """

    def __init__(self, about: About, learner: Learner, pipeline: Pipeline) -> None:
        self.about = about
        self.learner = learner
        self.pipeline = pipeline
        self.n_features_in_ = about.columns.count
        if about.classes is not None:
            self.classes_ = np.array(about.classes)
            self._codes = {label: code for code, label in enumerate(about.classes)}
        if about.columns.names is not None:
            self.feature_names_in_ = np.array(about.columns.names, dtype=object)

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        """Restore the pickled state; arrays that joblib maps read-only become copies."""
        vars(self).update(attributes)
        make_writable(self.learner)
        arrays = {name: np.array(array) for name, array in self._transform_arrays().items()}
        self.pipeline = fitted_pipeline(self.about, arrays)

    def __repr__(self) -> str:
        name = self.about.learner.name
        params = self.about.learner.params
        return f"FinalModel({name!r}, {params}, transforms={list(self.about.transforms.names)})"

    def arrays(self) -> Arrays:
        """Return all arrays, as ``learner/NAME`` and, of transform N, ``transformN/NAME``."""
        learned = {f"learner/{name}": array for name, array in self.learner.state().items()}
        return learned | self._transform_arrays()

    def _transform_arrays(self) -> Arrays:
        return {
            f"transform{number}/{name}": array
            for number, step in enumerate(self.pipeline.steps)
            for name, array in step.state().items()
        }

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the model to `file`, whole or not at all; see `olscale.models.file`.

        Raises
        ------
        ModelError
            If the learner has no plain arrays to save.
        DatasetError
            If the file cannot be written.
        """
        check_savable(self.about.learner.name, self.learner)
        with open_output(path_text(file, "file")) as out:
            self.write(out)

    def write(self, out: IO[bytes]) -> None:
        """Write the model to an open file."""
        write_model(self.about, self.arrays(), out)

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of `Rows` of the dataset, shape (rows, outputs).

        A row that cannot be predicted has NaN.
        """
        stored = self._stored(X, np.zeros(rows_of(X), dtype=np.int64))
        blocks = self.pipeline.blocks(stored)
        return np.vstack(
            [score_usable(self.learner, self.pipeline.apply(block).X) for block in blocks]
        )

    def transformed(self, X: Rows) -> Rows:
        """Return `Rows` of the dataset after the transforms."""
        return self.pipeline.apply(self._stored(X, np.zeros(rows_of(X), dtype=np.int64))).X

    def _stored(self, X: Rows, y: NDArray[Any]) -> Chunk:
        # In the layout of the run: another one may give other bits for the same values.
        columns = self.about.columns
        rows = to_dense(X, columns.count) if columns.kind == "dense" else to_csr(X)
        return Chunk(rows, y, columns.count)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the scores: shape (n_samples,) for two classes or one target.

        Otherwise the shape is (n_samples, n_classes) or (n_samples, n_targets).
        """
        scores = self._sound_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class labels, shape (n_samples,).

        A model without classes returns scores, as `decision_function` does.
        """
        if self.about.classes is None:
            return self.decision_function(X)
        return self.labels(self._sound_scores(X))

    def labels(self, scores: FloatArray) -> NDArray[Any]:
        """Return the class labels that `scores` predict."""
        return np.asarray(self.classes_[np.minimum(codes_of(scores), len(self.classes_) - 1)])

    def _sound_scores(self, X: Any) -> FloatArray:
        rows = self._rows(X)
        scores = self.scores(rows)
        finite = np.isfinite(scores).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            # Learners explain refusals by transformed rows: a transform may cause an overflow.
            wrong = self.transformed(slice_rows(rows, row, row + 1))
            raise ParameterError(
                f"row {row} of X cannot be predicted: "
                f"{diverged_at(self.learner, wrong, 0, row).reason}"
            )
        return scores

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the next rows of the stream, as the run would have.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows, without transforms.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, of those in `classes_`, or targets; a novelty detector needs none.
        classes : array-like of shape (n_classes,), optional
            The classes of the model, if given; it knows them.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts: finite, 0 or more.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If rows, labels or classes do not match what the model learned from, or it takes no
            weights.
        ValueError
            If weights are not one for each row.
        DivergedError
            If a row cannot be learned from; the rows before it were.
        """
        if classes is not None:
            self._check_classes(classes)
        rows = self._rows(X)
        refuse_masked(y, "y")
        novelty = self.learner.task == "novelty"
        # Detectors never see labels, so any of them are replaced.
        labels = np.zeros(rows_of(rows), dtype=np.int64) if novelty else np.asarray(y)
        targets = self.about.columns.targets
        expected = (rows_of(rows), len(targets)) if targets else (rows_of(rows),)
        if labels.shape != expected:
            raise ParameterError(
                f"y has shape {labels.shape}, expected {expected}: the labels of each row"
            )
        # Streaming transforms learn too, so every check must come before them.
        weights = checked_weights(labels, sample_weight, whole=False)
        if weights is not None and not self.learner.takes_weights:
            raise ParameterError(no_weights(self.learner.name))
        first = 0
        for block in self.pipeline.blocks(
            self._stored(rows, labels if novelty else self._targets(labels))
        ):
            stop = first + len(block)
            chunk = self.pipeline.learn(block)
            scores = learn_usable(
                self.learner, chunk.X, chunk.y, None if weights is None else weights[first:stop]
            )
            finite = np.isfinite(scores).all(axis=1)
            if not finite.all():
                wrong = int(np.argmin(finite))
                raise diverged_at(self.learner, chunk.X, wrong, first + wrong)
            first = stop
        return self

    def _check_classes(self, classes: ArrayLike) -> None:
        labels = np.unique(np.asarray(classes)).tolist()
        own = list(self.about.classes or ())
        if labels != own:
            raise ParameterError(f"classes was {labels}, expected those of the model: {own}")

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        if self.about.classes is None:
            return read_only(y.astype(np.float64))
        try:
            return read_only(np.array([self._codes[label] for label in y.tolist()], dtype=np.int64))
        except (KeyError, TypeError) as wrong:
            raise ParameterError(
                f"y has the label {wrong}, which is none of the classes of the model"
            ) from None

    def _rows(self, X: Any) -> Rows:
        """Return rows of an array, a sparse matrix, or a frame or table with named columns."""
        refuse_masked(X, "X")
        names = self.about.columns.names
        columns = self.n_features_in_
        if hasattr(X, "tocsr"):
            if X.dtype.kind not in "biuf":
                raise ParameterError(f"X cannot be read as numbers: it holds {X.dtype}")
            rows = to_rows(X)
            got = X.shape[1]
        else:
            if names is not None:
                X = _by_name(X, list(names))
            try:
                values = np.asarray(X)
                if values.dtype.kind in "cmM":
                    raise TypeError(f"it holds {values.dtype}")
                dense = values.astype(np.float64, copy=False)
            except (TypeError, ValueError) as fault:
                raise ParameterError(f"X cannot be read as numbers: {fault}") from None
            if dense.ndim != 2:
                raise ParameterError(f"X has shape {dense.shape}, expected (rows, {columns})")
            rows = read_only(dense)
            got = dense.shape[1]
        if got != columns:
            raise ParameterError(f"X has {got} features, the model learned from {columns}")
        return rows


def _by_name(X: Any, names: list[str]) -> Any:
    """Return the columns `names` of a pandas or polars frame or an Arrow table, in this order.

    An array is returned unchanged.
    """
    own = getattr(X, "column_names", None)  # of Arrow tables; their `columns` are arrays
    own = getattr(X, "columns", None) if own is None else own
    if own is None or not (hasattr(X, "loc") or hasattr(X, "select")):
        return X
    words = list(map(str, own))
    odd = sorted(set(words).symmetric_difference(names)) or sorted(
        {word for word in words if words.count(word) > 1}
    )
    if odd:
        raise ParameterError(
            f"the columns of X differ from those of the model: {', '.join(odd[:5])}"
        )
    return X.loc[:, names] if hasattr(X, "loc") else X.select(names)


def fitted_pipeline(about: About, arrays: Mapping[str, NDArray[Any]]) -> Pipeline:
    """Return the transforms of a model with their fitted `arrays`.

    Raises
    ------
    ValueError
        If the arrays are not those of its transforms.
    """
    entry = about.transforms
    columns = about.columns.count
    if entry.dropped is not None and not entry.dropped < columns > 1:
        raise ValueError(f"column {entry.dropped} of {columns} is left out")
    steps = [
        *([] if entry.dropped is None else [Drop(entry.dropped)]),
        *map(make_transform, entry.names),
    ]
    width = columns
    for number, step in enumerate(steps):
        step.projection = entry.projection
        mark = f"transform{number}/"
        step.restore(
            {name.removeprefix(mark): a for name, a in arrays.items() if name.startswith(mark)},
            width,
        )
        width = step.width(width)
    return Pipeline(tuple(steps), columns, width)
