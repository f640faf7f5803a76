"""Weights of classes: a row's weight is multiplied by that of its class.

With ``"balanced"`` all classes have the same total weight. Along a stream the final number of rows
per class is unknown, so the weight of a row depends on the rows so far: with n of them, including
this one, of K classes, and m of its class, it is ``n / (K m)``. The counts are part of the state.
`fit`, which has all rows, uses their n, K and m.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import read_only
from olscale.compiled.decorator import compiled
from olscale.errors import ParameterError
from olscale.learners.contract.learner import FloatArray, Learner, no_weights
from olscale.learners.contract.parameters import Real, param

BALANCED = "balanced"
NAME = "class_weight"
_COUNTS = "class_counts"


@dataclass(frozen=True, slots=True)
class ClassWeight:
    """The word ``"balanced"``, weights by class label, or nothing."""

    words: tuple[str, ...] = (BALANCED,)

    def accept(self, name: str, value: Any) -> Any:
        """Return weights by the text of the labels, in their order; None and words unchanged."""
        if value is None or (isinstance(value, str) and value in self.words):
            return value
        if not isinstance(value, Mapping) or not value:
            raise ParameterError(f"parameter {name} was {value!r}, expected {self}")
        weight = Real(0.0)
        weights = {
            _name_of(label): weight.accept(f"{name} of class {label!r}", number)
            for label, number in value.items()
        }
        if len(weights) < len(value):
            raise ParameterError(
                f"parameter {name} was {value!r}, expected one weight a label"
            )
        return dict(sorted(weights.items()))

    def __str__(self) -> str:
        return f"{BALANCED!r}, or a weight >= 0 for each label, or nothing"


@compiled
def _weigh_by_counts(
    y: NDArray[np.int64], counts: NDArray[np.int64], weights: FloatArray
) -> None:
    """Set the weights of rows so that classes have equal total weight so far; count the rows."""
    rows = 0
    classes = 0
    for count in counts:
        rows += count
        classes += count > 0
    for i in range(y.shape[0]):
        weights[i] = 1.0
        if y[i] < 0:  # an unknown label
            continue
        classes += counts[y[i]] == 0
        counts[y[i]] += 1
        rows += 1
        weights[i] = rows / (classes * counts[y[i]])


class WeighsClasses(Learner):
    """Base of classifiers that take weights of rows and so of classes: adds `class_weight`.

    A class that writes its own ``__init__`` gets the parameter too.
    """

    takes_weights: ClassVar[bool] = True
    class_weight: str | Mapping[Any, float] | None = param(
        None,
        ClassWeight(),
        "What rows of a class weigh, times their own weights. ``'balanced'``: all classes the same "
        "together, by the rows so far, in `fit` by all of them. Classes that a mapping of labels "
        "to weights does not name weigh 1.",
    )
    _labels = tuple[Any, ...]()
    _has_all_rows = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if NAME not in inspect.signature(cls.__init__).parameters:
            cls.__init__ = _with_class_weight(cls.__init__)  # type: ignore[method-assign]
        cls.domains = {**cls.domains, NAME: ClassWeight()}

    def resolved_params(self) -> dict[str, Any]:
        """Return all parameters in canonical form, without `class_weight` if it is None."""
        params = super().resolved_params()
        if params.get(NAME) is None:
            params.pop(NAME, None)
        return params

    def _start(self, columns: int, outputs: int) -> None:
        super()._start(columns, outputs)
        if self.class_weight is not None and not self.takes_weights:
            raise ParameterError(no_weights(self.name))
        if self.class_weight == BALANCED:
            self.state_[_COUNTS] = np.zeros(max(2, self._classes), dtype=np.int64)
        elif self.class_weight is not None:
            self._class_factors()  # raises for unknown labels

    def _weights_of(
        self, y: NDArray[Any], weights: FloatArray | None
    ) -> FloatArray | None:
        weights = super()._weights_of(y, weights)
        if self.class_weight is None:
            return weights
        if self.class_weight == BALANCED:
            of_classes = self._balanced_weights(y)
        else:
            of_classes = self._named_weights(y)
        return read_only(of_classes if weights is None else of_classes * weights)

    def _balanced_weights(self, y: NDArray[np.int64]) -> FloatArray:
        counts = self.state_[_COUNTS]
        weights = np.empty(len(y))
        if self._has_all_rows:
            counts += np.bincount(y, minlength=len(counts))
            weights[:] = len(y) / (np.count_nonzero(counts) * counts[y])
        else:
            _weigh_by_counts(read_only(y), counts, weights)
        return weights

    def _named_weights(self, y: NDArray[np.int64]) -> FloatArray:
        weights: FloatArray = np.where(y >= 0, self._class_factors()[y], 1.0)
        return weights

    def _class_factors(self) -> FloatArray:
        """Return the weights of all classes in the order of their codes."""
        factors = ClassWeight().accept(NAME, self.class_weight)
        labels = self._labels or range(max(2, self._classes))
        texts = [_text_of(label, factors) for label in labels]
        unknown = sorted(factors.keys() - set(texts))
        if unknown:
            raise ParameterError(
                f"learner {self.name}: class_weight names {', '.join(map(repr, unknown))}, and "
                "the classes are "
                f"{', '.join(repr(str(label)) for label in labels)}; name some of those"
            )
        return np.array([factors.get(text, 1.0) for text in texts])


def _text_of(label: Any, named: Mapping[str, float]) -> str:
    """Return the key of a label in a mapping; a whole number also matches without a point."""
    if str(label) in named:
        return str(label)
    return _name_of(label)


def _name_of(label: Any) -> str:
    """Return the text of a label; whole numbers have no point, as 1.0 and 1 are one label."""
    if isinstance(label, float | np.floating) and label == label // 1:
        return str(int(label))
    return str(label)


def _with_class_weight(init: Callable[..., None]) -> Callable[..., None]:
    """Return `init` with the additional parameter `class_weight`."""

    @wraps(init)
    def init_weighted(
        self: Any, *values: Any, class_weight: Any = None, **named: Any
    ) -> None:
        init(self, *values, **named)
        self.class_weight = class_weight

    signature = inspect.signature(init)
    parameter = inspect.Parameter(NAME, inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [*signature.parameters.values(), parameter]
    weighted = signature.replace(parameters=parameters)
    init_weighted.__signature__ = weighted  # type: ignore[attr-defined]
    return init_weighted


def weighs_classes(learner: object) -> bool:
    """Return whether `learner`, with its parameters, weighs classes differently.

    It then learns alone, all its classes at once and in the order of the stream: the weight of a
    row depends on the labels before it.

    Examples
    --------
    >>> from olscale.learners import PA1
    >>> weighs_classes(PA1()), weighs_classes(PA1(class_weight="balanced"))
    (False, True)
    """
    return isinstance(learner, WeighsClasses) and learner.class_weight is not None


def name_classes(learner: object, labels: Sequence[Any]) -> None:
    """Give a learner the labels of the classes in code order, before `begin`.

    It may weigh some classes by name.
    """
    if isinstance(learner, WeighsClasses):
        learner._labels = tuple(labels)
