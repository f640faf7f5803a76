"""Errors of pydantic as one line: the place, the value, what was expected and the cure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from olscale.addresses import HIDDEN
from olscale.data.transforms.pipeline import split_transforms
from olscale.errors import ExperimentError, UnknownNameError
from olscale.evaluation.protocol import ProtocolSpec

_TABLES = {"datasets": "path", "learners": "name"}
"""Lists of tables, each with the key that a plain string sets."""

_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
_LONGEST = 120
_TRUE_OR_FALSE = tuple(
    option.name for option in fields(ProtocolSpec) if option.type == "bool"
)


def explain(
    error: ValidationError,
    source: str,
    root: type[BaseModel],
    sections: Mapping[str, type],
) -> Any:
    """Return the error to raise in place of pydantic's.

    Parameters
    ----------
    error : pydantic.ValidationError
    source : str
        Name of the file or other source of the content.
    root : type of BaseModel
        Model of the whole content.
    sections : mapping of str to type
        Models or dataclasses of its sections, by key.
    """
    problems = error.errors(include_url=False)
    # A mistyped key also makes the correct key missing: report the typing error.
    mistyped = [problem for problem in problems if problem["type"] in _UNKNOWN_KEY]
    first = (mistyped or problems)[0]
    # For a value of a union, pydantic also names the type.
    place = [
        part
        for part in first["loc"]
        if isinstance(part, int) or re.fullmatch(r"\w+", part)
    ]
    kind = first["type"]
    got = first["input"]
    where = ".".join(map(str, place))
    if kind in _UNKNOWN_KEY:
        # Find the innermost section that contains the key.
        model = next(
            (
                sections[str(part)]
                for part in reversed(first["loc"][:-1])
                if part in sections
            ),
            root,
        )
        inside = ""
        if len(first["loc"]) > 1:
            inside = f" in {'.'.join(map(str, first['loc'][:-1]))}"
        unknown_key = UnknownNameError(
            f"key{inside}", str(first["loc"][-1]), _keys(model)
        )
        return ExperimentError(f"{source}: {unknown_key}")
    if kind == "missing":
        return ExperimentError(f"{source}: {where} is missing")
    if kind == "literal_error" and isinstance(got, str):
        choices = re.findall(r"'([^']*)'", first["ctx"]["expected"])
        nearest = str(UnknownNameError(where, got, choices)).partition("; ")[2]
        return ExperimentError(f"{source}: {where} was {got!r}; {nearest}")
    shown = repr(got)
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]} ..."
    if place[:1] == ["notify"] and (
        "webhook" in (*place, *(got if isinstance(got, dict) else ())) or "://" in shown
    ):
        shown = HIDDEN  # such an address is secret as a whole
    expected = _cure(place, kind, got) or first["msg"].removeprefix("Value error, ")
    return ExperimentError(f"{source}: {where or 'it'} was {shown}: {expected}")


def check_numbers(content: Mapping[str, Any], source: str) -> None:
    """Refuse true and false where an experiment has only numbers and strings."""
    numeric = {
        key: content[key]
        for key in ("seed", "protocol", "tuning", "datasets")
        if key in content
    }
    refuse_flags(numeric, source, but=(*_TRUE_OR_FALSE, "optional"))


def refuse_flags(content: Mapping[str, Any], source: str, but: Sequence[str]) -> None:
    """Refuse true and false under all keys except `but`: pydantic takes them for 1 and 0."""
    for place, value in _values(content, ""):
        if isinstance(value, bool) and place.rpartition(".")[2] not in but:
            raise ExperimentError(
                f"{source}: {place} was {value}: expected no true or false here"
            )


def _values(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield every value in tables and lists with its place."""
    if is_dataclass(value):
        value = vars(value)
    if not isinstance(value, Mapping | list | tuple):
        yield place, value
        return
    for key, entry in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _values(entry, f"{place}.{key}" if place else str(key))


def _keys(section: Any) -> list[str]:
    if is_dataclass(section):
        return [declared.name for declared in fields(section)]
    return list(section.model_fields)


def _cure(place: list[Any], kind: str, got: Any) -> str:
    """Return what to write for a value of the wrong shape; empty if pydantic's message suffices."""
    key = ""
    if place:
        key = str(place[-1])
    if kind in ("tuple_type", "list_type"):
        if key in _TABLES and len(place) == 1:
            if isinstance(got, dict):
                return (
                    f"expected a list of tables, got one: write [[{key}]] (in Python "
                    f"{key}=[{{...}}])"
                )
            return (
                f"expected a list of tables: write [[{key}]] with {_TABLES[key]} = ... (in "
                f"Python {key}=[{{...}}])"
            )
        if isinstance(got, str):
            words = split_transforms(got) if key == "transforms" else [got]
            return f"expected a list: write {key} = {json.dumps(words)}"
        return f"expected a list: write {key} = {json.dumps([got], default=str)}"
    if kind in ("model_type", "model_attributes_type", "dataclass_type", "dict_type"):
        if len(place) == 2 and place[0] in _TABLES and isinstance(got, str):
            word = _TABLES[str(place[0])]
            return (
                f'expected a table: write [[{place[0]}]] with {word} = "{got}" (in Python '
                f'{{"{word}": "{got}"}})'
            )
        if len(place) == 2 and place[0] in _TABLES:
            word = _TABLES[str(place[0])]
            return (
                f"expected a table: write [[{place[0]}]] with {word} = ... (in Python "
                f'{{"{word}": ...}})'
            )
        if kind != "dict_type" and len(place) == 1:
            return (
                f"expected a table: write [{key}] with a key on each line below (in Python "
                f"{key}={{...}})"
            )
        return f"expected a table: write {key} = {{ name = value }}"
    return ""
