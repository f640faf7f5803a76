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
from olscale.models.onnx_graph import DOUBLE, Graph, doubles

_OF_ROW = np.array([1])
"""The axis of what belongs to a row."""


def add_lol(graph: Graph, learner: LOL | ILOL, rows: str) -> str:
    """Add ``f = (W + U[p]) x`` of the nearest prototype p (eq. 14)."""
    state = learner.state_
    prototypes = doubles(learner.prototypes_)
    count = len(prototypes)
    _check_learned(learner.name, count)
    distances = _distances(graph, rows, prototypes)
    nearest = graph.add("ArgMin", [distances], axis=1, keepdims=0, select_last_index=0)
    planes = doubles(state["U"][:count])
    if len(state["W"]):
        planes = planes + state["W"]
    chosen = graph.add("Gather", [planes, nearest], axis=0)
    as_matrix = graph.add("Unsqueeze", [rows, _OF_ROW])
    return graph.add("Squeeze", [graph.add("MatMul", [as_matrix, chosen]), _OF_ROW])


def add_soft_lol(graph: Graph, learner: SoftLOL, rows: str) -> str:
    """Add ``f = w.x + sum_j g_j u_j.x`` over the nearest prototypes, of rows of length 1."""
    prototypes = doubles(learner.prototypes_)
    count = len(prototypes)
    _check_learned(learner.name, count)
    unit = _unit_rows(graph, rows)
    planes = learner.prediction_weights()
    outputs, columns = planes.shape[1:]

    few = min(int(learner.m), count)
    distances = graph.add("Add", [_distances(graph, unit, prototypes), np.array(1.0)])
    nearest, places = graph.add_two("TopK", [distances, np.array([few])], axis=1, largest=0)
    at_least = graph.add("Max", [nearest, np.array(CLOSEST)])
    closest = graph.add("ReduceMin", [at_least], axes=[1], keepdims=1)
    ratios = graph.add("Div", [closest, at_least])
    powers = graph.add("Pow", [ratios, np.array(float(learner.sharpness))])
    lengths = graph.add("Sqrt", [graph.square_norms(powers)])
    gates = graph.add("Div", [powers, lengths])
    # A gate for each prototype, 0 where it is not near: then no hyperplane is gathered for a row.
    none = graph.add("Mul", [distances, np.array(0.0)])
    all_gates = graph.add("ScatterElements", [none, places, gates], axis=1)

    of_prototypes = doubles(planes[:count].reshape(count * outputs, columns).T)
    scores = graph.add("MatMul", [unit, of_prototypes])
    by_prototype = graph.add("Reshape", [scores, np.array([-1, count, outputs])])
    gated = graph.add("Mul", [by_prototype, graph.add("Unsqueeze", [all_gates, np.array([2])])])
    local = graph.add("ReduceSum", [gated, _OF_ROW], keepdims=0)
    common = doubles(planes[-1].T / np.sqrt(float(learner.lam)))
    return graph.add("Add", [local, graph.add("MatMul", [unit, common])])


def add_pamo(graph: Graph, learner: PAMO1, rows: str) -> str:
    """Add ``f_c = w_c.z_c``, z the unit vector of the greatest product in each dimension."""
    state = learner.state_
    outputs, dimensions = state["W"].shape
    products = graph.add("MatMul", [_unit_rows(graph, rows), doubles(state["theta"])])
    shape = np.array([-1, outputs, dimensions, int(learner.k)])
    by_dimension = graph.add("Reshape", [products, shape])
    greatest = graph.add("ReduceMax", [by_dimension], axes=[3], keepdims=0)
    squares = graph.add("Mul", [greatest, greatest])
    norms = graph.add("Sqrt", [graph.add("ReduceSum", [squares, np.array([2])], keepdims=1)])
    unit = graph.add("Div", [greatest, _one_for_zero(graph, norms)])
    moved = graph.add("Mul", [unit, doubles(state["W"])])
    return graph.add("ReduceSum", [moved, np.array([2])], keepdims=0)


def add_ollc(graph: Graph, learner: OLLC, rows: str) -> str:
    """Add the score of the classifier in whose region a row lies."""
    state = learner.state_
    V = doubles(state["V"])
    gate = V[:, :-1:3] + state["lift"] * V[:, -1:]
    first = graph.add("MatMul", [rows, doubles(V[:, 1:-1:3])])
    second = graph.add("MatMul", [rows, doubles(V[:, 2:-1:3])])
    is_first = graph.add("Greater", [graph.add("MatMul", [rows, doubles(gate)]), np.array(0.0)])
    return graph.add("Where", [is_first, first, second])


def add_planes(graph: Graph, learner: AMM, rows: str) -> str:
    """Add the greatest score among the hyperplanes of each class; of two classes the difference."""
    owner = learner.owner_
    scores = graph.add("MatMul", [rows, doubles(learner.coef_.T)])
    of_classes: list[str] = []
    for code in range(int(owner.max()) + 1):
        own = graph.add("Gather", [scores, np.flatnonzero(owner == code)], axis=1)
        of_classes.append(graph.add("ReduceMax", [own], axes=[1], keepdims=1))
    if len(of_classes) == 2:
        return graph.add("Sub", [of_classes[1], of_classes[0]])
    return graph.add("Concat", [*of_classes], axis=1)


def _check_learned(name: str, prototypes: int) -> None:
    if not prototypes:
        raise ModelError(f"learner {name} has no prototypes yet: it has learned no row")


def _distances(graph: Graph, rows: str, prototypes: np.ndarray) -> str:
    """Add the squared distance of each row and prototype, less the squared norm of the row."""
    products = graph.add("MatMul", [rows, prototypes.T])
    twice = graph.add("Mul", [products, np.array(-2.0)])
    return graph.add("Add", [twice, np.square(prototypes).sum(axis=1)[np.newaxis]])


def _unit_rows(graph: Graph, rows: str) -> str:
    """Add rows of length 1; rows of zeros stay as they are."""
    norms = graph.add("Sqrt", [graph.square_norms(rows)])
    return graph.add("Div", [rows, _one_for_zero(graph, norms)])


def _one_for_zero(graph: Graph, norms: str) -> str:
    is_zero = graph.add("Cast", [graph.add("Equal", [norms, np.array(0.0)])], to=DOUBLE)
    return graph.add("Add", [norms, is_zero])
