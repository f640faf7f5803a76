"""A learner that overrides every hook of version 0.1, and calls the one before by `super`."""

from typing import ClassVar

import numpy as np
from olscale.learners.class_axes import class_axis
from olscale.learners.domain import Choice
from olscale.learners.sweep import SweepLearner

from olscale.learners.passive_aggressive import PA1

CALLS = []


class EveryHook(SweepLearner):
    name = "every-hook"
    domains: ClassVar = {"kind": Choice(("plain",))}

    def __init__(self, kind="plain"):
        self.kind = kind

    def _allocate(self, columns, outputs):
        return {"W": np.zeros((columns, outputs))}

    def _sweep(self, X, y, state, learning, scores):
        scores[:] = X @ state["W"]

    @property
    def looks_ahead(self):
        return not super().looks_ahead

    def prepare(self, X):
        CALLS.append("prepare")

    def class_axes(self, outputs):
        return super().class_axes(outputs) or {"W": class_axis(1, outputs)}

    def grid_key(self):
        return super().grid_key() or "key"

    def fuse(self, learners):
        return list(learners)

    def compile(self, X):
        CALLS.append("compile")
        super().compile(X)

    def row_numbers(self, columns, classes, values):
        return 2.0 * super().row_numbers(columns, classes, values)

    def state_bytes(self, columns, classes):
        return 5 + super().state_bytes(columns, classes)

    def cheaper(self):
        return super().cheaper() + "fewer columns"

    def check_memory(self, columns, classes):
        CALLS.append("check_memory")
        super().check_memory(columns, classes)

    def norm_limits(self):
        low, high = super().norm_limits()
        return 2.0 * low, high


class PreparedPA(PA1):
    """Hooks that no base of its declares."""

    name = "prepared-pa"
    looks_ahead = True

    def prepare(self, X):
        CALLS.append("prepare")

    def compile(self, X):
        CALLS.append("compile")
        super().compile(X)

    def row_numbers(self, columns, classes, values):
        return 3.0 * super().row_numbers(columns, classes, values)
