"""Learners defined outside of olscale: their compiled loops are never stale, and leave nothing in olscale's own cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RULE = """
from typing import NamedTuple
from olscale.learners.linear import LinearLearner, implements

class Rule(NamedTuple):
    pass

@implements(Rule)
def step(rule, s, y, f, square, t, wrong):
    return 1.0 if wrong else 0.0

class Mine(LinearLearner):
    name = "mine"
    def _rule(self):
        return Rule()
"""

LOOP = """
import numpy as np
from olscale.compiled.decorator import compiled

@compiled
def step():
    return 1.0
"""


def outcome(code: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_edit_takes_effect_and_our_loops_load_where_the_rule_cannot_be_imported(tmp_path: Path) -> None:
    """Of a rule and of a loop, in the same processes."""
    code = "import loop, mine; print(loop.step(), mine.Mine().fit([[1.0], [2.0]], [0, 1]).coef_[0, 0])"
    found = []
    for rate in ("1.0", "3.00"):
        (tmp_path / "mine.py").write_text(RULE.replace("1.0", rate))
        (tmp_path / "loop.py").write_text(LOOP.replace("1.0", rate))
        found.append([float(word) for word in outcome(code, tmp_path).split()])
    before, after = found
    assert after == [3 * value for value in before]
    assert all(before)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code = "from olscale.learners.perceptron import Perceptron; Perceptron().fit([[1.0], [1.0]], [0, 1])"
    outcome(code, elsewhere)


def test_an_edit_of_what_a_loop_inlines_takes_effect(tmp_path: Path) -> None:
    """Machine code of before would give figures of before under the new source's name."""
    (tmp_path / "mine.py").write_text(
        "from aid import RATE\nfrom olscale.compiled.decorator import compiled\n\n@compiled\ndef step():\n    return RATE\n"
    )
    code = "import mine; print(mine.step())"
    found = []
    for rate in ("1.0", "3.0"):
        (tmp_path / "aid.py").write_text(f"RATE = {rate}\n")
        found.append(outcome(code, tmp_path))
    assert found == ["1.0", "3.0"]


def test_a_class_that_was_renamed_does_not_make_the_cache_unreadable(tmp_path: Path) -> None:
    """The cache names the classes of arguments; that of the version before names one that is gone."""
    source = (
        "from typing import NamedTuple\n\nfrom olscale.compiled.decorator import compiled\n\n\n"
        "class Rate(NamedTuple):\n    value: float\n\n\n"
        "@compiled\ndef step(rate):\n    return rate.value\n"
    )
    found = []
    for name in ("Rate", "Speed"):
        (tmp_path / "mine.py").write_text(source.replace("Rate", name))
        found.append(outcome(f"import mine; print(mine.step(mine.{name}(2.0)))", tmp_path))
    assert found == ["2.0", "2.0"]
