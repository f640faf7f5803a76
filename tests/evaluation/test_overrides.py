"""Values in place of those of an experiment file, from Python."""

from pathlib import Path
from typing import Any

import pytest

from olscale.errors import ExperimentError
from olscale.evaluation.experiment import load_experiment

FILE = """
[protocol]
permutations = 2
[[datasets]]
path = "d"
[[learners]]
name = "pa1"
"""


@pytest.mark.parametrize("kind", [dict, tuple, list])
def test_overrides_are_a_mapping_or_pairs(tmp_path: Path, kind: Any) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FILE)
    pairs = [("protocol.permutations", 3), ("learners.pa1.params.C", 0.5)]
    experiment = load_experiment(file, kind(pairs))
    assert experiment.protocol.permutations == 3
    assert experiment.learners[0].params == {"C": 0.5}


@pytest.mark.parametrize("overrides", ["nosuch", 5, None, [1], [("a", 1, 2)], {1: 2}])
def test_other_overrides_are_refused(tmp_path: Path, overrides: Any) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FILE)
    with pytest.raises(ExperimentError, match="expected keys and values"):
        load_experiment(file, overrides)
