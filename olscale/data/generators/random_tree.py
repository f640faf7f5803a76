"""A random decision tree: rows drawn uniformly, whose classes are those of its leaves.

Nominal features have numbered values of equal probability, numeric ones are uniform from 0 to 1. A
node tests a feature drawn from the numeric ones and the nominal ones not tested above it; the
threshold of a numeric one is drawn between those above. Leaves begin at a depth, each with a
probability; at the largest depth all nodes are leaves. Their classes are drawn.

The rows are those of MOA's ``RandomTreeGenerator -r MODEL_SEED -i SEED``.

References
----------
P. Domingos, G. Hulten, "Mining high-speed data streams", KDD 2000, section 4.1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.decorator import compiled
from olscale.compiled.java_random import java_random, next_double, next_int
from olscale.data.generators.concept_stream import ROWS, ConceptStream, batches_of
from olscale.data.generators.numbered_columns import NumberedColumns
from olscale.data.generators.option_values import flag, real, whole
from olscale.errors import ParameterError

__all__ = ["ROWS", "SEGMENTS", "RandomTree", "batches"]

SEGMENTS = False

_MOST_NODES = 100_000


@compiled
def _draw(
    random: Any,
    nominal: int,
    values: int,
    tested: Any,
    thresholds: Any,
    first_children: Any,
    labels: Any,
    X: Any,
    y: Any,
) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if j < nominal:
                X[i, j] = next_int(random, values)
            else:
                X[i, j] = next_double(random)
        node = 0
        while tested[node] >= 0:
            value = X[i, tested[node]]
            branch = int(value)
            if tested[node] >= nominal:
                branch = 0 if value < thresholds[node] else 1
            node = first_children[node] + branch
        y[i] = labels[node]


class _Tree:
    """The nodes of a random tree; the children of a node stand next to each other.

    Attributes
    ----------
    tested : list of int
        Column that a node tests, -1 at a leaf.
    thresholds : list of float
        Of nodes that test a numeric column.
    first_children, labels : list of int
        The first child of a node that tests, the class of a leaf.
    """

    def __init__(
        self,
        seed: int,
        classes: int,
        nominal: int,
        numeric: int,
        values: int,
        depth: int,
        first_leaf: int,
        leaf_share: float,
    ) -> None:
        self._random = java_random(seed)
        self._classes = classes
        self._nominal = nominal
        self._values = values
        self._depth = depth
        self._first_leaf = first_leaf
        self._leaf_share = leaf_share
        self.tested = [-1]
        self.thresholds = [0.0]
        self.first_children = [0]
        self.labels = [0]
        self._grow(0, 0, list(range(nominal)), [0.0] * numeric, [1.0] * numeric)

    def _is_leaf(self, level: int) -> bool:
        if level >= self._depth:
            return True
        if level < self._first_leaf:
            return False
        return self._leaf_share >= 1.0 - next_double(self._random)

    def _grow(
        self,
        node: int,
        level: int,
        untested: list[int],
        lowest: list[float],
        highest: list[float],
    ) -> None:
        """Draw what is below `node`, in MOA's order: a child with all below it, then the next."""
        if self._is_leaf(level):
            self.labels[node] = next_int(self._random, self._classes)
            return
        choice = next_int(self._random, len(untested) + len(lowest))
        if choice < len(untested):
            column = untested[choice]
            self.tested[node] = column
            first = self._add_children(node, self._values)
            others = [other for other in untested if other != column]
            for child in range(first, first + self._values):
                self._grow(child, level + 1, others, lowest, highest)
            return
        place = choice - len(untested)
        low = lowest[place]
        threshold = (highest[place] - low) * next_double(self._random) + low
        self.tested[node] = self._nominal + place
        self.thresholds[node] = threshold
        first = self._add_children(node, 2)
        below = [*highest[:place], threshold, *highest[place + 1 :]]
        above = [*lowest[:place], threshold, *lowest[place + 1 :]]
        self._grow(first, level + 1, untested, lowest, below)
        self._grow(first + 1, level + 1, untested, above, highest)

    def _add_children(self, node: int, count: int) -> int:
        first = len(self.tested)
        if first + count > _MOST_NODES:
            raise ParameterError(
                f"the random tree has more than {_MOST_NODES:,} nodes, expected fewer; give "
                "depth or values a smaller number"
            )
        self.first_children[node] = first
        self.tested += [-1] * count
        self.thresholds += [0.0] * count
        self.first_children += [0] * count
        self.labels += [0] * count
        return first


class RandomTree(ConceptStream):
    """A random decision tree.

    Parameters
    ----------
    seed : int
        Seed of ``java.util.Random`` for the rows.
    model_seed : int, default 1
        The same for the tree, so that another one is another concept.
    classes : int, default 2
        Number of classes.
    nominal : int, default 5
        Number of nominal features, which come first.
    numeric : int, default 5
        Number of numeric features.
    values : int, default 5
        Number of values of a nominal feature.
    depth : int, default 5
        Largest depth of the tree.
    first_leaf : int, default 3
        Least depth of a leaf.
    leaf_share : float, default 0.15
        Probability of a leaf from there on.
    one_hot : bool, default False
        Whether each value of a nominal feature is a column of its own.
    """

    def __init__(
        self,
        seed: int,
        model_seed: int = 1,
        classes: int = 2,
        nominal: int = 5,
        numeric: int = 5,
        values: int = 5,
        depth: int = 5,
        first_leaf: int = 3,
        leaf_share: float = 0.15,
        one_hot: bool = False,
    ) -> None:
        self._nominal = whole("nominal", nominal, 0)
        self._values = whole("values", values, 2)
        numeric = whole("numeric", numeric, 0)
        depth = whole("depth", depth, 0, 50)
        if numeric == 0 and self._nominal < max(depth, 1):
            raise ParameterError(
                f"without numeric features nominal is {nominal}, expected at least the depth "
                f"{depth}: a path tests each nominal feature once; give numeric 1 or more"
            )
        names = [f"nominal{number + 1}" for number in range(self._nominal)]
        numbers = tuple(f"value{number + 1}" for number in range(self._values))
        self._columns = NumberedColumns(
            [*names, *(f"numeric{number + 1}" for number in range(numeric))],
            dict.fromkeys(names, numbers),
            flag("one_hot", one_hot),
        )
        self.feature_names = self._columns.names
        self._features = self._nominal + numeric
        tree = _Tree(
            whole("model_seed", model_seed, 0),
            whole("classes", classes, 2),
            self._nominal,
            numeric,
            self._values,
            depth,
            whole("first_leaf", first_leaf, 0),
            real("leaf_share", leaf_share, 0.0, 1.0),
        )
        self._tested = np.array(tree.tested)
        self._thresholds = np.array(tree.thresholds)
        self._first_children = np.array(tree.first_children)
        self._labels = np.array(tree.labels)
        self._random = java_random(seed)

    def take(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        X = np.empty((count, self._features))
        y = np.empty(count)
        _draw(
            self._random,
            self._nominal,
            self._values,
            self._tested,
            self._thresholds,
            self._first_children,
            self._labels,
            X,
            y,
        )
        return self._columns.apply(X), y


batches = batches_of(RandomTree)
