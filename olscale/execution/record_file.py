"""Records of run groups on their way to the store: those of a bundle are written to one file, with one wait for the disk."""

from collections.abc import Callable, Sequence
from time import monotonic

from olscale.evaluation.bundles import BUNDLE_SECONDS
from olscale.evaluation.run_group import RunGroup
from olscale.results.forget import replace_record
from olscale.results.record import Record
from olscale.results.store import Store


class RecordFile:
    """Keeps the records of finished groups until `write`; nobody may be told of a run before.

    Records that have files of their own, or take the place of others, are written at once.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: list[Record] = []
        self._when_written: list[Callable[[], None]] = []
        self._since = 0.0

    def add(self, group: RunGroup, records: Sequence[Record], when_written: Callable[[], None] = lambda: None) -> None:
        """Take the records of a group; `when_written` is called once they are on the disk.

        Raises
        ------
        StoreError
            If the store cannot be written to.
        """
        if not (self._records or self._when_written):
            self._since = monotonic()
        if group.together and not group.replaces:
            self._records += records
        else:
            for record in records:
                write_record(self._store, group, record)
        self._when_written.append(when_written)

    def write(self) -> None:
        """Write what is kept.

        Raises
        ------
        StoreError
            If the store cannot be written to; it is kept then.
        """
        if self._records:
            self._store.write_together(self._records)
        for call in self._when_written:
            call()
        self._records, self._when_written = [], []

    def write_if_due(self) -> None:
        """Write what is kept, if a group takes longer than it was thought to."""
        if self._records and monotonic() - self._since > 2 * BUNDLE_SECONDS:
            self.write()


def write_record(store: Store, group: RunGroup, record: Record) -> None:
    """Write the record of a run of `group` to a file of its own, in the place of an older one where that is asked for."""
    if group.replaces:
        replace_record(store, record)
    else:
        store.write(record)
