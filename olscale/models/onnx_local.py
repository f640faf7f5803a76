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
    nearest = rows.square_distances(prototypes).place_of("ArgMin")
    chosen = rows.graph.add("Gather", planes, nearest, axis=0)
    scores = rows.add_axis(1) @ chosen
    return scores.reshape(-1, planes.shape[2])


def add_soft_lol(learner: SoftLOL, rows: Value) -> Value:
    """Add ``f = w.x + sum_j g_j u_j.x`` over the nearest prototypes, of rows of length 1."""
    prototypes = doubles(learner.prototypes_)
    count = len(prototypes)
    _check_learned(learner.name, count)
    unit = rows.unit_rows()
    planes = learner.prediction_weights()
    outputs, columns = planes.shape[1:]
    gates = _gates(learner, unit.square_distances(prototypes) + 1.0, count)
    # Scores of all prototypes, most with the gate 0: no hyperplane is gathered for a row.
    of_prototypes = doubles(planes[:count].reshape(count * outputs, columns).T)
    scores = (unit @ of_prototypes).reshape(-1, count, outputs)
    local = (scores * gates.add_axis(2)).sum(axis=1, keeps=False)
    common = doubles(planes[-1].T / np.sqrt(float(learner.lam)))
    return local + unit @ common


def _gates(learner: SoftLOL, distances: Value, count: int) -> Value:
    """Add a gate for each prototype, 0 where it is not among the nearest."""
    few = np.array([min(int(learner.m), count)])
    nearest, places = distances.graph.add_several(
        "TopK", ("nearest", "places"), distances, few, axis=1, largest=0
    )
    nearest = nearest.at_least(CLOSEST)
    ratios = (nearest**-1.0) * nearest.reduce("ReduceMin")
    powers = ratios ** float(learner.sharpness)
    gates = powers / powers.square_norms().apply("Sqrt")
    return distances.graph.add(
        "ScatterElements", distances * 0.0, places, gates, axis=1
    )


def add_pamo(learner: PAMO1, rows: Value) -> Value:
    """Add ``f_c = w_c.z_c``, z the unit vector of the greatest product in each dimension."""
    state = learner.state_
    outputs, dimensions = state["W"].shape
    products = rows.unit_rows() @ doubles(state["theta"])
    by_dimension = products.reshape(-1, outputs, dimensions, int(learner.k))
    greatest = by_dimension.reduce("ReduceMax", axis=3, keeps=False)
    norms = (greatest * greatest).sum(axis=2).apply("Sqrt")
    unit = greatest / norms.is_equal(0.0).choose(1.0, norms)
    return (unit * doubles(state["W"])).sum(axis=2, keeps=False)


def add_ollc(learner: OLLC, rows: Value) -> Value:
    """Add the score of the classifier in whose region a row lies."""
    state = learner.state_
    V = doubles(state["V"])
    gate = V[:, :-1:3] + state["lift"] * V[:, -1:]
    is_first = (rows @ doubles(gate)).is_greater(0.0)
    return is_first.choose(rows @ doubles(V[:, 1:-1:3]), rows @ doubles(V[:, 2:-1:3]))


def add_amm(learner: AMM, rows: Value) -> Value:
    """Add the greatest score among the hyperplanes of each class; of two classes the difference."""
    owner = learner.owner_
    scores = rows @ doubles(learner.coef_.T)
    of_classes = [
        scores.columns(np.flatnonzero(owner == code)).reduce("ReduceMax")
        for code in range(int(owner.max()) + 1)
    ]
    if len(of_classes) == 2:
        return of_classes[1] - of_classes[0]
    return of_classes[0].concatenate(*of_classes[1:])


def _check_learned(name: str, prototypes: int) -> None:
    if not prototypes:
        raise ModelError(f"learner {name} has no prototypes yet: it has learned no row")
