"""Probabilities and decisions by them as nodes of ONNX, as calibrated at the end of the stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.calibration import BEND, LEAST, NODES_A_UNIT, PRIOR_ROWS
from olscale.compiled.calibration_arrays import LOG_SPREADS, NODES, SLOPE, SPREADS
from olscale.errors import ModelError
from olscale.learners.calibrator import Calibrator
from olscale.learners.contract.score_probabilities import LogProbabilityScores
from olscale.learners.decision import CostMatrix, F1Threshold
from olscale.models.final_model import FinalModel
from olscale.models.onnx_graph import Value

_NEARLY_CERTAIN = 1e-9
"""Distance from 0 and 1 that a softmax keeps before it is corrected."""


def add_probabilities(model: FinalModel, scores: Value) -> Value | None:
    """Add the probabilities of `scores`, the learner's own or calibrated; None without any."""
    known = model.probabilities
    if known is None and isinstance(model.learner, LogProbabilityScores):
        return _of_log_probabilities(
            model.learner, scores, len(model.about.classes or ())
        )
    if known is None or known.calibrator is None or known.columns:
        return None
    state = known.calibrator.state()
    # Before the first row with different scores there is no typical spread to relate them to.
    if state["numbers"][SPREADS] <= 0.0:
        return None
    softmax = _softmax(known.calibrator, scores)
    return _correct(softmax, state["nodes"], known.calibrator.classes)


def add_decisions(model: FinalModel, probabilities: Value | None) -> Value | None:
    """Add the codes of classes that probabilities decide for; None where scores decide.

    Raises
    ------
    ModelError
        If probabilities decide that are not written.
    """
    if model.probabilities is None or model.probabilities.decision is None:
        return None
    decision = model.probabilities.decision
    if probabilities is None:
        raise ModelError(
            "the model decides by a threshold of probabilities, and these are not calibrated yet; "
            "let it learn rows, or save one of a run without threshold"
        )
    match decision:
        case F1Threshold():
            positive = np.array(decision.positive)
            negative = np.array(1 - decision.positive)
            own = probabilities.columns(positive)
            is_positive = own.is_greater(decision.threshold())
            return is_positive.choose(positive, negative)
        case CostMatrix():
            costs = decision.state()["costs"]
            expected_costs = probabilities @ costs
            return expected_costs.place_of("ArgMin")
    raise ModelError(
        f"the model decides by {type(decision).__name__}, which has no form in ONNX; save one of "
        "a run without threshold"
    )


def _of_log_probabilities(
    learner: LogProbabilityScores, scores: Value, classes: int
) -> Value | None:
    """Add the probabilities of a learner of the log loss; None where there is one class."""
    if classes < 2:
        return None
    if classes == 2:
        of_both = scores @ np.array([[-1.0, 1.0]])
        return of_both.apply("Sigmoid")
    if learner.is_softmax(classes):
        return scores.graph.add("Softmax", scores, axis=1)
    shares = scores.apply("Sigmoid")
    return shares / shares.sum()


def _softmax(calibrator: Calibrator, scores: Value) -> Value:
    """Add the softmax of scores that are bent where they are far larger than typical ones."""
    state = calibrator.state()
    numbers = state["numbers"]
    mean_log = numbers[LOG_SPREADS] / numbers[SPREADS]
    # The exponential of more than 708 overflows.
    typical = float(np.exp(min(mean_log, 708.0)))
    if calibrator.classes == 2:
        scores = scores @ np.array([[-0.5, 0.5]])
    # In units of twice the typical spread: squares of scores as they are could overflow.
    centred = scores - scores.reduce("ReduceMean")
    relative = centred / (BEND * typical)
    variance = relative.square_norms() / float(calibrator.classes)
    lengths = (variance + 1.0).apply("Sqrt")
    bent = relative / lengths
    unbent = np.sqrt(1.0 + BEND * BEND)
    slope = float(numbers[SLOPE] * unbent)
    logits = bent * slope + state["biases"][:1]
    return logits.graph.add("Softmax", logits, axis=1)


def _correct(softmax: Value, nodes: NDArray[np.float64], classes: int) -> Value:
    """Add one class's probability by what became of earlier rows, and others' by the rest."""
    # The second of two classes is corrected, else the likeliest.
    if classes == 2:
        own = softmax * 0.0 + np.array([[0.0, 1.0]])
    else:
        likeliest = softmax.place_of("ArgMax", keeps=True)
        codes = np.arange(classes)[np.newaxis]
        own = likeliest.is_equal(codes).as_doubles()
    own_softmax = (softmax * own).sum()
    not_too_small = own_softmax.at_least(_NEARLY_CERTAIN)
    before = not_too_small.at_most(1.0 - _NEARLY_CERTAIN)
    log_odds = (before / (1.0 - before)).apply("Log")
    centred = log_odds * NODES_A_UNIT + 0.5 * NODES
    # A row with scores that are not finite has equal probabilities, and no place.
    has_none = centred.apply("IsNaN")
    some_place = has_none.choose(0.0, centred)
    # Just below the last node, which has no next one.
    place = some_place.at_least(0.0).at_most(NODES - 1.001)
    corrections = nodes[0] / (nodes[1] + PRIOR_ROWS)
    step = _correction(place, corrections)
    corrected = before + step
    probability = corrected.at_least(LEAST).at_most(1.0 - LEAST)

    others = 1.0 - own
    other_softmax = softmax * others
    rest = other_softmax.sum()
    # Rounding may leave nothing to share out by: then all others are equally likely.
    is_nothing = rest.is_equal(0.0)
    shares = other_softmax / is_nothing.choose(1.0, rest)
    equal_shares = others / float(classes - 1)
    shares = is_nothing.choose(equal_shares, shares)
    of_own = own * probability
    answer = of_own + (1.0 - probability) * shares
    equal_probabilities = np.full((1, classes), 1.0 / classes)
    return has_none.choose(equal_probabilities, answer)


def _correction(place: Value, corrections: NDArray[np.float64]) -> Value:
    """Add what lies at a place between two nodes."""
    floor = place.apply("Floor")
    node = floor.as_integers()
    low = place.graph.add("Gather", corrections, node, axis=0)
    next_node = node + np.array(1)
    high = place.graph.add("Gather", corrections, next_node, axis=0)
    rise = high - low
    fraction = place - floor
    return low + rise * fraction
