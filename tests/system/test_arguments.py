"""A wrong type is named at the call, by the name of the argument, and NumPy's numbers are numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
import pytest

import olscale
from olscale.errors import ParameterError, UnknownNameError
from olscale.system.arguments import checked_arguments


class Listener(Protocol):
    def note(self, line: str) -> None: ...


@checked_arguments("own")
def take(
    name: str = "a",
    rows: int | None = None,
    share: float = 0.5,
    names: Sequence[str] = (),
    often: bool = False,
    coding: str | Mapping[str, str] = "",
    kind: Literal["a", "b"] = "a",
    path: str | Path = "",
    call: Callable[[str], None] | None = None,
    listener: Listener | Literal[False] | None = None,
    own: int = 0,
    anything: Any = None,
    **more: Any,
) -> dict[str, Any]:
    return locals()


FITS: list[dict[str, Any]] = [
    {"name": "x", "rows": None, "share": 1, "names": {"a"}, "often": True},
    {"names": ["a"], "coding": {"a": "b"}, "kind": "nosuch", "path": Path("p")},
    {"call": print, "listener": False, "own": "x", "anything": 1, "more": 2},
]


@pytest.mark.parametrize("arguments", FITS)
def test_what_fits_is_passed_on(arguments: dict[str, Any]) -> None:
    got = take(**arguments)
    got |= got.pop("more")
    assert arguments.items() <= got.items()


@pytest.mark.parametrize(
    ("argument", "value", "expected"),
    [
        ("name", None, "name of take is None, expected a text"),
        ("rows", "5", "rows of take is '5', expected a whole number"),
        ("rows", 1.5, "expected a whole number"),
        ("rows", True, "expected a whole number"),
        ("share", "x", "expected a number"),
        ("names", "pa1", r"is 'pa1', expected a list of texts: \['pa1'\]"),
        ("names", [1], r"is \[1\], expected a list of texts"),
        ("names", {"a": 1}, "is a dict"),
        ("often", "no", "expected True or False"),
        ("often", np.ones(2), "is a ndarray"),
        ("coding", 5, "expected a text or a mapping"),
        ("kind", 5, "expected a text"),
        ("call", 5, "expected a function"),
        ("listener", object(), "is an object, expected a Listener or False"),
    ],
)
def test_what_does_not_fit_is_named(argument: str, value: Any, expected: str) -> None:
    with pytest.raises(ParameterError, match=expected):
        take(**{argument: value})


def test_numbers_and_lists_of_numpy_and_pandas_become_those_of_python() -> None:
    got = take(
        rows=np.int64(5),
        share=np.float32(0.5),
        often=np.bool_(True),
        names=np.array(["a"]),
    )
    assert [type(got[name]) for name in ("rows", "share", "often", "names")] == [
        int,
        float,
        bool,
        list,
    ]
    assert take(names=pd.Series(["a", "b"]))["names"] == ["a", "b"]


def test_arguments_that_python_refuses_are_refused_by_python() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        olscale.compare()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nosuch"):
        olscale.open_store("s", nosuch=1)  # type: ignore[call-arg]


def test_no_run_is_forgotten_by_mistake(tmp_path: Path) -> None:
    store = olscale.open_store(tmp_path / "s", create=True)
    with pytest.raises(ParameterError, match="everything of forget is 'no'"):
        store.forget(everything="no")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="learners of forget is 'pa1'"):
        store.forget("pa1")


@pytest.mark.parametrize("got", [None, 5, ["train"]])
def test_a_name_that_is_no_text_is_an_unknown_name(got: Any) -> None:
    error = UnknownNameError("split", got, ["train"])
    assert str(error).startswith(f"unknown split {got!r};")


@pytest.mark.parametrize(
    "call",
    [
        lambda: olscale.compare("s", learners="pa1"),  # type: ignore[arg-type]
        lambda: olscale.leaderboard("s", datasets=5),  # type: ignore[arg-type]
        lambda: olscale.make_report("s", "o", metric=5),  # type: ignore[arg-type]
        lambda: olscale.generate("sea", "d", rows="5"),  # type: ignore[arg-type]
        lambda: olscale.ingest("sklearn:iris", "d", chunk_rows=1.5),  # type: ignore[arg-type]
        lambda: olscale.open_store("s", create="no"),  # type: ignore[arg-type]
        lambda: olscale.evaluate(None, "s", budget=5),  # type: ignore[arg-type]
        lambda: olscale.evaluate(None, "s", progress=True),  # type: ignore[arg-type]
    ],
)
def test_public_functions_check_their_arguments(call: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError, match=", expected "):
        call()
