"""How a regression tree predicts a row and learns from it, with alternates where it drifts."""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from olscale.compiled.decorator import inlined, nested
from olscale.compiled.elementary import quotient
from olscale.compiled.java_random import next_double
from olscale.learners.contract.learner import FloatArray
from olscale.learners.tree.forest_draws import draw_until_different
from olscale.learners.tree.gaussian_splits import hoeffding_bound
from olscale.learners.tree.regression_arrays import (
    ALTERNATE,
    ALTERNATE_LOSS,
    ALTERNATES,
    COMPARED_ROWS,
    DRIFT,
    ERRORS,
    EVALUATED,
    FIRST,
    LAST_COMPARED,
    LEAF,
    LEARNED,
    LEAST_DRIFT,
    LEAVES,
    LOSS,
    NONE,
    ORIGINAL,
    PARENT,
    SECOND,
    SQUARES,
    SQUARES_BEFORE,
    STARTED,
    TOTAL,
    TOTAL_BEFORE,
    WATCHES,
    WEIGHT,
    WEIGHT_BEFORE,
    Trees,
)
from olscale.learners.tree.regression_nodes import (
    add_leaf,
    free_lost_nodes,
    free_values,
    keep_values,
    restart_watching,
    split_leaf,
    stop_watching,
)
from olscale.learners.tree.target_sums import NO_NODE, SumTrees, best_cut

SPREADS = 3.0
"""Standard deviations that count as 1 in linear models."""


class RegressionRule(NamedTuple):
    """Parameters of the trees, and whether leaves have linear models, and draw their features."""

    grace: int
    confidence: float
    tie: float
    alpha: float
    lam: float
    fading: float
    t_min: float
    t_max: float
    eta: float
    decay: float
    max_leaves: int
    has_models: bool
    draws_features: bool


class LearnedRow(NamedTuple):
    """A row that is learned.

    Parameters
    ----------
    x, z : float64 arrays of shape (columns,) and (columns + 1,)
        Its features, and these standardized, with the factor of the constant.
    features : int32 array of shape (nodes, features of a leaf)
        The features whose values leaves keep; of one row if all leaves keep the same.
    target, weight : float
    mean, spread : float
        Mean and standard deviation of the targets so far.
    predicted, error : float
        The prediction of the tree, and its absolute error in units of the targets.
    """

    x: FloatArray
    z: FloatArray
    features: Any
    target: float
    weight: float
    mean: float
    spread: float
    predicted: float
    error: float


@inlined
def spread_of(weight: float, total: float, squares: float) -> float:
    """Return the standard deviation; 0 of fewer than two rows, or where rounding has lost it."""
    if weight <= 1.0:
        return 0.0
    variance = quotient(squares - quotient(total * total, weight), weight)
    return sqrt(variance) if variance > 0.0 else 0.0


@inlined
def in_spreads(value: float, mean: float, spread: float) -> float:
    """Return how many times three standard deviations a target is from the mean."""
    if spread > 0.0:
        return (value - mean) / (SPREADS * spread)
    return 0.0


@inlined
def leaf_of(x: Any, trees: Trees, root: int) -> tuple[int, int]:
    """Return the leaf that a row comes to, and how many tests it passes."""
    node = root
    depth = 0
    while trees.feature[node] != LEAF:
        above = x[trees.feature[node]] > trees.threshold[node]
        node = trees.links[node, FIRST + above]
        depth += 1
    return node, depth


@inlined
def _linear(weights: Any, z: Any) -> float:
    total = 0.0
    for j in range(z.shape[0]):
        total += weights[j] * z[j]
    return total


@inlined
def prediction_at(
    trees: Trees, node: int, z: Any, mean: float, spread: float, has_models: bool
) -> float:
    """Return the prediction of a leaf."""
    if has_models:
        # The constant has the factor 0 up to the second row: targets have no spread before.
        if z[z.shape[0] - 1] == 0.0:
            return 0.0
        return _linear(trees.weights[node], z) * spread * SPREADS + mean
    weight = trees.numbers[node, WEIGHT]
    if weight > 0.0:
        return float(trees.numbers[node, TOTAL] / weight)
    return 0.0


@inlined
def _learn_model(
    trees: Trees, node: int, row: LearnedRow, rule: Any, random: Any
) -> None:
    """Move the linear model of a leaf by one step of the delta rule."""
    weights = trees.weights[node]
    z = row.z
    if not trees.flags[node, STARTED]:
        trees.flags[node, STARTED] = True
        for j in range(z.shape[0]):
            # At the first row, as MOA does: its draws come in this order.
            weights[j] = 2.0 * next_double(random) - 1.0
    numbers = trees.numbers[node]
    numbers[LEARNED] += row.weight
    rate = rule.eta / (1.0 + numbers[LEARNED] * rule.decay)
    missed = in_spreads(row.target, row.mean, row.spread) - _linear(weights, z)
    step = missed * rate
    for j in range(z.shape[0]):
        weights[j] += z[j] * step


@nested
def _try_to_split(
    trees: Trees,
    tree: int,
    sums: SumTrees,
    node: int,
    features: Any,
    rule: Any,
    stack: Any,
) -> bool:
    """Split a leaf where that is sure enough; return whether nodes are lost by that."""
    keep_values(trees, sums, node)
    numbers = trees.numbers[node]
    weight = numbers[WEIGHT] - numbers[WEIGHT_BEFORE]
    total = numbers[TOTAL] - numbers[TOTAL_BEFORE]
    squares = numbers[SQUARES] - numbers[SQUARES_BEFORE]
    numbers[EVALUATED] = numbers[WEIGHT]
    best = -np.inf
    second = -np.inf
    best_place = NONE
    best_at = 0.0
    for place in range(features.shape[0]):
        root = trees.values[node, place]
        if root == NO_NODE:
            continue
        merit, at = best_cut(sums, root, weight, total, squares, stack)
        # Of equal candidates the last wins.
        if merit >= best:
            second = best
            best = merit
            best_place = place
            best_at = at
        elif merit > second:
            second = merit
    if best_place == NONE:
        return False
    bound = hoeffding_bound(2, rule.confidence, weight)
    # A single feature has no second best to be compared with.
    is_alone = features.shape[0] < 2
    if is_alone or quotient(second, best) < 1.0 - bound or bound < rule.tie:
        j = features[best_place]
        return bool(split_leaf(trees, tree, sums, node, j, best_at, stack))
    return False


@nested
def _learn_in_leaf(
    trees: Trees,
    tree: int,
    sums: SumTrees,
    node: int,
    row: LearnedRow,
    rule: Any,
    grows: bool,
    random: Any,
    stack: Any,
) -> bool:
    """Add a row to a leaf, which may split; return whether nodes are lost by that."""
    numbers = trees.numbers[node]
    y = row.target
    numbers[WEIGHT] += row.weight
    numbers[TOTAL] += row.weight * y
    numbers[SQUARES] += row.weight * y * y
    own = prediction_at(trees, node, row.z, row.mean, row.spread, rule.has_models)
    # The distance counts as a target, as in MOA.
    distance = in_spreads(abs(y - own), row.mean, row.spread)
    numbers[ERRORS] += row.weight * abs(distance)
    if rule.has_models:
        _learn_model(trees, node, row, rule, random)
    if trees.sizes[tree, LEAVES] >= rule.max_leaves:
        # Nothing is kept that no split could use, and what comes later begins anew.
        free_values(trees, sums, node, stack)
        numbers[WEIGHT_BEFORE] = numbers[WEIGHT]
        numbers[TOTAL_BEFORE] = numbers[TOTAL]
        numbers[SQUARES_BEFORE] = numbers[SQUARES]
        numbers[EVALUATED] = numbers[WEIGHT]
        return False
    features = row.features[min(node, row.features.shape[0] - 1)]
    # At the first row, not at the split: draws come in the order of MOA.
    if rule.draws_features and not trees.flags[node, STARTED]:
        trees.flags[node, STARTED] = True
        draw_until_different(random, row.x.shape[0], features)
    row_values = trees.rows[node, trees.waiting[node]]
    trees.waiting[node] += 1
    for place in range(features.shape[0]):
        row_values[place] = row.x[features[place]]
    row_values[features.shape[0]] = y
    if trees.waiting[node] == trees.rows.shape[1]:
        keep_values(trees, sums, node)
    if grows and numbers[WEIGHT] - numbers[EVALUATED] >= rule.grace:
        return bool(_try_to_split(trees, tree, sums, node, features, rule, stack))
    return False


@nested
def _learn_in_alternate(
    trees: Trees,
    tree: int,
    sums: SumTrees,
    node: int,
    row: LearnedRow,
    rule: Any,
    random: Any,
    stack: Any,
) -> bool:
    while trees.feature[node] != LEAF:
        trees.numbers[node, WEIGHT] += row.weight
        trees.numbers[node, ERRORS] += row.weight * row.error
        above = row.x[trees.feature[node]] > trees.threshold[node]
        node = trees.links[node, FIRST + above]
    return bool(_learn_in_leaf(trees, tree, sums, node, row, rule, True, random, stack))


@nested
def _replace(trees: Trees, tree: int, node: int, grows: bool) -> int:
    """Put the alternate of a test in its place, and return it."""
    alternate = trees.links[node, ALTERNATE]
    parent = trees.links[node, PARENT]
    if parent == NONE:
        trees.roots[tree] = alternate
    else:
        side = trees.links[parent, SECOND] == node
        trees.links[parent, FIRST + side] = alternate
    if parent == NONE or grows:
        restart_watching(trees, alternate)
    trees.links[alternate, ORIGINAL] = NONE
    return int(alternate)


@nested
def _compare(trees: Trees, node: int, row: LearnedRow, rule: Any) -> bool:
    """Add the losses of a test and of its alternate; return whether it is time to decide."""
    numbers = trees.numbers[node]
    alternate, _ = leaf_of(row.x, trees, trees.links[node, ALTERNATE])
    own = row.target - row.predicted
    other = row.target - prediction_at(
        trees, alternate, row.z, row.mean, row.spread, rule.has_models
    )
    # A weight stands for so many equal rows: the loss fades with each.
    for _ in range(int(row.weight)):
        numbers[LOSS] = own * own + rule.fading * numbers[LOSS]
        numbers[ALTERNATE_LOSS] = other * other + rule.fading * numbers[ALTERNATE_LOSS]
        numbers[COMPARED_ROWS] += 1.0
    if numbers[COMPARED_ROWS] - numbers[LAST_COMPARED] < rule.t_min:
        return False
    numbers[LAST_COMPARED] = numbers[COMPARED_ROWS]
    return True


@nested
def _drifts(trees: Trees, node: int, row: LearnedRow, rule: Any) -> bool:
    """Add an error to the test of Page and Hinckley; return whether errors have grown."""
    numbers = trees.numbers[node]
    usual = quotient(numbers[ERRORS], numbers[WEIGHT])
    numbers[DRIFT] += row.error - usual - rule.alpha
    numbers[LEAST_DRIFT] = min(numbers[LEAST_DRIFT], numbers[DRIFT])
    return bool(numbers[DRIFT] - numbers[LEAST_DRIFT] > rule.lam)


@nested
def _begin_alternate(trees: Trees, tree: int, node: int) -> None:
    alternate = add_leaf(trees)
    trees.links[node, ALTERNATE] = alternate
    trees.links[alternate, ORIGINAL] = node
    numbers = trees.numbers[node]
    numbers[COMPARED_ROWS] = 0.0
    numbers[LAST_COMPARED] = 0.0
    numbers[LOSS] = 0.0
    numbers[ALTERNATE_LOSS] = 0.0
    trees.sizes[tree, LEAVES] += 1
    trees.sizes[tree, ALTERNATES] += 1
    stop_watching(trees, node)


@inlined
def learn_row(
    trees: Trees,
    tree: int,
    sums: SumTrees,
    row: LearnedRow,
    rule: Any,
    random: Any,
    stack: Any,
) -> None:
    """Let a tree learn a row: its leaf, the alternates on its way, and the tests for drift."""
    node = trees.roots[tree]
    grows = True
    has_lost = False
    while trees.feature[node] != LEAF:
        numbers = trees.numbers[node]
        numbers[WEIGHT] += row.weight
        numbers[ERRORS] += row.weight * row.error
        is_replaced = False
        if trees.links[node, ALTERNATE] != NONE:
            goes_on = True
            if _compare(trees, node, row, rule):
                # More than 1 is where MOA's logarithm of the ratio is above 0.
                if quotient(numbers[LOSS], numbers[ALTERNATE_LOSS]) > 1.0:
                    node = _replace(trees, tree, node, grows)
                    is_replaced = True
                    goes_on = False
                elif numbers[COMPARED_ROWS] >= rule.t_max:
                    trees.links[node, ALTERNATE] = NONE
                    if grows:
                        restart_watching(trees, node)
                    goes_on = False
            if goes_on:
                grows = False
                alternate = trees.links[node, ALTERNATE]
                has_lost |= _learn_in_alternate(
                    trees, tree, sums, alternate, row, rule, random, stack
                )
            else:
                has_lost = True
        watches = not is_replaced and trees.flags[node, WATCHES]
        if watches and _drifts(trees, node, row, rule):
            has_lost |= trees.links[node, ALTERNATE] != NONE
            _begin_alternate(trees, tree, node)
        # What took the place of a test may be a leaf.
        if trees.feature[node] != LEAF:
            above = row.x[trees.feature[node]] > trees.threshold[node]
            node = trees.links[node, FIRST + above]
    has_lost |= _learn_in_leaf(trees, tree, sums, node, row, rule, grows, random, stack)
    if has_lost:
        free_lost_nodes(trees, sums, stack)
