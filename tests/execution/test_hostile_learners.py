"""Learners that raise, return or change whatever they like: each ends as its own run, and the others keep their bytes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olscale.errors import ParameterError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.settings import ExecutionSettings
from olscale.results.store import Store
from tests.record_bytes import record_bytes

MODULE = '''
import asyncio
import ctypes
import os
import random
import resource
import sys
import warnings

import numpy as np

from olscale.errors import DivergedError
from olscale.learners.linear.passive_aggressive import PA1


class Mute(Exception):
    def __str__(self):
        raise SystemExit("no text")


class Odd(DivergedError):
    def __init__(self):
        Exception.__init__(self, "odd")


RAISED = {
    "Mute": Mute(),
    "Surrogate": ValueError("\\ud800 \\x1b[31mred\\nline"),
    "Exits": SystemExit(0),
    "Interrupts": KeyboardInterrupt("mine"),
    "Cancels": asyncio.CancelledError(),
    "Ends": GeneratorExit(),
    "Stops": StopIteration(),
    "Odd": Odd(),
    "Group": BaseExceptionGroup("two", [SystemExit(1), KeyboardInterrupt()]),
}


def _in_learn(name, error):
    def learn(self, X, y):
        if self.state_["seen"][0] >= 64 and len(y):
            raise error
        return PA1.learn(self, X, y)

    return type(name, (PA1,), {"__module__": __name__, "name": name.lower(), "learn": learn, "__init__": PA1.__init__})


def _in_method(method):
    def raises(self, *args, **kwargs):
        raise SystemExit(f"in {method}")

    name = "In" + method.title().replace("_", "")
    kind = property(raises) if method == "looks_ahead" else raises
    return type(name, (PA1,), {"__module__": __name__, "name": name.lower(), method: kind, "__init__": PA1.__init__})


for _name, _error in RAISED.items():
    globals()[_name] = _in_learn(_name, _error)
for _method in ("begin", "compile", "scores", "measures", "looks_ahead", "grid_key"):
    _class = _in_method(_method)
    globals()[_class.__name__] = _class


class Nothing(PA1):
    name = "nothing"

    def learn(self, X, y):
        super().learn(X, y)


class Short(PA1):
    name = "short"

    def learn(self, X, y):
        return super().learn(X, y)[1:]


class Words(PA1):
    name = "words"

    def scores(self, X):
        return np.array([["no number"]] * len(X))


class Measured(PA1):
    name = "measured"

    def measures(self):
        return {"updates": "many"}


class Unsaved(PA1):
    name = "unsaved"

    def state(self):
        raise SystemExit(0)


class Messy(PA1):
    name = "messy"

    def learn(self, X, y):
        os.chdir("/")
        np.seterr(all="raise")
        np.random.seed(3)
        random.seed(3)
        warnings.simplefilter("error")
        print("messy was here")
        return super().learn(X, y)


class Draws(PA1):
    """Draws from the global random numbers without a seed."""

    name = "draws"

    def learn(self, X, y):
        return super().learn(X, y) + np.random.normal(size=(len(y), 1)) + random.random()


class Forks(PA1):
    name = "forks"

    def learn(self, X, y):
        if self.state_["seen"][0] == 64 and len(y):
            os.fork()
        return super().learn(X, y)


class Limits(PA1):
    """Lets its process open no file and write none; both can be mended."""

    name = "limits"

    def learn(self, X, y):
        for limit, most in ((resource.RLIMIT_NOFILE, 3), (resource.RLIMIT_FSIZE, 0)):
            resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))
        return super().learn(X, y)


class Modules(PA1):
    name = "modules"

    def learn(self, X, y):
        sys.modules.clear()
        return super().learn(X, y)


class Planned(PA1):
    name = "planned"

    def row_numbers(self, columns, classes, values):
        raise SystemExit(0)


class Checked(PA1):
    name = "checked"

    def check_memory(self, columns, classes):
        raise GeneratorExit


class Resolved(PA1):
    name = "resolved"

    def resolved_params(self):
        raise RuntimeError("two\\nlines")
'''
OURS = ("pa", "lol", "pa1")
FINE = ("Messy", "Draws", "Forks", "Unsaved", "Limits", "Modules")
RAISING = {
    "Mute": ("learner_error", "Mute: its message cannot be shown"),
    "Surrogate": ("learner_error", "ValueError: \\ud800 \\x1b[31mred line"),
    "Exits": ("learner_error", "SystemExit: 0"),
    "Interrupts": ("learner_error", "KeyboardInterrupt: mine"),
    "Cancels": ("learner_error", "CancelledError: "),
    "Ends": ("learner_error", "GeneratorExit: "),
    "Stops": ("learner_error", "StopIteration: "),
    "Odd": ("diverged", "odd"),
    "Group": ("learner_error", "BaseExceptionGroup: two (2 sub-exceptions)"),
    "InBegin": ("learner_error", "SystemExit: in begin"),
    "InCompile": ("learner_error", "SystemExit: in compile"),
    "InScores": ("learner_error", "SystemExit: in scores"),
    "InMeasures": ("learner_error", "SystemExit: in measures"),
    "InLooksAhead": ("learner_error", "SystemExit: in looks_ahead"),
    "InGridKey": ("learner_error", "SystemExit: in grid_key"),
    "Nothing": (
        "learner_error",
        "TypeError: the learner returned a NoneType as scores; expected numbers of shape (64, 1)",
    ),
    "Short": (
        "learner_error",
        "TypeError: the learner returned an array of shape (63, 1) and type float64 as scores; "
        "expected numbers of shape "
        "(64, 1)",
    ),
    "Words": (
        "learner_error",
        "TypeError: the learner returned an array of shape (64, 1) and type <U9 as scores; "
        "expected numbers of shape "
        "(64, 1)",
    ),
    "Measured": (
        "learner_error",
        "ValueError: could not convert string to float: 'many'",
    ),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Put a module of learners on the path, for worker processes too."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "hostile_learners.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield "hostile_learners"


def experiment(shelf: Path, *learners: str) -> Experiment:
    """Time order on one data set, an actor; a permutation on another, a task."""
    return parse_experiment(
        {
            "datasets": [
                {"path": str(shelf / "dense"), "protocol": {"order": "time"}},
                {
                    "path": str(shelf / "sparse"),
                    "protocol": {"order": "permuted", "permutations": 1},
                },
            ],
            "learners": [{"name": name} for name in learners],
        }
    )


def ends(store: Store) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for row in store.read(["learner", "outcome", "reason"]).to_pylist():
        found.setdefault(row["learner"].rpartition(":")[2], set()).add(
            (row["outcome"], row["reason"])
        )
    return found


@pytest.fixture(scope="module")
def undisturbed(
    shelf: Path, hostile: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    evaluate(experiment(shelf, *OURS, f"{hostile}:Draws"), store, in_process=True)
    return store


@pytest.mark.parametrize(
    "where",
    [{"in_process": True}, {"workers": 1}],
    ids=["in process", "actor and task"],
)
def test_an_exception_of_any_kind_ends_as_that_run(
    shelf: Path,
    tmp_path: Path,
    hostile: str,
    undisturbed: Path,
    where: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And a learner that changes the process it is in, or forks it, changes nothing for the others."""
    monkeypatch.chdir(tmp_path)
    learners = [*OURS, *(f"{hostile}:{name}" for name in (*FINE, *RAISING))]
    before = np.geterr()
    filters = list(warnings.filters)
    eager = ExecutionSettings(checkpoint_seconds=0.0, checkpoint_ratio=0.0)
    done = evaluate(experiment(shelf, *learners), "store", **where, settings=eager)
    assert ends(done.store) == {
        **{name: {("ok", "")} for name in (*OURS, *FINE)},
        **{name: {end} for name, end in RAISING.items()},
    }
    assert record_bytes(undisturbed).items() <= record_bytes(tmp_path / "store").items()
    assert done.computed == done.runs == 2 * len(learners)
    assert (Path.cwd(), np.geterr()) == (tmp_path, before)
    # starting a cluster imports bokeh, which filters warnings
    if where == {"in_process": True}:
        assert list(warnings.filters) == filters


def test_an_exception_in_a_class_shard_ends_the_run(
    shelf: Path, tmp_path: Path, hostile: str
) -> None:
    wanted = parse_experiment(
        {
            "datasets": [{"path": str(shelf / "digits")}],
            "learners": [
                {
                    "name": name if name == "pa1" else f"{hostile}:{name}",
                    "params": {"multiclass": "ova"},
                }
                for name in ("pa1", "Exits", "InBegin", "InScores", "Mute")
            ],
            "protocol": {"order": "time"},
        }
    )
    done = evaluate(wanted, tmp_path / "store", in_process=True, class_shards=2)
    assert ends(done.store) == {"pa1": {("ok", "")}} | {
        name: {RAISING[name]} for name in ("Exits", "InBegin", "InScores", "Mute")
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Planned", "row_numbers raised SystemExit: 0"),
        ("Checked", "check_memory raised GeneratorExit: "),
        ("Resolved", "making it raised RuntimeError: two lines"),
    ],
)
def test_what_a_learner_raises_before_there_is_a_run_is_one_line(
    shelf: Path, tmp_path: Path, hostile: str, name: str, said: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        evaluate(
            experiment(shelf, f"{hostile}:{name}"), tmp_path / "store", in_process=True
        )
    assert (
        str(caught.value)
        == f"learner {hostile}:{name}: {said}; mend it or leave it out"
    )
    assert not (tmp_path / "store").exists()


def test_a_module_that_ends_the_process_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shelf: Path
) -> None:
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ParameterError, match=r"'leaving:X' cannot be imported \(SystemExit: 0\)"
    ):
        evaluate(experiment(shelf, "leaving:X"), tmp_path / "store", in_process=True)


def test_ctrl_c_of_the_user_is_no_learners_exception(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: str
) -> None:
    """The second one raises in the middle of a learner, which may bury it under an exception of its own."""
    import signal

    from olscale.learners.linear.passive_aggressive import PA

    learn = PA.learn

    def interrupted(self: Any, X: Any, y: Any) -> Any:
        if len(y):
            try:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                raise RuntimeError("something went wrong") from None
        return learn(self, X, y)

    monkeypatch.setattr(PA, "learn", interrupted)
    with pytest.raises(BaseException) as caught:
        evaluate(experiment(shelf, "pa", "lol"), tmp_path / "store", in_process=True)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not record_bytes(tmp_path / "store")
