"""The metrics store: a directory (or object-store prefix) where each finished run lands once.

::

    STORE/store.json                       format and version (`olscale.results.version`)
    STORE/runs/<id[:2]>/<id>.parquet       definition and results; its bytes depend on the definition alone
    STORE/timings/<id[:2]>/<id>.parquet    seconds, rows per second, host, versions, when
    STORE/lost/<id[:2]>/<id>.parquet       runs whose workers kept dying; superseded by a file in runs/
    STORE/compacted/                       runs and timings in few large files: of run groups, or made by compaction
    STORE/damaged/                         files that were set aside, under the path they had
    STORE/plans/<name>-<hash>.json         which runs make up an experiment, in what order and under which labels
    STORE/selections/<id>.json             what tuning chose, and how each candidate did
    STORE/models/<id>.olm                  final models, where an experiment asks to keep them
    STORE/checkpoints/<group key>/         runs in mid-stream, for whoever continues them
    STORE/live/                            what evaluations are doing now (`olscale.results.live`)
    STORE/tmp/                             files being written

The file with results is the commit: it is written last, in one atomic step, and not changed unless
somebody asks for the run to be computed again. There are no locks; any number of processes may
write, because two that finish the same run write the same bytes. Every file carries a checksum.

Readers look at single files first and at compacted ones (`olscale.results.compacted`) afterwards. A
run whose single file is gone is then in a compacted one, because compaction removes nothing before
that is there.
"""

import os
from collections.abc import Collection

from olscale.errors import StoreError
from olscale.results.forget import forget_matching
from olscale.results.single import why
from olscale.results.store_runs import OnDamage, StoreRuns
from olscale.results.version import VERSION, is_store, version_bytes
from olscale.system.paths import path_text

__all__ = ["OnDamage", "Store", "open_store", "require_writable"]


class Store(StoreRuns):
    """A metrics store that exists; get one from `open_store`.

    Attributes
    ----------
    path : str
        Directory or fsspec URL.
    damaged : tuple of str
        Files that the last `read` or `timings` with ``on_damage="skip"`` left out, relative to
        `path`.
    unreadable : dict of str to str
        Why files that were left out could not be read, where they may be whole.
    """

    def forget(
        self,
        learners: Collection[str] = (),
        datasets: Collection[str] = (),
        everything: bool = False,
    ) -> int:
        """Remove runs with all that belongs to them, so that an evaluation computes them again.

        That is their results, lost ones included, timings and checkpoints, and the plans and
        selections of which no run is left. Killed at any instant, the store is whole, and the same
        call goes on.

        Parameters
        ----------
        learners, datasets : collection of str, optional
            Runs of these learners, on these datasets; a run must be of both kinds where both are
            given.
        everything : bool, default False
            Remove all runs; needed where neither learners nor datasets are given.

        Returns
        -------
        int
            How many runs were removed.

        Raises
        ------
        UnknownNameError
            If the store has no run of one of the learners or on one of the datasets.
        StoreError
            If the store cannot be written to.
        """
        return forget_matching(self, learners, datasets, everything)


def open_store(
    path: str | os.PathLike[str], create: bool = False, writes: bool | None = None
) -> Store:
    """Open a metrics store.

    Parameters
    ----------
    path : str or path-like
        Directory or fsspec URL.
    create : bool, default False
        Make the store if there is none.
    writes : bool, optional
        Check that it can be written to; by default where `create` is true.

    Returns
    -------
    Store

    Raises
    ------
    StoreError
        If there is no store and `create` is false, `path` holds something else, the store was
        written by a newer olscale, or it is to be written to and cannot be.

    Examples
    --------
    >>> store = open_store("memory://doctest-store", create=True)
    >>> store.done()
    set()
    """
    store = Store(path_text(path, "store"))
    if not is_store(store.files, store.path):
        if not create:
            raise StoreError(
                f"there is no metrics store at {store.path}; check the path, "
                f"or make one with: olscale evaluate ... --store {store.path}"
            )
        try:
            store.files.make()
        except OSError as fault:
            raise StoreError(
                f"cannot make the metrics store {store.path}: {why(fault)}; check its "
                "permissions, or name another one"
            ) from fault
        store.put("store.json", version_bytes(VERSION))
    assert store.version  # or an error that says what is wrong with it
    if create if writes is None else writes:
        require_writable(store)
    return store


def require_writable(store: Store) -> None:
    """Raise a `StoreError` if it can be told without writing that the store cannot be written to."""
    if not store.files.is_writable():
        raise StoreError(
            f"cannot write to the metrics store {store.path}: permission denied; name another store"
        )
