"""Changes of single values in JSON files."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from olscale.storage.checked_json import json_bytes, json_content
from tests.fuzz.target import Files

JSON_WORDS = (
    b"null", b"true", b"[]", b"{}", b'"', b",", b":", b"-1", b"1e5", b"[" * 3000,
    b'"sparse"', b'"dense"', b'"zarr"', b'"parquet"',
)  # fmt: skip
VALUES = (
    None, True, -1, 0, 1, 3, 2**31, 10**18, 2**64, 1.5, 1e308, "", "x", "\ud800", "a\nb", [], {}, [[]], {"x": 1},
)  # fmt: skip


def vary_json(name: str, checked: bool = False) -> Callable[[Random, Files], Files]:
    """Return a change of one value anywhere in a JSON file; where `checked`, with a checksum made anew for it."""

    def vary(random: Random, files: Files) -> Files:
        chosen = random.choice(
            [
                file
                for file in sorted(files)
                if file.startswith(name) and file.endswith(".json")
            ]
        )
        content = (
            json_content(files[chosen], checked=True)
            if checked
            else json.loads(files[chosen])
        )
        places: list[tuple[Any, Any]] = []

        def visit(part: Any) -> None:
            for key in part if isinstance(part, dict) else range(len(part)):
                places.append((part, key))
                if isinstance(part[key], dict | list):
                    visit(part[key])

        visit(content)
        for _ in range(random.choice((1, 1, 2))):
            part, key = random.choice(places)
            other, its = random.choice(places)
            value = random.choice(
                (
                    random.choice(VALUES),
                    other.get(its) if isinstance(other, dict) else None,
                )
            )
            if isinstance(part, dict) or key < len(part):
                part[key] = value
            if isinstance(part, list) and part and random.random() < 0.2:
                part.append(part[0])
        try:
            return {
                chosen: json_bytes(content) if checked else json.dumps(content).encode()
            }
        except (ValueError, RecursionError):  # a part that now holds itself
            return {}

    return vary
