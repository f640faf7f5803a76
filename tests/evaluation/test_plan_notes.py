"""What is said of a plan before it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from olscale.evaluation.experiment import parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.progress import Silent

SCORED = "sklearn.linear_model:SGDClassifier"
OF_CLASSES = "tests.learners.shared_models:OfNumpy"


class Notes(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.parametrize(
    ("measures", "told"),
    [(["auc"], True), (["roc", "auc"], True), (["kappa_t"], False)],
)
def test_a_ranking_by_predicted_classes_is_told(
    shelf: Path, tmp_path: Path, measures: list[str], told: bool
) -> None:
    """Scores of -1 and 1 rank rows by two values; the figure stood beside that of learners with scores without a word."""
    content = {
        "datasets": [{"path": str(shelf / "dense")}],
        "learners": [{"name": name} for name in (OF_CLASSES, SCORED, "pa1")],
        "protocol": {"order": "time", "measures": measures},
    }
    notes = Notes()
    evaluate(
        parse_experiment(content), tmp_path / "store", in_process=True, progress=notes
    )
    said = [line for line in notes.lines if "not of scores" in line]
    assert [OF_CLASSES in line for line in said] == [True] * told
    assert not any(SCORED in line for line in said)
    assert not told or " and ".join(sorted(measures)) in said[0]
