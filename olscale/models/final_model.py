"""A final model: a learner with its fitted transforms and class labels, for rows as ingested."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import IO, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olscale.compiled.csr import Rows, read_only, rows_of, slice_rows, to_csr, to_dense
from olscale.data.chunk import Chunk
from olscale.data.dataset import Dataset
from olscale.data.transforms.pipeline import Pipeline
from olscale.errors import ParameterError
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.capability import only_says_class, show_probabilities
from olscale.learners.contract.estimator import checked_weights
from olscale.learners.contract.learner import (
    FloatArray,
    Learner,
    codes_of,
    make_writable,
    no_weights,
)
from olscale.learners.contract.score_probabilities import LogProbabilityScores
from olscale.learners.contract.usable_rows import diverged_at
from olscale.models.about import About
from olscale.models.fitted_pipeline import fitted_pipeline
from olscale.models.learned_rows import LearnedRows, learn_or_refuse, score_or_refuse
from olscale.models.pickled import PICKLE
from olscale.models.raw_rows import Encoded, RowEncoder
from olscale.models.skops_format import SKOPS
from olscale.models.source import ModelSource
from olscale.models.unknown_values import warn_of_unknown_in_dataset
from olscale.models.write import learner_arrays, write_model
from olscale.storage.open import open_output
from olscale.system.paths import path_text
from olscale.system.plain_arrays import refuse_masked

Arrays = dict[str, NDArray[Any]]


class FinalModel:
    """A model as the end of a run left it; `olscale.load_model` reads one from a file.

    It predicts as the run did, bit for bit, and `partial_fit` continues as the run would. Rows
    are raw: the encoding of the dataset and the transforms, as they were fitted in the run, are
    part of the model.

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
    probabilities : ClassProbabilities, optional
        How scores become probabilities, and classes by a threshold, if the run had them.

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

    probabilities: ClassProbabilities | None = None

    def __init__(self, about: About, learner: Learner, pipeline: Pipeline) -> None:
        self.about = about
        self.learner = learner
        self.pipeline = pipeline
        self.n_features_in_ = about.columns.count
        self._encoder = RowEncoder(about.columns)
        if about.classes is not None:
            self.classes_ = np.array(about.classes)
            # A label may come as 1, 1.0 or True: these are one key.
            self._codes = {label: code for code, label in enumerate(about.classes)}
        if about.columns.names is not None:
            self.feature_names_in_ = np.array(about.columns.names, dtype=object)

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        """Restore the pickled state; arrays that joblib maps read-only become copies."""
        vars(self).update(attributes)
        make_writable(self.learner)
        if self.probabilities is not None:
            self.probabilities.make_writable()
        mapped = self._transform_arrays()
        arrays = {name: np.array(array) for name, array in mapped.items()}
        self.pipeline = fitted_pipeline(self.about, arrays)

    def __repr__(self) -> str:
        name = self.about.learner.name
        params = self.about.learner.params
        return f"FinalModel({name!r}, {params}, transforms={list(self.about.transforms.names)})"

    def arrays(self, *, allow_pickle: bool = False) -> Arrays:
        """Return all arrays, as ``learner/NAME`` and, of transform N, ``transformN/NAME``."""
        learned = learner_arrays(self.learner, allow_pickle)
        if self.probabilities is not None:
            state = self.probabilities.state()
            learned |= {f"probabilities/{name}": array for name, array in state.items()}
        return learned | self._transform_arrays()

    def _transform_arrays(self) -> Arrays:
        return {
            f"transform{number}/{name}": array
            for number, step in enumerate(self.pipeline.steps)
            for name, array in step.state().items()
        }

    def save(self, file: str | os.PathLike[str], *, allow_pickle: bool = False) -> None:
        """Write the model to `file`, whole or not at all; see `olscale.models.file`.

        Parameters
        ----------
        file : path
        allow_pickle : bool
            Whether an estimator that skops cannot save may be a pickle, which runs code where it is
            read; the file says that it has one.

        Raises
        ------
        ModelError
            If there is no way to save the learner.
        DatasetError
            If the file cannot be written.
        """
        # A learner that cannot be saved leaves an earlier file as it is.
        arrays = self.arrays(allow_pickle=allow_pickle)
        with open_output(path_text(file, "file")) as out:
            self._write(arrays, out)

    def write(self, out: IO[bytes], *, allow_pickle: bool = False) -> None:
        """Write the model to an open file, as `save` does."""
        self._write(self.arrays(allow_pickle=allow_pickle), out)

    def _write(self, arrays: Arrays, out: IO[bytes]) -> None:
        about = self.about
        if not self.learner.restorable:
            about = about.changed(pickled=PICKLE in arrays, skops=SKOPS in arrays)
        write_model(about, arrays, out)

    def scores(self, X: Rows) -> FloatArray:
        """Return the scores of `Rows` of the dataset, shape (rows, outputs).

        A row that cannot be predicted has NaN.
        """
        return self._scores_by(self.learner, X)

    def _scores_by(self, learner: Learner, X: Rows) -> FloatArray:
        no_labels = np.zeros(rows_of(X), dtype=np.int64)
        stored = self._stored(X, no_labels)
        if len(stored) == 1:  # the size of blocks takes as long as to predict a row
            return score_or_refuse(learner, self.pipeline.apply(stored).X)
        parts = [
            score_or_refuse(learner, self.pipeline.apply(block).X)
            for block in self.pipeline.blocks(stored)
        ]
        return parts[0] if len(parts) == 1 else np.vstack(parts)

    def transformed(self, X: Rows) -> Rows:
        """Return `Rows` of the dataset after the transforms."""
        no_labels = np.zeros(rows_of(X), dtype=np.int64)
        stored = self._stored(X, no_labels)
        return self.pipeline.apply(stored).X

    def _stored(self, X: Rows, y: NDArray[Any]) -> Chunk:
        # In the layout of the run: another one may give other bits for the same values.
        columns = self.about.columns
        if columns.kind == "dense":
            return Chunk(to_dense(X, columns.count), y, columns.count)
        return Chunk(to_csr(X), y, columns.count)

    def decision_function(self, X: Any, *, encoded: bool = False) -> FloatArray:
        """Return the scores: shape (n_samples,) for two classes or one target.

        Otherwise the shape is (n_samples, n_classes) or (n_samples, n_targets). Parameters are
        those of `predict`.
        """
        all_columns = self._sound_scores(X, encoded)
        scores = self.without_margins(all_columns)
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores

    def predict(self, X: Any, *, encoded: bool = False) -> NDArray[Any]:
        """Return the class labels, shape (n_samples,).

        A model without classes returns scores, as `decision_function` does.

        Parameters
        ----------
        X : data frame, dict, sequence of dict, Dataset, Chunk, sparse matrix or array-like
            Raw rows, as `olscale.models.raw_rows` takes them: columns with names in any order. Of a
            `Dataset` the test split is read, where there is one. Values of text columns that the
            model never met are ignored, with a warning that counts them.
        encoded : bool
            Whether the columns are those of `feature_names_in_` already, in this order. Needed for
            an array or matrix where the model's columns have names.

        Raises
        ------
        ParameterError
            If columns are missing or hold what the model did not learn, or a row has no score.
        """
        if self.about.classes is None:
            return self.decision_function(X, encoded=encoded)
        return self.labels(self._sound_scores(X, encoded))

    def predict_proba(self, X: Any, *, encoded: bool = False) -> FloatArray:
        """Return the probabilities of the classes, shape (n_samples, n_classes).

        They are the learner's own, else its scores calibrated along the stream. Parameters are
        those of `predict`.

        Raises
        ------
        ParameterError
            If the model has no probabilities.
        """
        if self.probabilities is not None:
            return self.probabilities.of(self._sound_scores(X, encoded))
        parts = [
            self.class_probabilities(rows) for rows in self._encoded_blocks(X, encoded)
        ]
        return np.vstack(parts)

    def class_probabilities(self, X: Rows) -> FloatArray:
        """Return the same of `Rows` of the dataset.

        Raises
        ------
        ParameterError
            If the model has no probabilities.
        """
        if self.probabilities is not None:
            return self.probabilities.of(self.scores(X))
        # The learner of the model stays as it is: its scores must not grow by columns.
        twin = copy.copy(self.learner)
        shown = show_probabilities(twin, len(self.about.classes or ()))
        if not shown:
            raise ParameterError(self._why_no_probabilities())
        return self._scores_by(twin, X)[:, -shown:]

    def _why_no_probabilities(self) -> str:
        name = self.about.learner.name
        if self.about.classes is None:
            return f"learner {name} predicts no classes, so that it has no probabilities of them"
        if only_says_class(self.learner):
            return (
                f"learner {name} only says which class, so that it has no probabilities"
            )
        return (
            f"this model of {name} was saved without a calibrator of its scores; evaluate the run "
            "again with --keep-model, or learn on with olscale models learn"
        )

    def labels(self, scores: FloatArray) -> NDArray[Any]:
        """Return the class labels that `scores` predict."""
        codes = self.predicted_codes(scores)
        return np.asarray(self.classes_[codes])

    def predicted_codes(self, scores: FloatArray) -> NDArray[np.int64]:
        """Return the class codes that `scores` predict, by the threshold of its run if any."""
        known = self.probabilities
        if known is not None and known.decision is not None:
            codes = known.answer(scores)[1]
            assert codes is not None
            return codes
        codes = codes_of(self.without_margins(scores))
        last_code = len(self.classes_) - 1
        return np.minimum(codes, last_code)

    def without_margins(self, scores: FloatArray) -> FloatArray:
        """Return scores without the columns that a calibrator makes probabilities of, if any."""
        if self.probabilities is None or not self.probabilities.columns:
            return scores
        return scores[:, : -self.probabilities.columns]

    def _encoded_blocks(self, X: Any, encoded: bool) -> Iterator[Rows]:
        """Yield rows of any kind as those of the model; a dataset is read chunk by chunk."""
        if isinstance(X, Dataset):
            source = ModelSource(self.about.columns, X.path)
            yield from (rows.X for rows in source)
            warn_of_unknown_in_dataset(source.unknown, source.unknown_indices)
        else:
            yield self._encoder.rows(X, encoded)

    @property
    def names(self) -> list[str]:
        """Names of the features that the learner sees; none if columns have none."""
        return self.pipeline.feature_names(self.about.columns.names or ())

    def _sound_scores(self, X: Any, encoded: bool) -> FloatArray:
        parts: list[FloatArray] = []
        first = 0
        for rows in self._encoded_blocks(X, encoded):
            parts.append(self._sound_block(rows, first))
            first += len(parts[-1])
        return parts[0] if len(parts) == 1 else np.vstack(parts)

    def _sound_block(self, rows: Rows, first: int) -> FloatArray:
        scores = self.scores(rows)
        finite = np.isfinite(scores).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            # Learners explain refusals by transformed rows: a transform may cause an overflow.
            wrong = self.transformed(slice_rows(rows, row, row + 1))
            why = diverged_at(self.learner, wrong, 0, row, names=self.names).reason
            raise ParameterError(f"row {first + row} of X cannot be predicted: {why}")
        return scores

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        encoded: bool = False,
    ) -> Self:
        """Learn from the next rows of the stream, as the run would have.

        Parameters
        ----------
        X : data frame, dict, sequence of dict, Dataset, Chunk, sparse matrix or array-like
            Rows as `predict` takes them, without transforms; of a `Dataset` the train split.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
            Class labels, of those in `classes_`, or targets; a novelty detector needs none. When
            left out, X has them: a column of the label's name, or the labels of a dataset.
        classes : array-like of shape (n_classes,), optional
            The classes of the model, if given; it knows them.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts: finite, 0 or more.
        encoded : bool
            As in `predict`.

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
        if isinstance(X, Dataset):
            self._learn_dataset(X, y, sample_weight)
            return self
        rows = self._encoder.rows(X, encoded)
        labels = self._labels_given(X, rows, y)
        # Streaming transforms learn too, so every check must come before them.
        weights = checked_weights(labels, sample_weight, whole=False)
        if weights is not None and not self.learner.takes_weights:
            raise ParameterError(no_weights(self.learner.name))
        first = 0
        for learned in self.learn(rows, self.codes(labels), weights):
            if learned.diverged is not None:
                row = learned.diverged
                at = first + row
                raise diverged_at(self.learner, learned.X, row, at, names=self.names)
            first += len(learned.scores)
        return self

    def learn(
        self, rows: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> Iterator[LearnedRows]:
        """Yield blocks of encoded rows, with their scores before each row was learned.

        Parameters
        ----------
        rows : Rows
            In the model's columns, before the transforms.
        y : ndarray of shape (rows,) or (rows, targets)
            Codes of classes, or targets; see `codes`.
        weights : ndarray of shape (rows,), optional
        """
        first = 0
        for block in self.pipeline.blocks(self._stored(rows, y)):
            stop = first + len(block)
            chunk = self.pipeline.learn(block)
            block_weights = None
            if weights is not None:
                block_weights = weights[first:stop]
            scores = learn_or_refuse(self.learner, chunk.X, chunk.y, block_weights)
            learned = LearnedRows(chunk.X, self.without_margins(scores))
            if learned.diverged is None and self.probabilities is not None:
                known = self.probabilities
                counted = block_weights if known.counts_weights else None
                answers, learned.codes = known.follow(scores, chunk.y, counted)
                learned.probabilities = answers[:, learned.scores.shape[1] :]
            elif learned.diverged is None and isinstance(
                self.learner, LogProbabilityScores
            ):
                learned.probabilities = self.learner.probabilities_of(learned.scores)
            yield learned
            first = stop

    def _learn_dataset(self, X: Dataset, y: Any, sample_weight: Any) -> None:
        if y is not None or sample_weight is not None:
            raise ParameterError(
                "X is a Dataset, which has labels and weights of its own; leave y and "
                "sample_weight out, or give its chunks"
            )
        # A learner that takes no weights learns such rows alike, where `partial_fit`
        # would refuse the weights that a caller gives.
        weighted = X.weights is not None and self.learner.takes_weights
        for rows in ModelSource(self.about.columns, X.path, "train"):
            labels = rows.labels
            weights = rows.weights if weighted else None
            self.partial_fit(Encoded(rows.X), labels, sample_weight=weights)

    def _labels_given(self, X: Any, rows: Rows, y: Any) -> NDArray[Any]:
        """Return the labels of rows, checked for their shape."""
        if self.learner.task == "novelty":
            # Detectors never see labels, so any of them are replaced.
            return np.zeros(rows_of(rows), dtype=np.int64)
        if y is None and isinstance(X, Chunk):
            y = self._labels_of_chunk(X)
        elif y is None:
            y = self._encoder.labels(X)
            if y is None:
                raise ParameterError(
                    "y is missing: X has no column of labels; give them as y"
                )
        refuse_masked(y, "y")
        labels = np.asarray(y)
        targets = self.about.columns.targets
        expected = (rows_of(rows), len(targets)) if targets else (rows_of(rows),)
        if labels.shape != expected:
            raise ParameterError(
                f"y has shape {labels.shape}, expected {expected}: the labels of each row"
            )
        return labels

    def _labels_of_chunk(self, chunk: Chunk) -> NDArray[Any]:
        classes = self.about.classes
        origin = chunk.origin
        if classes is None:
            return chunk.y
        own = classes if origin is None or origin.classes is None else origin.classes
        labels: NDArray[Any] = np.array(own)[chunk.y]
        return labels

    def _check_classes(self, classes: ArrayLike) -> None:
        labels = np.unique(np.asarray(classes)).tolist()
        own = list(self.about.classes or ())
        if labels != own:
            raise ParameterError(
                f"classes was {labels}, expected those of the model: {own}"
            )

    def codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return labels as the learner takes them: codes of classes, or targets.

        Raises
        ------
        ParameterError
            If a label is none of the model's.
        """
        if self.learner.task == "novelty":
            return y
        if self.about.classes is None:
            return read_only(y.astype(np.float64))
        try:
            codes = [self._codes[label] for label in y.tolist()]
            return read_only(np.array(codes, dtype=np.int64))
        except (KeyError, TypeError) as wrong:
            raise ParameterError(
                f"y has the label {wrong}, which is none of the classes of the model"
            ) from None
