"""Capabilities: what a learner can do beyond the contract.

Each is one file in this folder, and each is optional.

| capability | file | a learner that declares it |
|---|---|---|
| `LooksAhead` | `look_ahead` | sees rows of the stream before the stream begins |
| `ShardsClasses` | `class_axes` | learns some of the classes apart from the others |
| `FusesSettings` | `fused_settings` | shares one pass over the rows among several of its settings |
| `MergesSums` | `merged_sums` | has a final model of sums that workers add up separately |
| `EstimatesCost` | `cost` | estimates the cost of a row and of the state before a run |
| `GivesProbabilities` | `probabilities` | says how likely each class is |
| `ShowsMargins` | `probabilities` | has scores to calibrate, separate from its predictions |
| `RanksRows` | `ranked_rows` | has scores to rank rows by, separate from its predictions |
| `TakesNames` | `named_rows` | addresses features by name |
| `LearnsTargets` | `many_targets` | learns several targets of a row in one pass |
| `CompilesLoops` | `compilation` | has its compiled loops ready before a clock starts |
| `ShiftFree` | `shift_free` | predicts the same where all rows are shifted alike |
| `ExplainsNoScore` | `no_score` | knows why a row has no score |

A learner declares a capability by inheriting from its class, as in
``class Mine(Classifier, LooksAhead)``. Code that uses a capability asks
``isinstance(learner, LooksAhead)``, or calls the function of that file which answers for all
learners.
"""

from abc import ABCMeta
from typing import Any


class Capability(metaclass=ABCMeta):  # noqa: B024, its subclasses have abstract methods
    """Base of the capabilities.

    A class with an abstract method of a capability declares the capability without inheriting.
    """

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        methods = cls.__abstractmethods__ if Capability in cls.__bases__ else ()
        return True if any(hasattr(other, method) for method in methods) else NotImplemented
