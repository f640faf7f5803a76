"""Selections kept in a store: which parameters tuning chose, from what grid, on what data and how each candidate did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from olscale.results.json_files import read_json_files
from olscale.results.store import Store

__all__ = ["Point", "Selection", "read_selections", "write_selection"]


@dataclass(frozen=True, slots=True)
class Point:
    """A candidate.

    Parameters
    ----------
    params : dict
        All parameters, in canonical form.
    error : float or None
        Mean error over the parts; None if a run on one of them failed.
    failed : int
        Runs that failed.
    """

    params: Mapping[str, Any]
    error: float | None
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """What tuning chose for a learner on a dataset.

    Parameters
    ----------
    definition : dict
        Dataset, transforms, learner with the parameters given, grid, protocol.
    id : str
        Hash of the definition.
    points : tuple of Point
        All candidates.
    chosen : dict
        Parameters of the best one.
    """

    definition: Mapping[str, Any]
    id: str
    points: tuple[Point, ...]
    chosen: Mapping[str, Any]

    def summary(self) -> dict[str, Any]:
        """Return grid and protocol: on which data and grid a result was tuned."""
        return {"grid": self.definition["grid"], **self.definition["protocol"]}


def write_selection(store: Store, selection: Selection) -> None:
    """Write ``selections/<id>.json``; the bytes depend on the tuning runs alone.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    file = f"selections/{selection.id}.json"
    if not store.files.exists(file):
        store.put(file, (json.dumps(asdict(selection), indent=1, sort_keys=True) + "\n").encode())


def read_selections(store: Store) -> list[Selection]:
    """Return the store's selections, sorted by id.

    Raises
    ------
    StoreError
        If a selection cannot be read (its file is named).
    """
    return sorted(read_json_files(store, "selections", "selection", _selection), key=lambda selection: selection.id)


def _selection(content: Any) -> Selection:
    points = tuple(Point(**point) for point in content["points"])
    definition, chosen = content["definition"], content["chosen"]
    objects = [definition, definition["protocol"], definition["grid"], chosen, *(point.params for point in points)]
    errors = [point.error for point in points if point.error is not None]
    if not all(isinstance(part, dict) for part in objects) or not all(
        isinstance(error, float | int) for error in errors
    ):
        raise ValueError("a part of it has another type than was written")
    return Selection(definition, str(content["id"]), points, chosen)
