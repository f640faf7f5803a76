"""Examples of Vowpal Wabbit, filled with the features of one block of rows after another."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olscale.compiled.csr import CSR, Rows, read_only_csr, rows_of, to_csr, trim
from olscale.learners.vw import example_memory
from olscale.learners.vw.example_memory import NAMESPACE

_SLOTS = 32  # an example takes about 30 KB: more of them leave the cache of a core


class ExampleSlots:
    """Some examples of a workspace, which are used again and again.

    Half of them never get a label: a label cannot be taken away from an example.

    Parameters
    ----------
    workspace : pylibvw.vw
    """

    def __init__(self, workspace: Any) -> None:
        import pylibvw

        self._workspace = workspace
        self._label_type = workspace._get_label_type()
        self._examples = [
            pylibvw.example(workspace, self._label_type) for _ in range(2 * _SLOTS)
        ]
        for example in self._examples:
            example.push_namespace(NAMESPACE)
        self._labels = [""] * _SLOTS
        self._layout = example_memory.layout()
        addresses = []
        if self._layout is not None:
            addresses = [
                example_memory.address_of(example) for example in self._examples
            ]
        self._addresses = np.array(addresses, dtype=np.int64)
        self._prediction = _prediction_of(workspace)

    def learn(self, X: Rows, labels: Sequence[str]) -> list[Any]:
        """Return the prediction for each row, which is learned with its label behind that.

        `labels` are those of Vowpal Wabbit's text; a row whose label is empty is predicted only.
        """
        # To look up a method of the package takes as long as to call it.
        set_up = self._workspace.setup_example
        learn = self._workspace.learn
        count_row = self._workspace._finish_example
        take_down = self._workspace.unsetup_example
        prediction = self._prediction
        examples = self._examples
        predictions = []
        rows = read_only_csr(trim(to_csr(X)))
        for first in range(0, len(labels), _SLOTS):
            block = labels[first : first + _SLOTS]
            numbers = self._numbers(block)
            self._set_labels(block)
            self._fill(numbers, rows, first)
            for number in numbers:
                example = examples[number]
                set_up(example)
                learn(example)
                predictions.append(prediction(example))
                if number < _SLOTS:
                    # Learning rates may depend on how many rows there were.
                    count_row(example)
                take_down(example)
        return predictions

    def predict(self, X: Rows) -> list[Any]:
        """Return the prediction for each row; nothing is learned or counted."""
        return self.learn(X, [""] * rows_of(X))

    def _numbers(self, labels: Sequence[str]) -> list[int]:
        """Return the number of an example for each row, by whether it has a label."""
        return [slot if label else slot + _SLOTS for slot, label in enumerate(labels)]

    def _set_labels(self, labels: Sequence[str]) -> None:
        set_labels = self._labels
        for slot, label in enumerate(labels):
            if set_labels[slot] != label and label:
                self._examples[slot].set_label_string(
                    self._workspace, label, self._label_type
                )
                set_labels[slot] = label

    def _fill(self, numbers: Sequence[int], rows: CSR, first: int) -> None:
        """Give examples, by their `numbers`, the features of the rows from `first` on."""
        if self._layout is None:
            for row, number in enumerate(numbers, first):
                self._push(self._examples[number], rows, row)
            return
        addresses = self._addresses[numbers]
        while lacking := example_memory.write_rows(
            addresses, *self._layout, *rows, first
        ):
            self._reserve(lacking)

    def _push(self, example: Any, rows: CSR, row: int) -> None:
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        values = rows.data[entries].astype(np.float32)
        is_stored = values != 0.0
        example.erase_namespace(NAMESPACE)
        example_memory.push(
            self._workspace,
            example,
            rows.indices[entries][is_stored].tolist(),
            values[is_stored].tolist(),
        )

    def _reserve(self, count: int) -> None:
        """Let Vowpal Wabbit make space for at least `count` features in every example."""
        ones = [1.0] * count
        for example in self._examples:
            example.erase_namespace(NAMESPACE)
            example_memory.push(self._workspace, example, [*range(count)], ones)


def _prediction_of(workspace: Any) -> Callable[[Any], Any]:
    """Return the function that reads a prediction from an example."""
    import pylibvw

    kind = workspace._get_prediction_type()
    if kind == workspace.pSCALAR:
        return pylibvw.example.get_simplelabel_prediction  # type: ignore[no-any-return]
    if kind == workspace.pMULTICLASS:
        return pylibvw.example.get_multiclass_prediction  # type: ignore[no-any-return]
    return pylibvw.example.get_scalars  # type: ignore[no-any-return]
