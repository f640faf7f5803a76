"""What is read is what the annotations say, and what is written has the bytes of pydantic."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from olscale.storage.strict_json import (
    LATER,
    AtLeast,
    Formerly,
    Matching,
    WrongFieldError,
    as_json,
    json_text,
    read_strictly,
)

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    LEAVES,
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"])), parts, max_size=4
        )
    ),
    max_leaves=12,
)
ANY: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    books: Annotated[int, AtLeast(0)]

    def __post_init__(self) -> None:
        if self.books == 13:
            raise ValueError("13 books bring bad luck")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    shelves: dict[str, Shelf]
    height: Annotated[float, AtLeast(0)] = 2.5
    kind: Literal["small", "large"] = "small"
    names: tuple[int | float | str, ...] | None = None
    key: Annotated[str, Matching("[0-9a-f]{4}")] | None = field(
        default=None, metadata=LATER
    )
    owner: Annotated[str | None, Formerly(lambda value: value or None)] = None


GOOD = {
    "shelves": {"a": {"books": 3}},
    "height": 3,
    "kind": "large",
    "names": [1, 2.5, "x"],
    "key": "00ff",
    "owner": "",
}


@given(VALUES)
def test_the_text_is_that_of_pydantic(value: object) -> None:
    assert json_text(value).encode() == ANY.dump_json(value, indent=1)


@given(st.integers(-12, 24), st.integers(1, 9999))
def test_numbers_of_any_size_are_written_as_pydantic_does(
    exponent: int, digits: int
) -> None:
    value = float(f"-{digits}e{exponent}")
    assert json_text(value).encode() == ANY.dump_json(value)


def test_what_is_written_is_read() -> None:
    room = read_strictly(Room, GOOD)
    assert (room.height, type(room.height), room.owner) == (3.0, float, None)
    assert room.names == (1, 2.5, "x")
    assert read_strictly(Room, json.loads(json_text(as_json(room)))) == room
    assert "key" not in as_json(read_strictly(Room, {"shelves": {}}))
    assert as_json(read_strictly(Room, {"shelves": {}}))["names"] is None


@pytest.mark.parametrize(
    ("change", "where", "problem"),
    [
        ({"shelves": {"a": {"books": "3"}}}, "shelves.a.books", "a whole number"),
        ({"shelves": {"a": {"books": True}}}, "shelves.a.books", "a whole number"),
        ({"shelves": {"a": {"books": 3.0}}}, "shelves.a.books", "a whole number"),
        ({"shelves": {"a": {"books": -1}}}, "shelves.a.books", "at least 0"),
        ({"shelves": {"a": {"books": 13}}}, "shelves.a", "bad luck"),
        ({"shelves": {"a": {}}}, "shelves.a.books", "is missing"),
        ({"shelves": [1]}, "shelves", "expected an object"),
        ({"colour": 1}, "colour", "no field of this format"),
        ({"height": "2"}, "height", "expected a number"),
        ({"height": math.nan}, "height", "expected a number"),
        ({"height": True}, "height", "expected a number"),
        ({"kind": "other"}, "kind", "expected 'small' or 'large'"),
        ({"names": [None]}, "names.0", "is None"),
        ({"names": "abc"}, "names", "expected a list"),
        ({"names": [math.inf]}, "names.0", "is inf"),
        ({"key": "00FF"}, "key", "expected [0-9a-f]{4}"),
        ({"key": "00ff\n"}, "key", "expected [0-9a-f]{4}"),
        ({"key": 7}, "key", "expected text"),
    ],
)
def test_what_is_wrong_is_named(
    change: dict[str, Any], where: str, problem: str
) -> None:
    with pytest.raises(WrongFieldError) as caught:
        read_strictly(Room, {**GOOD, **change})
    assert caught.value.where == where
    assert problem in str(caught.value)
