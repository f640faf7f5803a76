"""What tuning chose for learners on datasets, as files of a store."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from olscale.results.json_files import read_json_file, read_json_files
from olscale.results.record import run_id
from olscale.results.store import OnDamage, Store
from olscale.results.version import is_checked
from olscale.storage.canonical_json import canonical_json
from olscale.storage.checked_json import json_bytes


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
    share : float
        Share of the stream that it learned on its last rung of halving.
    """

    params: Mapping[str, Any]
    error: float | None
    failed: int = 0
    share: float = 1.0


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

    @property
    def learner_and_dataset(self) -> tuple[str, str]:
        """Names of both."""
        learner = self.definition["learner"]
        dataset = self.definition["dataset"]
        return str(learner["name"]), str(dataset["name"])

    def summary(self) -> dict[str, Any]:
        """Return grid and protocol: on which data and grid a result was tuned."""
        return {
            "grid": self.definition["grid"],
            **self.definition["protocol"],
        }


def write_selection(store: Store, selection: Selection) -> bool:
    """Write ``selections/<id>.json``, unless it is there; its bytes depend on tuning runs alone.

    Returns
    -------
    bool
        Whether a damaged one was set aside.

    Raises
    ------
    StoreError
        If the store cannot be read or written to.
    """
    file = selection_file(selection)
    content = _selection_content(selection)
    stored, is_set_aside = read_json_file(store, file, _selection)
    if stored is not None:
        if canonical_json(_selection_content(stored)) == canonical_json(content):
            return False
        # What has a checksum was written so, and what it is made from has changed since.
        if not is_checked(store.files.read(file)):
            store.set_aside(file)
            is_set_aside = True
    store.put(file, json_bytes(content, indent=1, sort_keys=True))
    return is_set_aside


def _selection_content(selection: Selection) -> dict[str, Any]:
    content = asdict(selection)
    for point in content["points"]:
        # The bytes of a choice from a grid are those that earlier versions wrote.
        if point["share"] == 1.0:
            del point["share"]
    return content


def selection_file(selection: Selection) -> str:
    """Return the file of a selection."""
    return f"selections/{selection.id}.json"


def read_selections(store: Store, on_damage: OnDamage = "raise") -> list[Selection]:
    """Return the store's selections, sorted by id.

    Parameters
    ----------
    store : Store
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
    """Return a selection that fits its definition; those of earlier versions have no checksum."""
    definition = content["definition"]
    chosen = content["chosen"]
    points = tuple(Point(**point) for point in content["points"])
    selection = Selection(definition, str(content["id"]), points, chosen)
    params = [point.params for point in points]
    objects = [
        definition,
        definition["protocol"],
        definition["grid"],
        chosen,
        *params,
    ]
    numbers: list[object] = [point.failed for point in points]
    numbers += [point.error for point in points if point.error is not None]
    numbers += [point.share for point in points]
    if not all(isinstance(part, dict) for part in objects) or not all(
        isinstance(number, float | int) for number in numbers
    ):
        raise TypeError("a part of it has another type than was written")
    # The id is a hash of the definition, and the file is named by it.
    if run_id(definition) != selection.id or selection_file(selection) != file:
        raise ValueError("is not the selection that its name says")
    if "search" in definition["protocol"]:
        if not 1 <= len(points) <= definition["protocol"]["budget"]:
            raise ValueError("has more points than were drawn")
    elif len(points) != prod(len(values) for values in definition["grid"].values()):
        raise ValueError("does not have the points of its grid")
    if chosen not in params:
        raise ValueError("what was chosen is none of its points")
    return selection
