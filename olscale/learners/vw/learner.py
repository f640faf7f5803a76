"""A command line of Vowpal Wabbit under the contract of learners."""

import copy
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import Signature
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows
from olscale.errors import ParameterError
from olscale.learners.contract.capability import GivesProbabilities, RanksRows
from olscale.learners.contract.cost import EstimatesCost
from olscale.learners.contract.learner import FloatArray, Learner, State, score_columns
from olscale.learners.vw.command_line import (
    CLASSES,
    Command,
    read_command,
    vowpalwabbit_version,
)
from olscale.learners.vw.example_slots import ExampleSlots

_STATE = {"seen": (1, "<i8"), "model": (1, "|u1")}
_RESUMED = ("--preserve_performance_counters", "-i")
_TRIED = 120
_LONGEST = 1e38  # squares of float32 have a finite sum below it


class WabbitLearner(Learner, EstimatesCost, GivesProbabilities, RanksRows):
    """A learner that is named by a command line of Vowpal Wabbit.

    Its predictions are those of the command line on the same rows in the same order: column j is
    the feature j of the namespace without a name, zeros are left out, and Vowpal Wabbit adds its
    constant. Values are rounded to float32. Two classes are the labels -1 and 1, with
    ``--link logistic`` also probabilities; with ``--oaa`` and the like the classes are counted,
    by the stream where it says ``--oaa {classes}``.

    What it has learned is saved as a model of Vowpal Wabbit, where that gives the same predictions;
    otherwise a run starts again from its first row after a loss.
    """

    takes_weights = True
    command: ClassVar[Command]

    def __init__(self) -> None:
        self.restorable = _is_restorable(type(self))  # type: ignore[misc]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return no parameters: they are in the name."""
        del deep
        return {}

    def __repr__(self) -> str:
        """Return the name."""
        return f"<{self.name}>"

    def resolved_params(self) -> dict[str, Any]:
        """Return no parameters: the version covers the defaults of the package."""
        return {}

    def begin(self, columns: int, classes: int, entropy: Sequence[int] = ()) -> None:
        """Start Vowpal Wabbit; its seed is that of the command line, in every run the same."""
        del entropy
        self._columns = columns
        self._command = self._command_for(classes)
        self._classes = 0 if self.task == "regression" else max(2, classes)
        self.check_memory(columns, classes)
        self._outputs = score_columns(self._classes)
        self._shown = 0
        self._updates = 0
        self._labels = self._labels_of_classes()
        self._take(self._command.start())

    def _command_for(self, classes: int) -> Command:
        """Return the command line with the number of classes in place of ``{classes}``."""
        if CLASSES not in self.name:
            return self.command
        text = self.name.removeprefix("vw:")
        return read_command(text.replace(CLASSES, str(max(2, classes))))

    def check_memory(self, columns: int, classes: int) -> None:
        """Refuse another number of classes than the command line counts; plans ask, too."""
        if CLASSES in self.name:
            return
        counted = self.command.classes
        if self.task == "regression" or max(2, classes) == (counted or 2):
            return
        if counted:
            remedy = f"write {classes} there instead of {counted}"
        else:
            remedy = f"add --oaa {classes}, or --oaa {CLASSES} for any data set"
        raise ParameterError(
            f"learner {self.name} learns {counted or 2} classes, but the stream has "
            f"{classes}; {remedy}"
        )

    def _labels_of_classes(self) -> list[str]:
        """Return the label of each class as Vowpal Wabbit's text has it, with weight 1 or costs."""
        counted = self._command.classes
        if not counted:
            return ["-1 1", "1 1"]
        first = self._command.first_class
        numbers = range(first, first + counted)
        if not self._command.takes_costs:
            return [f"{number} 1" for number in numbers]
        return [
            " ".join(f"{number}:{int(number != own)}" for number in numbers)
            for own in numbers
        ]

    def _take(self, workspace: Any) -> None:
        """Learn with `workspace` from now on."""
        self._workspace = workspace
        self._slots = ExampleSlots(workspace)
        # Copies of a learner share the examples, which go with the last of them.
        weakref.finalize(self._slots, workspace.finish)

    def _allocate(self, columns: int, outputs: int) -> State:
        return {}

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers our learners go through in the time of one row here."""
        # A row took 0.7 us and 20 ns for each value and class more.
        return 700.0 + 20.0 * values * score_columns(classes)

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the table of weights."""
        return self.command.table_bytes

    def reserved_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the table of weights, which lies outside of Python."""
        return self.command.table_bytes

    def norm_limits(self) -> tuple[float, float]:
        """Return the squared norms that rows of float32 may have."""
        return 0.0, _LONGEST

    def expect_ranking(self) -> None:
        """Do nothing: the scores rank rows of two classes."""

    @property
    def ranking_columns(self) -> int:
        """Number of columns that only rank rows."""
        return 0

    @property
    def ranks_by_class(self) -> bool:
        """Whether Vowpal Wabbit only says which class."""
        return self.command.says_class

    def show_probabilities(self) -> bool:
        """Append the probabilities, if Vowpal Wabbit predicts them."""
        if self._command.has_probabilities:
            self._shown = self._classes
        return self._command.has_probabilities

    def with_plain_scores(self) -> Self:
        """Return the learner without columns that only the measures of a run need."""
        plain = copy.copy(self)
        plain._shown = 0
        return plain

    def learn(
        self, X: Rows, y: NDArray[Any], weights: FloatArray | None = None
    ) -> FloatArray:
        scores = self._scores_of(self._slots.learn(X, self._texts(y, weights)))
        self._updates += len(y)
        return scores

    def scores(self, X: Rows) -> FloatArray:
        return self._scores_of(self._slots.predict(X))

    def _texts(self, y: NDArray[Any], weights: FloatArray | None) -> list[str]:
        """Return the labels of rows as Vowpal Wabbit's text has them, with importance weights.

        A row without weight has no label, since labels say within which range predictions are.
        """
        if self.task == "regression":
            # An example that had a weight keeps it until it gets another one.
            texts = [f"{target!r} 1" for target in y.tolist()]
        else:
            labels = self._labels
            texts = [labels[code] for code in y.tolist()]
        if weights is None or self._command.takes_costs:
            return texts
        pairs = zip(texts, weights.tolist(), strict=True)
        return [
            f"{text.removesuffix(' 1')} {weight!r}" if weight else ""
            for text, weight in pairs
        ]

    def _scores_of(self, predictions: list[Any]) -> FloatArray:
        """Return the scores for predictions of Vowpal Wabbit: a number, a class, or a list."""
        answers = np.array(predictions, dtype=np.float64)
        scores: FloatArray
        if self.task == "regression":
            return answers.reshape(-1, 1)
        if not self._command.classes:
            has_link = self._command.link == "logistic"
            scores = (answers - 0.5 if has_link else answers).reshape(-1, 1)
            shown = np.column_stack([1.0 - answers, answers])
        elif self._command.says_class:
            codes = answers - self._command.first_class
            scores = (codes[:, np.newaxis] == np.arange(self._classes)).astype(
                np.float64
            )
            shown = scores
        else:
            shown = scores = answers.reshape(-1, self._classes)
        if self._classes == 2 and scores.shape[1] == 2:
            scores = scores[:, 1:] - scores[:, :1]
        return np.hstack([scores, shown[:, : self._shown]])

    def state(self) -> State:
        """Return the number of rows learned and, if it can be restored, the model as bytes."""
        if not self.restorable:
            return {}
        rows_learned = np.array([self._updates], dtype=np.int64)
        return {"seen": rows_learned, "model": self._model()}

    def _model(self) -> NDArray[np.uint8]:
        """Return the bytes of the file that Vowpal Wabbit saves."""
        with tempfile.TemporaryDirectory(prefix="olscale-vw-") as folder:
            path = Path(folder) / "model"
            self._workspace.save(str(path))
            return np.frombuffer(path.read_bytes(), dtype=np.uint8)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`; call `begin` first.

        Raises
        ------
        ValueError
            If it is no state of this learner.
        """
        types = {name: (array.ndim, array.dtype.str) for name, array in state.items()}
        no_fit = f"state does not fit learner {self.name}: "
        if types != _STATE or state["seen"].shape != (1,) or state["seen"][0] < 0:
            raise ValueError(f"{no_fit}no rows lead to its arrays")
        with tempfile.TemporaryDirectory(prefix="olscale-vw-") as folder:
            path = Path(folder) / "model"
            path.write_bytes(state["model"].tobytes())
            try:
                workspace = self._command.start([*_RESUMED, str(path)])
            except RuntimeError as error:
                raise ValueError(f"{no_fit}{' '.join(str(error).split())}") from None
        self._take(workspace)
        # Vowpal Wabbit reads half a file without a word.
        if not np.array_equal(self._model(), state["model"]):
            raise ValueError(f"{no_fit}Vowpal Wabbit would write another model")
        self._updates = int(state["seen"][0])

    def measures(self) -> dict[str, float]:
        """Return the rows learned and, if the model can be restored, its size in bytes."""
        measures = {"updates": float(self._updates)}
        if self.restorable:
            measures["model_bytes"] = float(
                sum(array.nbytes for array in self.state().values())
            )
        return measures


@cache
def _is_restorable(kind: type[WabbitLearner]) -> bool:
    """Return whether a restored model continues as before.

    Raises
    ------
    ParameterError
        If a prediction changes what is learned, as where both draw from the same numbers.
    """
    undisturbed = _untrained(kind)
    predicting = _untrained(kind)
    saved = _untrained(kind)
    restored = _untrained(kind)
    rng = np.random.default_rng(0)
    X = np.round(4.0 * rng.normal(size=(2 * _TRIED, 6)))
    y: NDArray[Any] = X[:, 0] + X[:, 1] * X[:, 2]
    if kind.task == "classification":
        y = rng.integers(0, undisturbed._classes, len(y))
    for learner in (undisturbed, predicting, saved):
        learner.learn(X[:_TRIED], y[:_TRIED])
    predicting.scores(X[:_TRIED])
    expected = undisturbed.learn(X[_TRIED:], y[_TRIED:])
    scores = predicting.learn(X[_TRIED:], y[_TRIED:])
    if not np.array_equal(expected, scores, equal_nan=True):
        raise ParameterError(
            f"learner {kind.name} draws random numbers where it only predicts, so that a "
            "test would change what it learns; leave such options out"
        )
    try:
        restored.restore(saved.state())
        scores_later = [
            learner.learn(X[_TRIED:], y[_TRIED:]) for learner in (saved, restored)
        ]
        models = [
            learner.state()["model"] for learner in (undisturbed, saved, restored)
        ]
    except (RuntimeError, ValueError):
        # What it writes cannot be read.
        return False
    same_scores = all(
        np.array_equal(expected, scores, equal_nan=True) for scores in scores_later
    )
    return same_scores and all(np.array_equal(models[0], model) for model in models[1:])


def _untrained(kind: type[WabbitLearner]) -> WabbitLearner:
    learner = kind.__new__(kind)
    learner.restorable = True  # type: ignore[misc]
    learner.begin(6, kind.command.classes or 2)
    return learner


@cache
def vw_learner(command: str) -> type[WabbitLearner]:
    """Return the class of learners that a command line of Vowpal Wabbit names.

    Raises
    ------
    ParameterError
        If Vowpal Wabbit does not accept it, it is none for rows with a class or a target each, or
        vowpalwabbit is not installed.
    """
    read = read_command(command.replace(CLASSES, "2"))
    attributes = {
        "__doc__": WabbitLearner.__doc__,
        "__module__": WabbitLearner.__module__,
        "__signature__": Signature(),
        "name": f"vw:{command}",
        "version": vowpalwabbit_version(),
        "task": read.task,
        "takes_weights": not read.takes_costs,
        "command": read,
    }
    return type(WabbitLearner.__name__, (WabbitLearner,), attributes)
