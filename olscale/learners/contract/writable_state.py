"""Writable states: loops are compiled for those, whether they learn or only score.

The arrays of an unpickled model may be read-only: joblib memory-maps them from a file, or in the
processes that it starts.
"""

from olscale.learners.contract.learner import Learner


def make_writable(learner: Learner) -> None:
    """Let `learner` continue from a copy of its state if it cannot write to one of the arrays."""
    state = getattr(learner, "state_", {})  # a model of another library has none
    if all(array.flags.writeable for array in state.values()):
        return
    learner.begin(learner._columns, learner._classes, learner._entropy)
    learner.restore(state)
