"""Probabilities and decisions by them as nodes of ONNX, as calibrated at the end of the stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.calibration import BEND, LEAST, NODES_A_UNIT, PRIOR_ROWS
from olscale.compiled.calibration_arrays import LOG_SPREADS, NODES, SLOPE, SPREADS
from olscale.errors import ModelError
from olscale.learners.calibrator import Calibrator
from olscale.learners.decision import CostMatrix, F1Threshold
from olscale.models.final_model import FinalModel
from olscale.models.onnx_graph import DOUBLE, INT64, Graph

_NAME = "probabilities"
_NEARLY_CERTAIN = 1e-9
"""Distance from 0 and 1 that a softmax keeps before it is corrected."""


def add_probabilities(graph: Graph, model: FinalModel) -> bool:
    """Add the output ``probabilities`` of ``scores``; False where the model has none to write."""
    known = model.probabilities
    if known is None or known.calibrator is None or known.columns:
        return False
    state = known.calibrator.state()
    # Before the first row with different scores there is no typical spread to relate them to.
    if state["numbers"][SPREADS] <= 0.0:
        return False
    softmax, corrected = _softmax(graph, known.calibrator)
    _correct(graph, softmax, corrected, state["nodes"], known.calibrator.classes)
    return True


def add_decisions(graph: Graph, model: FinalModel, has_probabilities: bool) -> str:
    """Add the codes of classes that probabilities decide for; empty where scores decide.

    Raises
    ------
    ModelError
        If probabilities decide that are not written.
    """
    if model.probabilities is None or model.probabilities.decision is None:
        return ""
    decision = model.probabilities.decision
    if not has_probabilities:
        raise ModelError(
            "the model decides by a threshold of probabilities, and these are not calibrated yet; "
            "let it learn rows, or save one of a run without threshold"
        )
    match decision:
        case F1Threshold():
            positive, least = decision.positive, decision.threshold()
            own = graph.add("Gather", [_NAME, np.array(positive)], axis=1)
            is_positive = graph.add("Greater", [own, np.array(least)])
            return graph.add("Where", [is_positive, np.array(positive), np.array(1 - positive)])
        case CostMatrix():
            expected = graph.add("MatMul", [_NAME, decision.state()["costs"]])
            return graph.add("ArgMin", [expected], axis=1, keepdims=0, select_last_index=0)
    raise ModelError(
        f"the model decides by {type(decision).__name__}, which has no form in ONNX; save one of "
        "a run without threshold"
    )


def _softmax(graph: Graph, calibrator: Calibrator) -> tuple[str, str]:
    """Add the softmax of bent scores, and which class of each row is corrected, 1 or 0."""
    state = calibrator.state()
    numbers = state["numbers"]
    typical = float(np.exp(min(numbers[LOG_SPREADS] / numbers[SPREADS], 708.0)))
    both = "scores"
    if calibrator.classes == 2:
        both = graph.add("MatMul", ["scores", np.array([[-0.5, 0.5]])])
    mean = graph.add("ReduceMean", [both], axes=[1], keepdims=1)
    # In units of twice the typical spread: squares of scores as they are could overflow.
    relative = graph.add("Div", [graph.add("Sub", [both, mean]), np.array(BEND * typical)])
    variance = graph.add("Div", [graph.square_norms(relative), np.array(float(calibrator.classes))])
    bent = graph.add("Sqrt", [graph.add("Add", [variance, np.array(1.0)])])
    scale = graph.add("Div", [np.array(np.sqrt(1.0 + BEND * BEND)), bent])
    sloped = graph.add("Mul", [graph.add("Mul", [relative, scale]), np.array(numbers[SLOPE])])
    logits = graph.add("Add", [sloped, state["biases"][:1]])
    softmax = graph.add("Softmax", [logits], axis=1)
    if calibrator.classes == 2:
        none = graph.add("Mul", [softmax, np.array(0.0)])
        return softmax, graph.add("Add", [none, np.array([[0.0, 1.0]])])
    best = graph.add("ArgMax", [softmax], axis=1, keepdims=1, select_last_index=0)
    is_best = graph.add("Equal", [best, np.arange(calibrator.classes)[np.newaxis]])
    return softmax, graph.add("Cast", [is_best], to=DOUBLE)


def _correct(
    graph: Graph, softmax: str, corrected: str, nodes: NDArray[np.float64], classes: int
) -> None:
    """Add the output: the corrected class by what became of earlier rows, others by the rest."""
    own = graph.add("Mul", [softmax, corrected])
    before = _clipped(graph, _sum(graph, own), _NEARLY_CERTAIN, 1.0 - _NEARLY_CERTAIN)
    odds = graph.add("Div", [before, graph.add("Sub", [np.array(1.0), before])])
    scaled = graph.add("Mul", [graph.add("Log", [odds]), np.array(NODES_A_UNIT)])
    centred = graph.add("Add", [scaled, np.array(0.5 * NODES)])
    # A row with scores that are not finite has equal probabilities, and no place.
    has_none = graph.add("IsNaN", [centred])
    centred = graph.add("Where", [has_none, np.array(0.0), centred])
    place = _clipped(graph, centred, 0.0, NODES - 1.001)
    floor = graph.add("Floor", [place])
    node = graph.add("Cast", [floor], to=INT64)
    share = graph.add("Sub", [place, floor])
    corrections = nodes[0] / (nodes[1] + PRIOR_ROWS)
    low = graph.add("Gather", [corrections, node], axis=0)
    high = graph.add("Gather", [corrections, graph.add("Add", [node, np.array(1)])], axis=0)
    step = graph.add("Mul", [graph.add("Sub", [high, low]), share])
    after = graph.add("Add", [before, graph.add("Add", [low, step])])
    probability = _clipped(graph, after, LEAST, 1.0 - LEAST)

    others = graph.add("Sub", [np.array(1.0), corrected])
    other_softmax = graph.add("Mul", [softmax, others])
    rest = _sum(graph, other_softmax)
    # Rounding may leave nothing to share out by: then all others are equally likely.
    is_nothing = graph.add("Equal", [rest, np.array(0.0)])
    divisor = graph.add("Where", [is_nothing, np.array(1.0), rest])
    shares = graph.add("Div", [other_softmax, divisor])
    equal_shares = graph.add("Div", [others, _sum(graph, others)])
    shares = graph.add("Where", [is_nothing, equal_shares, shares])
    left = graph.add("Mul", [graph.add("Sub", [np.array(1.0), probability]), shares])
    kept = graph.add("Mul", [corrected, probability])
    both = graph.add("Add", [kept, left])
    equal = np.full((1, classes), 1.0 / classes)
    graph.add("Where", [has_none, equal, both], _NAME)


def _sum(graph: Graph, rows: str) -> str:
    return graph.add("ReduceSum", [rows, np.array([1])], keepdims=1)


def _clipped(graph: Graph, rows: str, least: float, most: float) -> str:
    return graph.add("Min", [graph.add("Max", [rows, np.array(least)]), np.array(most)])
