"""Learners written for version 0.1 go on as they are: `version_0_1` has the example of its documentation, and its hooks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olscale
from olscale.learners.contract.class_axes import class_axes
from olscale.learners.contract.compilation import compile_loops
from olscale.learners.contract.cost import cost_of
from olscale.learners.contract.fused_settings import fuse, group_fusible
from olscale.learners.contract.look_ahead import looks_ahead
from olscale.testing import learner_checks

pytestmark = pytest.mark.filterwarnings("ignore:olscale:DeprecationWarning")

ROWS = np.eye(3)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "version_0_1"))
    yield importlib.import_module
    for name in ("averaged_perceptron", "every_hook"):
        sys.modules.pop(name, None)


def test_the_documented_learner_keeps_the_contract_and_is_evaluated(
    load: Any, tmp_path: Path
) -> None:
    from olscale.data.generators import generate

    for _, check in learner_checks(load("averaged_perceptron").AveragedPerceptron):
        check()
    generate("rotating-xor", tmp_path / "xor", rows=200)
    experiment = olscale.Experiment(
        datasets=[{"path": str(tmp_path / "xor")}],
        learners=[{"name": "averaged_perceptron:AveragedPerceptron"}],
    )
    done = olscale.evaluate(experiment, tmp_path / "store", in_process=True)
    assert set(done.store.read(["outcome"])["outcome"].to_pylist()) == {"ok"}


def test_every_hook_is_asked_and_may_call_the_one_before(load: Any) -> None:
    module = load("every_hook")
    learner, calls = module.EveryHook(), module.CALLS
    learner.begin(3, 2)
    assert looks_ahead(learner)
    learner.prepare(ROWS)
    compile_loops(learner, ROWS)
    cost = cost_of(learner)
    cost.check_memory(3, 2)
    assert (cost.row_numbers(3, 2, 3.0), cost.state_bytes(3, 2), cost.cheaper()) == (
        6.0,
        5,
        "fewer columns",
    )
    assert class_axes(learner, 2) is not None
    assert fuse([learner, learner]) == [learner, learner]
    assert learner.norm_limits()[0] == 2.0 * module.PA1().norm_limits()[0]
    assert calls == ["prepare", "compile", "check_memory"]


def test_the_hooks_of_the_base_are_those_of_a_plain_learner(load: Any) -> None:
    load("every_hook")
    from olscale.learners.sweep import SweepLearner  # type: ignore[import-not-found]

    class Plain(SweepLearner):  # type: ignore[misc]
        name = "plain"

        def _allocate(self, columns: int, outputs: int) -> dict[str, Any]:
            return {}

        def _sweep(self, X: Any, y: Any, state: Any, learning: bool, scores: Any) -> None:
            scores[:] = 1.0

    plain = Plain()
    plain.begin(3, 2)
    assert plain.scores(ROWS).tolist() == [[1.0]] * 3
    assert not looks_ahead(plain)
    assert class_axes(plain, 2) is None
    assert group_fusible([plain, Plain()]) == [[0], [1]]
    for refused in (lambda: plain.prepare(ROWS), lambda: plain.fuse([plain])):
        with pytest.raises(TypeError, match="plain"):
            refused()


def test_a_learner_of_ours_takes_hooks_it_does_not_declare(load: Any) -> None:
    module = load("every_hook")
    learner, calls = module.PreparedPA(), module.CALLS
    learner.fit(ROWS, [0, 1, 0])
    compile_loops(learner, ROWS)
    assert calls == ["prepare", "compile"]
    assert cost_of(learner).row_numbers(3, 2, 3.0) == 9.0
