"""The columns of a learner's scores, and what a run reads from each of them.

First come the learner's own scores, from which predictions are made; then at most one column of
scores that rank rows; then one probability per class, or the margins that become probabilities.
"""

from olscale.arrays import Array, FloatArray
from olscale.data.chunk import Chunk
from olscale.evaluation.label_delay import Scored
from olscale.evaluation.metrics import Metric, StreamShape
from olscale.learners.class_probabilities import ClassProbabilities
from olscale.learners.contract.learner import predictions_of


class ScoreColumns:
    """Reads predictions, ranks and probabilities from the scores of a run.

    Parameters
    ----------
    shape : StreamShape
        Task, classes and scoring of the stream.
    ranking : int
        Number of columns that rank rows.
    probabilities : ClassProbabilities, optional
        Makes probabilities of scores.
    shows_probabilities : bool
        Whether metrics read the probabilities; otherwise they are only calibrated along the
        stream, for a model that is kept.

    Attributes
    ----------
    further : int
        Number of columns that the learner appends to its own.
    """

    def __init__(
        self,
        shape: StreamShape,
        ranking: int,
        probabilities: ClassProbabilities | None,
        *,
        shows_probabilities: bool,
    ) -> None:
        self._task = shape.task
        self._scoring = shape.scoring
        self._ranking = ranking
        self._probabilities = probabilities
        self._shows_probabilities = shows_probabilities
        self.further = ranking
        self._shown = 0
        if probabilities is not None and shows_probabilities:
            self.further += probabilities.columns
            self._shown = shape.classes

    def assess(self, chunk: Chunk, scored: Scored) -> tuple[FloatArray, Array]:
        """Return scores of the stream with probabilities, and predictions, before each label."""
        if self._probabilities is None:
            return scored.scores, self._predictions(scored.scores)
        events = scored.arrivals
        weights = chunk.weights
        if events is not None:
            weights = events.weights
        # what measures count is calibrated
        if not self._scoring.weighted_measures:
            weights = None
        if events is None:
            scores, codes = self._probabilities.follow(scored.scores, chunk.y, weights)
        else:
            scores, codes = self._probabilities.follow(
                events.scores, events.taught, weights
            )
            scores = scores[events.asked]
            if codes is not None:
                codes = codes[events.asked]
        if not self._shows_probabilities:
            return scored.scores, self._predictions(scored.scores)
        if codes is None:
            codes = self._predictions(scores)
        return scores, codes

    def answer(self, scores: FloatArray) -> tuple[FloatArray, Array]:
        """Return scores of other rows with probabilities, and predictions."""
        if self._probabilities is None or not self._shows_probabilities:
            return scores, self._predictions(scores)
        scores, codes = self._probabilities.answer(scores)
        if codes is None:
            codes = self._predictions(scores)
        return scores, codes

    def read_by(self, metric: Metric, scores: FloatArray) -> FloatArray:
        """Return the columns of `scores` that a metric reads."""
        outputs = self._own_columns(scores)
        if metric.reads_probabilities:
            return scores[:, outputs + self._ranking :]
        if metric.ranks_rows and self._ranking:
            return scores[:, outputs : outputs + self._ranking]
        return scores[:, :outputs]

    def _predictions(self, scores: FloatArray) -> Array:
        return predictions_of(scores[:, : self._own_columns(scores)], self._task)

    def _own_columns(self, scores: FloatArray) -> int:
        """Return the number of score columns that predictions are made from."""
        # Counted from the end: a learner of two classes may return one column or two.
        return int(scores.shape[1]) - self._ranking - self._shown
