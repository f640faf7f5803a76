"""What to predict for a row: the task of a dataset and of a learner."""

from typing import Literal, TypeAlias

Task: TypeAlias = Literal["classification", "regression", "novelty"]
"""A class, a number, or whether a row resembles earlier ones: normal (+1) or novelty (-1)."""

TASKS: tuple[Task, ...] = ("classification", "regression", "novelty")

NOVEL = -1
NORMAL = 1
"""Labels of a novelty detection dataset, and predictions, as in scikit-learn's detectors."""
