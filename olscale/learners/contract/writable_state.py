"""States that can be written to: loops are compiled for those, whether they learn or only score.

The arrays of an unpickled model may be read-only: memory-mapped from a file of joblib, or by joblib
in the processes that it starts.
"""

from olscale.learners.contract.learner import Learner


def make_writable(learner: Learner) -> None:
    """Have `learner` go on from a copy of its state if it cannot write to an array of it."""
    state = getattr(learner, "state_", {})  # a model of another library has none
    if all(array.flags.writeable for array in state.values()):
        return
    learner.begin(learner._columns, learner._classes, learner._entropy)
    learner.restore(state)
