"""Labels of a dataset as taught to a model, and the class codes of its predictions."""

from collections.abc import Sequence
from typing import Any


class ClassLabels:
    """The labels of the class codes 0, 1, ...; without labels, these numbers.

    Examples
    --------
    >>> labels = ClassLabels(["ham", "spam"])
    >>> labels.of(1), labels.code("ham"), labels.code("eggs")
    ('spam', 0, 'eggs')
    """

    def __init__(self, labels: Sequence[Any] = ()) -> None:
        self._labels = tuple(labels)
        self._codes = {label: code for code, label in enumerate(self._labels)}

    @property
    def are_codes(self) -> bool:
        """Whether each label is its code."""
        return self._labels == tuple(range(len(self._labels)))

    def of(self, code: int) -> Any:
        """Return the label of a class code."""
        return self._labels[code] if self._labels else code

    def code(self, prediction: Any) -> Any:
        """Return the class code of a prediction; one that is not a label is returned unchanged."""
        if not self._labels:
            return prediction
        try:
            return self._codes.get(prediction, prediction)
        except TypeError:  # a list or array is not a label
            return prediction

    def text(self, classes: int) -> str:
        """Return the labels as text for a message."""
        return (
            f"the numbers 0 to {classes - 1}"
            if self.are_codes
            else ", ".join(map(repr, self._labels))
        )


CODES = ClassLabels()
"""Labels that are the class codes."""
