"""Parameters that a class declares as fields: the constructor, domains and docstring that follow from them."""

from __future__ import annotations

import ast
import inspect
import pickle
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import olscale.learners
from olscale.errors import ParameterError
from olscale.learners import (
    Choice,
    Domain,
    OnePassLearner,
    Real,
    WeightedClassifier,
    Whole,
    param,
    rule_of,
)
from olscale.learners.registry import learner_class, learner_names


class Declared(OnePassLearner):
    """A learner.

    Notes
    -----
    None.
    """

    name = "declared"

    eta: float = param(1.0, Real(0.0, open_="low"), "Step.")
    B: int = param(10, Whole(1), "Budget.")


class Derived(Declared, WeightedClassifier):
    """Another."""

    eta: float = 0.5
    form: str = param("plain", Choice(("plain", "other")), "Form of the step.")


class ByHand(WeightedClassifier):
    name = "by-hand"
    domains: ClassVar[dict[str, Domain]] = {"eta": Real(0.0, open_="low")}

    def __init__(self, eta: float = 1.0) -> None:
        self.eta = eta


def test_the_constructor_takes_the_fields_by_name() -> None:
    assert list(inspect.signature(Declared).parameters) == ["eta", "B"]
    assert repr(Declared(eta=2.0, B=10)) == "Declared(eta=2.0)"
    assert Declared().get_params() == {"B": 10, "eta": 1.0}
    assert pickle.loads(pickle.dumps(Declared(B=3))).B == 3
    with pytest.raises(
        TypeError, match=r"^Declared\.__init__\(\) takes 1 positional argument"
    ):
        Declared(2.0)  # type: ignore[misc]
    with pytest.raises(
        TypeError,
        match=r"^Declared\.__init__\(\) got an unexpected keyword argument 'etaa'$",
    ):
        Declared(etaa=2.0)  # type: ignore[call-arg]


def test_a_value_outside_of_its_domain_is_refused() -> None:
    with pytest.raises(
        ParameterError,
        match=r"^learner declared: parameter B was 0, expected a whole number >= 1$",
    ):
        Declared(B=0).resolved_params()


def test_fields_are_inherited_and_a_plain_value_changes_the_default() -> None:
    assert Derived().get_params() == {
        "B": 10,
        "class_weight": None,
        "eta": 0.5,
        "form": "plain",
    }
    assert Derived.domains["eta"] == Declared.domains["eta"]
    assert Declared().eta == 1.0


def test_the_docstring_has_a_section_of_the_parameters() -> None:
    text = inspect.getdoc(Declared) or ""
    section = (
        "Parameters\n----------\neta : a number in (0, inf), default 1.0\n    Step.\n"
        "B : a whole number >= 1, default 10\n    Budget.\n\nNotes\n-----\n"
    )
    assert section in text


def test_a_section_of_parameters_that_is_written_by_hand_stays_alone() -> None:
    doc = "A rule.\n\n    Parameters\n    ----------\n    eta : float\n        First step.\n    "
    written = type("Written", (Declared,), {"__doc__": doc})
    assert (written.__doc__ or "").count("Parameters\n---") == 1
    assert written(eta=0.25).get_params()["eta"] == 0.25


@pytest.mark.parametrize("name", learner_names())
def test_a_learner_describes_all_of_its_parameters(name: str) -> None:
    learner = learner_class(name)
    text = inspect.getdoc(learner) or ""
    assert learner.declared.keys() == learner().get_params().keys()
    assert all(f"\n{parameter} : " in text for parameter in learner.declared)


def test_a_constructor_that_is_written_by_hand_stays() -> None:
    assert ByHand(2.0).get_params() == {"class_weight": None, "eta": 2.0}
    assert not ByHand.declared
    assert "Parameters" not in (ByHand.__doc__ or "")
    with pytest.raises(
        TypeError, match="Both declares B, but inherits an __init__ that is"
    ):
        type("Both", (ByHand,), {"B": param(1, Whole(1), "Budget.")})


class Rule(NamedTuple):
    B: int
    eta: float
    other: bool
    rate: np.ndarray[Any, Any]


def test_a_rule_has_the_parameters_in_the_types_of_its_fields() -> None:
    rule = rule_of(Rule, Derived(B=3.0, eta=2), other=True, rate=0.25)
    assert rule[:3] == (3, 2.0, True)
    assert [type(value) for value in rule[:3]] == [int, float, bool]
    assert rule.rate.tolist() == [0.25]


def test_type_checkers_are_shown_names_that_there_are() -> None:
    stub = (
        Path(olscale.learners.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    )
    imports = [
        node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)
    ]
    names = {name.asname for node in imports for name in node.names if name.asname}
    assert names <= set(dir(olscale.learners))
