"""Probabilities of classes with every row of scores, and the decisions made by them."""

from collections.abc import Mapping

import numpy as np

from olscale.arrays import Array, FloatArray, IntArray
from olscale.learners.calibrator import Calibrator
from olscale.learners.decision import Decision, decision_of


class ClassProbabilities:
    """The probabilities of a model: its own, else its scores calibrated as they come.

    Each row is answered, and decided, before its label teaches anything. A saved model carries it.

    Parameters
    ----------
    calibrator : Calibrator, optional
        None if the probabilities are the learner's own.
    decision : Decision, optional
        None if the learner's scores decide.
    columns : int
        Number of columns that the learner appends: probabilities, or margins to calibrate.
    ranking : int
        Number of columns before these, and after the learner's scores, that only rank rows.

    Examples
    --------
    >>> known = ClassProbabilities(Calibrator(2), None)
    >>> with_probabilities, codes = known.follow(np.array([[0.0]]), np.array([1]))
    >>> with_probabilities
    array([[0. , 0.5, 0.5]])
    """

    def __init__(
        self,
        calibrator: Calibrator | None,
        decision: Decision | None,
        columns: int = 0,
        ranking: int = 0,
    ) -> None:
        self.calibrator = calibrator
        self.decision = decision
        self.columns = columns
        self._ranking = ranking

    def follow(
        self, scores: FloatArray, y: Array, weights: FloatArray | None = None
    ) -> tuple[FloatArray, IntArray | None]:
        """Return scores with probabilities in the place of `columns`, and decisions if any.

        Parameters
        ----------
        scores : ndarray of shape (events, outputs)
            As the learner gave them, in the order in which labels arrive.
        y : int array of shape (events,)
            Class codes, negative where an event brings no label.
        weights : float64 array of shape (events,), optional
        """
        kept, probabilities = self._parts(scores)
        if self.calibrator is not None:
            probabilities = self.calibrator.follow(probabilities, y, weights)
        # Without costs the largest score decides, which the caller takes itself.
        codes = None
        if self.decision is not None:
            codes = self.decision.follow(probabilities, y, weights)
        return np.hstack([kept, probabilities]), codes

    def answer(self, scores: FloatArray) -> tuple[FloatArray, IntArray | None]:
        """Return the same of rows whose labels nothing learns."""
        kept, probabilities = self._parts(scores)
        if self.calibrator is not None:
            probabilities = self.calibrator.probabilities(probabilities)
        codes = None
        if self.decision is not None:
            codes = self.decision.decide(probabilities)
        return np.hstack([kept, probabilities]), codes

    def of(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of rows, shape (rows, classes), and learn nothing."""
        kept, _ = self._parts(scores)
        return self.answer(scores)[0][:, kept.shape[1] :]

    def _parts(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the columns that stay, and those that are or become probabilities."""
        # The model's own probabilities are its last columns.
        if self.columns:
            return scores[:, : -self.columns], scores[:, -self.columns :]
        return scores, scores[:, : scores.shape[1] - self._ranking]

    def state(self) -> dict[str, Array]:
        """Return all that has been learned, as ``calibrator.NAME`` and ``decision.NAME``."""
        arrays: dict[str, Array] = {}
        if self.calibrator is not None:
            arrays |= {
                f"calibrator.{name}": a for name, a in self.calibrator.state().items()
            }
        if self.decision is not None:
            arrays |= {
                f"decision.{name}": a for name, a in self.decision.state().items()
            }
        return arrays

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a `state`, to the same bits.

        Raises
        ------
        ValueError
            If it is none of such probabilities.
        """
        if self.calibrator is not None:
            self.calibrator = Calibrator.from_state(_of("calibrator.", state))
        if self.decision is not None:
            self.decision = decision_of(_of("decision.", state))

    def continue_from(self, earlier: "ClassProbabilities") -> None:
        """Continue with the calibrator of `earlier`, to the same bits; decisions begin anew."""
        if self.calibrator is not None and earlier.calibrator is not None:
            self.calibrator = Calibrator.from_state(earlier.calibrator.state())

    def make_writable(self) -> None:
        """Continue from copies of arrays, which joblib may map read-only."""
        self.restore({name: np.array(array) for name, array in self.state().items()})

    @property
    def counts_weights(self) -> bool:
        """Whether rows count by their weights, as in a run with weighted measures."""
        return self.calibrator is not None and self.calibrator.counts_weights

    @classmethod
    def from_state(
        cls, state: Mapping[str, Array], classes: int
    ) -> "ClassProbabilities":
        """Return those of a calibrated model of so many classes, as a saved model has them.

        Raises
        ------
        ValueError
            If it is no `state` of such a model.
        """
        of_decision = _of("decision.", state)
        calibrator = Calibrator.from_state(_of("calibrator.", state))
        known = cls(calibrator, None)
        if of_decision:
            known.decision = decision_of(of_decision)
        decided = classes if known.decision is None else known.decision.classes
        # A model file may be damaged or edited: arrays must not be read past their end.
        if not calibrator.classes == decided == classes:
            raise ValueError(
                f"its probabilities are of {calibrator.classes} classes and its decisions of "
                f"{decided}, expected {classes}"
            )
        if odd := state.keys() - known.state().keys():
            raise ValueError(f"probabilities have no {', '.join(sorted(odd))}")
        return known


def _of(mark: str, state: Mapping[str, Array]) -> dict[str, Array]:
    return {
        name.removeprefix(mark): a for name, a in state.items() if name.startswith(mark)
    }
