"""Values that replace those of an experiment's file: ``protocol.permutations=20``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from olscale.errors import ExperimentError, UnknownNameError


def parse_override(text: str) -> tuple[str, Any]:
    """Return the dotted key and the value of ``KEY=VALUE``; a value that is not TOML is a word.

    Raises
    ------
    ExperimentError
        If the text has no key or no value.

    Examples
    --------
    >>> parse_override("protocol.permutations=20")
    ('protocol.permutations', 20)
    >>> parse_override("protocol.order=time")
    ('protocol.order', 'time')
    >>> parse_override('learners.pa1.params.C=[0.5, 1.0]')
    ('learners.pa1.params.C', [0.5, 1.0])
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        raise ExperimentError(
            f"{text!r} is not KEY=VALUE: expected a dotted key of the experiment and a value, such "
            "as protocol.permutations=20"
        )
    try:
        content = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return key, value
    # A line break in the text would otherwise smuggle in further keys.
    if content.keys() != {"value"}:
        return key, value
    return key, content["value"]


def with_overrides(
    content: Mapping[str, Any],
    overrides: Mapping[str, Any] | Iterable[tuple[str, Any]],
) -> Any:
    """Return the content of an experiment with values in place of its own, or added to it.

    Parameters
    ----------
    content : mapping of str to object
        As TOML has it; it is left as it is.
    overrides : mapping of str to object, or iterable of (str, object)
        Dotted keys and values. An entry of a list is named by its number, from 0, or by its label
        or name: ``learners.0.params.C``, ``learners.pa1.params.C``, ``datasets.letter.rows``.

    Raises
    ------
    UnknownNameError
        If a list has no entry of that name.
    ExperimentError
        If a key leads through a value that is no table, or `overrides` are no keys and values.

    Examples
    --------
    >>> content = {"seed": 1, "learners": [{"name": "pa"}, {"name": "pa1"}]}
    >>> with_overrides(content, [("seed", 2), ("learners.pa1.params.C", 0.5)])
    {'seed': 2, 'learners': [{'name': 'pa'}, {'name': 'pa1', 'params': {'C': 0.5}}]}
    """
    changed: Any = content
    for key, value in _pairs(overrides):
        changed = _changed(changed, key.split("."), value, key)
    return changed


def _pairs(
    overrides: Mapping[str, Any] | Iterable[tuple[str, Any]],
) -> list[tuple[str, Any]]:
    entries: Any = overrides
    if isinstance(overrides, Mapping):
        entries = overrides.items()
    pairs: list[Any] = list(entries) if isinstance(entries, Iterable) else [entries]
    if not all(map(_is_pair, pairs)):
        raise ExperimentError(
            f"overrides are {overrides!r}, expected keys and values: "
            "{'protocol.permutations': 20}"
        )
    return pairs


def _is_pair(pair: Any) -> bool:
    return (
        isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)
    )


def _changed(content: Any, parts: list[str], value: Any, key: str) -> Any:
    """Return a copy of `content` with `value` at the place that `parts` lead to."""
    if not parts:
        return value
    first, *others = parts
    if isinstance(content, Mapping):
        return {**content, first: _changed(content.get(first, {}), others, value, key)}
    if isinstance(content, list):
        copy = list(content)
        for place in _places(content, first, key):
            copy[place] = _changed(content[place], others, value, key)
        return copy
    raise ExperimentError(
        f"{key}: there is a value ({content!r}) before {first!r}, and no table"
    )


def _places(entries: list[Any], word: str, key: str) -> list[int]:
    """Return the places of the entries of a list that are called `word`."""
    if word.isdecimal() and int(word) < len(entries):
        return [int(word)]
    names = [_name_of(entry) for entry in entries]
    if word in names:
        # Settings of one learner that stand apart in the file are changed together.
        return [place for place, name in enumerate(names) if name == word]
    known = [*map(str, range(len(entries))), *(name for name in names if name)]
    raise UnknownNameError(f"entry of {key}", word, known)


def _name_of(entry: Any) -> str:
    """Return what an entry of a list of tables is called: its label, name, or path's last part."""
    if not isinstance(entry, Mapping):
        return ""
    words = [entry.get(key) for key in ("label", "name")]
    words.append(str(entry.get("path", "")).rstrip("/").rpartition("/")[2])
    return next((word for word in words if isinstance(word, str) and word), "")
