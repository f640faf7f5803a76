"""A part of a metrics store: the runs of some experiments, read as if there were no others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from olscale.results.plans import Plan, plans_of, read_plans
from olscale.results.store import OnDamage, Store


class StorePart(Store):
    """Some runs of a store, for reading.

    Parameters
    ----------
    path : str
        Of the store.
    ids : collection of str
        Its runs; those that are not there are left out.

    Examples
    --------
    >>> from olscale.results import open_store
    >>> store = open_store("memory://doctest-part", create=True)
    >>> StorePart(store.path, []).read(["id"]).num_rows
    0
    """

    def __init__(self, path: str, ids: Collection[str]) -> None:
        super().__init__(path)
        self._ids = frozenset(ids)

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return type(self), (self.path, self._ids)  # type: ignore[return-value]

    def read(
        self,
        columns: Sequence[str] | None = None,
        on_damage: OnDamage = "raise",
        dictionaries: bool = False,
        ids: Collection[str] | None = None,
    ) -> pa.Table:
        """Read these runs alone, or those of them that are in `ids`."""
        own_ids = self._ids if ids is None else self._ids.intersection(ids)
        return super().read(columns, on_damage, dictionaries, own_ids)

    def timings(
        self,
        on_damage: OnDamage = "raise",
        columns: Sequence[str] | None = None,
        ids: pa.ChunkedArray | None = None,
        dictionaries: bool = False,
    ) -> pa.Table:
        """Read the timings of these runs alone, or of those in `ids`."""
        if ids is None:
            ids = self.read(["id"], on_damage)["id"]
        return super().timings(on_damage, columns, ids, dictionaries)


def part_of(
    store: Store, experiments: Collection[str], on_damage: OnDamage = "raise"
) -> tuple[Store, Mapping[str, Plan]]:
    """Return the runs of some experiments of a store, and the plans that name them.

    Parameters
    ----------
    store : Store
    experiments : collection of str
        Names that ``olscale status`` lists. Without any all runs count, planned or not: a store
        may be merged from several.
    on_damage : {"raise", "skip"}

    Returns
    -------
    Store
        For reading.
    mapping of str to Plan
        By the own names of the plans; empty without `experiments`.

    Raises
    ------
    UnknownNameError
        If there is no such experiment.

    Examples
    --------
    >>> from olscale.results import open_store
    >>> store = open_store("memory://doctest-part-of", create=True)
    >>> part_of(store, []) == (store, {})
    True
    """
    if not experiments:
        return store, {}
    plans = plans_of(read_plans(store, on_damage), experiments)
    runs = {run for plan in plans.values() for run in plan.runs}
    return StorePart(store.path, runs), plans
