"""Selections kept in a store: which parameters tuning chose, from what grid, on what data and how each candidate did."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from olscale.results.json_files import read_json_files, write_json_file
from olscale.results.record import canonical_json, run_id
from olscale.results.store_runs import OnDamage, StoreRuns


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


def write_selection(store: StoreRuns, selection: Selection) -> bool:
    """Write ``selections/<id>.json``, unless it is there and says the same; its bytes depend on the tuning runs alone.

    Returns
    -------
    bool
        Whether a damaged one was set aside.

    Raises
    ------
    StoreError
        If the store cannot be read or written to.
    """
    file, content = selection_file(selection), asdict(selection)

    def is_same(found: Any) -> bool:
        return canonical_json(asdict(_selection(found, file))) == canonical_json(content)

    return write_json_file(store, file, content, is_same, sort_keys=True)


def selection_file(selection: Selection) -> str:
    """Return the file of a selection."""
    return f"selections/{selection.id}.json"


def read_selections(store: StoreRuns, on_damage: OnDamage = "raise") -> list[Selection]:
    """Return the store's selections, sorted by id.

    Parameters
    ----------
    store : StoreRuns
    on_damage : {"raise", "skip"}
        What to do about a damaged selection: raise, or leave it out and add it to
        ``store.damaged``.

    Raises
    ------
    StoreError
        If a selection is damaged or cannot be read (its file is named).
    """
    return sorted(
        read_json_files(store, "selections", _selection, on_damage),
        key=lambda selection: selection.id,
    )


def _selection(content: Any, file: str) -> Selection:
    """Return a selection that fits its own definition; those of earlier versions have no checksum."""
    points = tuple(Point(**point) for point in content["points"])
    definition, chosen = content["definition"], content["chosen"]
    found = Selection(definition, str(content["id"]), points, chosen)
    objects = [
        definition,
        definition["protocol"],
        definition["grid"],
        chosen,
        *(point.params for point in points),
    ]
    if not all(isinstance(part, dict) for part in objects):
        raise TypeError("a part of it has another type than was written")
    errors = [point.error for point in points if point.error is not None]
    if not all(
        isinstance(number, float | int) for number in (*errors, *(point.failed for point in points))
    ):
        raise TypeError("a part of it has another type than was written")
    if run_id(definition) != found.id or selection_file(found) != file:
        raise ValueError("is not the selection that its name tells of")
    if len(points) != prod(len(values) for values in definition["grid"].values()):
        raise ValueError("does not have the points of its grid")
    if chosen not in [point.params for point in points]:
        raise ValueError("what was chosen is none of its points")
    return found
