"""drift-ensemble as nodes of ONNX: each expert's form, then the stack and the mixture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from olscale.learners.ensemble.drift_ensemble import DriftEnsemble
from olscale.learners.ensemble.drift_ensemble_loop import LARGEST_SCORE
from olscale.learners.kernel.replay_machine import MACHINES
from olscale.models.onnx_distributions import add_votes
from olscale.models.onnx_forest import add_trees
from olscale.models.onnx_graph import Value, doubles
from olscale.models.onnx_kernels import add_kernels
from olscale.models.onnx_tiles import add_cells, add_probabilities, add_table


def add_drift_ensemble(learner: DriftEnsemble, rows: Value, columns: int) -> Value:
    """Add the mixture of all experts and of the stack."""
    state = learner.state_
    trust = state["trust"]
    combined = rows @ np.zeros((columns, learner._outputs))
    mixed = combined
    for place, scores in _add_experts(learner, rows, columns):
        clipped = scores.at_least(-LARGEST_SCORE).at_most(LARGEST_SCORE)
        stack_weight = 2.0 * float(state["stack"][place])
        combined = combined + clipped * stack_weight
        expert_trust = float(trust[place])
        mixed = mixed + clipped * expert_trust
    stacked = add_probabilities(combined, learner._outputs)
    stack_trust = float(trust[-1])
    return mixed + stacked * stack_trust


def _add_experts(
    learner: DriftEnsemble, rows: Value, columns: int
) -> Iterator[tuple[int, Value]]:
    """Add the scores of the experts that run, each with its place among the weights."""
    state = learner.state_
    if learner.machines_run():
        for machine, values in add_kernels(learner, rows):
            now, mean = learner.coefficients(machine)
            yield machine, values @ doubles(now.T)
            yield MACHINES + machine, values @ doubles(mean.T)
    place = 2 * MACHINES
    unit = rows.append_ones().unit_rows()
    for weights in learner.linear_coefficients():
        yield place, unit @ doubles(weights)
        place += 1
    points, labels = learner.newest_first()
    for window in learner.windows():
        scale = np.ones(columns)
        last = (points[:window], labels[:window], scale)
        votes = add_votes(*last, learner.voting(), learner._outputs, rows)
        yield place, votes
        place += 1
    cells = add_cells(state["pairs"], rows, columns)
    for table in state["tables"]:
        yield place, add_table(table, cells)
        place += 1
    for scores in add_trees(learner.forest(), rows):
        yield place, scores
        place += 1
