"""Learners defined outside of olscale: their compiled loops are never stale, and leave nothing in olscale's own cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RULE = """
from typing import NamedTuple
from olscale.learners.linear.first_order import LinearLearner, implements

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
from olscale.compiled.decorator import compiled

@compiled
def step():
    return 1.0
"""

INLINES = """
from aid import RATE
from olscale.compiled.decorator import compiled

@compiled
def step():
    return RATE
"""

RENAMED = """
from typing import NamedTuple
from olscale.compiled.decorator import compiled

class Rate(NamedTuple):
    value: float

@compiled
def step(rate):
    return rate.value
"""


# Not `fit`, for which a process imports scikit-learn: a second each.
LEARN = """
import numpy as np
from olscale.compiled.csr import read_only

def weight(learner):
    learner.begin(1, 2)
    learner.learn(read_only(np.array([[1.0], [2.0]])), read_only(np.array([0, 1])))
    return learner.coef_[0, 0]
"""


def outcome(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_edit_takes_effect_and_our_loops_load_where_a_rule_cannot_be_imported(
    tmp_path: Path,
) -> None:
    """An edit of a rule, of a loop, of what a loop inlines, and of the name of a class that is an argument.

    Machine code of before would give its figures under the new source's name. The cache names the
    classes of arguments, and after an edit one that is gone. All in the same processes, since each
    takes seconds to begin.
    """
    (tmp_path / "inlines.py").write_text(INLINES)
    found = []
    for rate, name in (("1.0", "Rate"), ("3.00", "Speed")):
        for file, source in (("mine", RULE), ("loop", LOOP), ("aid", "RATE = 1.0\n")):
            (tmp_path / f"{file}.py").write_text(source.replace("1.0", rate))
        (tmp_path / "renamed.py").write_text(RENAMED.replace("Rate", name))
        code = (
            f"{LEARN}\nimport inlines, loop, mine, renamed\n"
            "print(weight(mine.Mine()), loop.step(), inlines.step(), "
            f"renamed.step(renamed.{name}(2.0)))"
        )
        found.append([float(word) for word in outcome(code, tmp_path).split()])
    before, after = found
    assert before[1:] == [1.0, 1.0, 2.0]
    assert after == [3.0 * before[0], 3.0, 3.0, 2.0]
    assert before[0] != 0.0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code = (
        f"{LEARN}\nfrom olscale.learners.linear.perceptron import Perceptron\n"
        "print(weight(Perceptron()))"
    )
    assert float(outcome(code, elsewhere)) != 0.0
