"""Local learners as nodes of ONNX: hyperplanes that depend on where a row lies."""

from __future__ import annotations

import numpy as np

from olscale.compiled.mixture import CLOSEST
from olscale.errors import ModelError
from olscale.learners.local.amm import AMM
from olscale.learners.local.lol import ILOL, LOL
from olscale.learners.local.ollc import OLLC
from olscale.learners.local.pamo import PAMO1
from olscale.learners.local.soft_lol import SoftLOL
from olscale.models.onnx_graph import Value, doubles


def add_lol(learner: LOL | ILOL, rows: Value) -> Value:
    """Add ``f = (W + U[p]) x`` of the nearest prototype p (eq. 14)."""
    state = learner.state_
    prototypes = doubles(learner.prototypes_)
    count = len(prototypes)
    _check_learned(learner.name, count)
    planes = doubles(state["U"][:count])
    if len(state["W"]):
        planes = planes + state["W"]
    distances = rows.square_distances(prototypes)
    nearest = distances.place_of("ArgMin")
    chosen = rows.graph.add("Gather", planes, nearest, axis=0)
    scores = rows.add_axis(1) @ chosen
    outputs = planes.shape[2]
    return scores.reshape(-1, outputs)


def add_soft_lol(learner: SoftLOL, rows: Value) -> Value:
    """Add ``f = w.x + sum_j g_j u_j.x`` over the nearest prototypes, of rows of length 1."""
    prototypes = doubles(learner.prototypes_)
    count = len(prototypes)
    _check_learned(learner.name, count)
    unit = rows.unit_rows()
    planes = learner.prediction_weights()
    outputs, columns = planes.shape[1:]
    # Rows of length 1: without their squared norm distances lack just this 1.
    distances = unit.square_distances(prototypes) + 1.0
    gates = _gates(learner, distances, count)
    # Scores of all prototypes, most with the gate 0: no hyperplane is gathered for a row.
    stacked = planes[:count].reshape(count * outputs, columns)
    of_prototypes = doubles(stacked.T)
    scores = (unit @ of_prototypes).reshape(-1, count, outputs)
    gated = scores * gates.add_axis(2)
    local = gated.sum(axis=1, keeps=False)
    root = np.sqrt(float(learner.lam))
    common = doubles(planes[-1].T / root)
    return local + unit @ common


def _gates(learner: SoftLOL, distances: Value, count: int) -> Value:
    """Add a gate for each prototype, 0 where it is not among the nearest."""
    graph = distances.graph
    few = np.array([min(int(learner.m), count)])
    names = ("nearest", "places")
    nearest, places = graph.add_several(
        "TopK", names, distances, few, axis=1, largest=0
    )
    nearest = nearest.at_least(CLOSEST)
    inverses = nearest**-1.0
    ratios = inverses * nearest.reduce("ReduceMin")
    powers = ratios ** float(learner.sharpness)
    lengths = powers.square_norms().apply("Sqrt")
    gates = powers / lengths
    zeros = distances * 0.0
    return graph.add("ScatterElements", zeros, places, gates, axis=1)


def add_pamo(learner: PAMO1, rows: Value) -> Value:
    """Add ``f_c = w_c.z_c``, z the unit vector of the greatest product in each dimension."""
    state = learner.state_
    outputs, dimensions = state["W"].shape
    unit_rows = rows.unit_rows()
    products = unit_rows @ doubles(state["theta"])
    by_dimension = products.reshape(-1, outputs, dimensions, int(learner.k))
    greatest = by_dimension.reduce("ReduceMax", axis=3, keeps=False)
    squares = greatest * greatest
    norms = squares.sum(axis=2).apply("Sqrt")
    is_zero = norms.is_equal(0.0)
    unit = greatest / is_zero.choose(1.0, norms)
    weighted = unit * doubles(state["W"])
    return weighted.sum(axis=2, keeps=False)


def add_ollc(learner: OLLC, rows: Value) -> Value:
    """Add the score of the classifier in whose region a row lies."""
    state = learner.state_
    V = doubles(state["V"])
    # Columns of V: for each output the gate and both classifiers, then the anchor row.
    lifted = state["lift"] * V[:, -1:]
    gate = V[:, :-1:3] + lifted
    first_classifier = doubles(V[:, 1:-1:3])
    second_classifier = doubles(V[:, 2:-1:3])
    gate_values = rows @ doubles(gate)
    is_first = gate_values.is_greater(0.0)
    first_scores = rows @ first_classifier
    second_scores = rows @ second_classifier
    return is_first.choose(first_scores, second_scores)


def add_amm(learner: AMM, rows: Value) -> Value:
    """Add the greatest score among the hyperplanes of each class; of two classes the difference."""
    owner = learner.owner_
    scores = rows @ doubles(learner.coef_.T)
    of_classes = []
    for code in range(int(owner.max()) + 1):
        own_planes = np.flatnonzero(owner == code)
        own_scores = scores.columns(own_planes)
        of_classes.append(own_scores.reduce("ReduceMax"))
    first, *others = of_classes
    if len(of_classes) == 2:
        return others[0] - first
    return first.concatenate(*others)


def _check_learned(name: str, prototypes: int) -> None:
    if not prototypes:
        raise ModelError(f"learner {name} has no prototypes yet: it has learned no row")
