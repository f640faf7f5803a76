"""A part of a metrics store: the runs of some experiments, read as if there were no others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

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
        wanted = self._ids if ids is None else self._ids.intersection(ids)
        return super().read(columns, on_damage, dictionaries, wanted)
