"""What the run groups of a task share: the store, open datasets and one file of records."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from time import monotonic
from types import MappingProxyType

from olscale.data.dataset import Dataset, open_dataset
from olscale.evaluation.cut_groups import BUNDLE_SECONDS
from olscale.evaluation.run_group import RunGroup
from olscale.execution.checkpoints import begun_keys
from olscale.execution.group_records import write_records, write_together
from olscale.results.record import Record
from olscale.results.store import open_store


class TaskFiles:
    """The store and the datasets of a task, and the records of its groups until `write`.

    Runs are reported only once written. Records that have files of their own, or replace others,
    are written at once.

    Parameters
    ----------
    store : str
        Path or URL of the store for the records.
    datasets : mapping of str to Dataset, optional
        Datasets that are open already, by path.

    Attributes
    ----------
    store : Store

    Raises
    ------
    StoreError
        If there is no such store.
    """

    def __init__(self, store: str, datasets: Mapping[str, Dataset] = MappingProxyType({})) -> None:
        self.store = open_store(store)
        self._datasets = dict(datasets)
        # By whether they replace other records, which is another way to write them.
        self._records: dict[bool, list[Record]] = {False: [], True: []}
        self._when_written: list[Callable[[], None]] = []
        self._since = 0.0

    def dataset(self, path: str) -> Dataset:
        """Return the dataset at `path`, opened once.

        Raises
        ------
        DatasetError
            If there is no dataset, or it is damaged.
        """
        if path not in self._datasets:
            self._datasets[path] = open_dataset(path)
        return self._datasets[path]

    def has_begun(self, group: RunGroup) -> bool:
        """Return whether the group had files among the checkpoints when this was first asked."""
        begun = self._begun
        return bool(begun) and not begun.isdisjoint((group.key, group.origin))

    @cached_property
    def _begun(self) -> frozenset[str]:
        return begun_keys(self.store)

    def add(
        self, group: RunGroup, records: Sequence[Record], when_written: Callable[[], None]
    ) -> None:
        """Take the records of a group; call `when_written` once they are on disk.

        Raises
        ------
        StoreError
            If the store cannot be written to.
        """
        if not self._when_written:
            self._since = monotonic()
        if group.together:
            self._records[group.replaces] += records
        else:
            write_records(self.store, group, records)
        self._when_written.append(when_written)

    def write(self) -> None:
        """Write the collected records.

        Raises
        ------
        StoreError
            If the store cannot be written to; the records are then kept.
        """
        for replaces, records in self._records.items():
            if records:
                write_together(self.store, records, replaces)
        for call in self._when_written:
            call()
        self._records = {False: [], True: []}
        self._when_written = []

    def write_if_due(self) -> None:
        """Write the collected records if a group takes longer than expected."""
        if any(self._records.values()) and monotonic() - self._since > 2 * BUNDLE_SECONDS:
            self.write()
