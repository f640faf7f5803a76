"""What is to be predicted of a row: the task of a dataset, and of a learner."""

from typing import Literal, TypeAlias

Task: TypeAlias = Literal["classification", "regression", "novelty"]
"""A class, a number, or whether a row is like those before it: normal (+1) or a novelty (-1)."""

TASKS: tuple[Task, ...] = ("classification", "regression", "novelty")

NOVEL = -1
NORMAL = 1
"""Labels of a dataset for novelty detection, and what detectors predict, as scikit-learn's outlier detectors do."""
