"""Checkpoints: files in the store with run groups in mid-stream, from which any process continues.

::

    STORE/checkpoints/<group key>/pack.json         which runs, cut into which chunks
    STORE/checkpoints/<group key>/<position>.npz    state after so many chunks; the two newest stay
    STORE/checkpoints/<group key>/<run id>.json     outcome of a run whose process was ended

A checkpoint is an ``.npz`` of plain arrays with a checksum (`olscale.storage.checked_arrays`). The
group's key is a hash of its definition, so any process that gets the group (another worker, another
driver, `--in-process`) finds it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import Any

from olscale.errors import StoreError
from olscale.evaluation.budget import BudgetExceeded
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.run import Run
from olscale.evaluation.run_group import RunGroup, StreamSource
from olscale.execution.settings import SETTINGS, ExecutionSettings
from olscale.results.scratch import Scratch
from olscale.results.store import Store
from olscale.storage.checked_arrays import LaterFormatError, read_arrays, write_arrays
from olscale.storage.checked_json import DAMAGE, json_bytes, json_content

__all__ = [
    "Checkpoints",
    "read_arrays",
    "resumable_groups",
    "sweep_checkpoints",
    "write_arrays",
]

FOLDER = "checkpoints"
KEPT = 2


class Checkpoints:
    """The checkpoints of one group.

    Parameters
    ----------
    store : Store
        The metrics store.
    group : RunGroup
    settings : ExecutionSettings
        When a checkpoint is due.
    begun : bool
        Whether checkpoints may exist already.

    Attributes
    ----------
    notes : list of str
        Messages for the user about checkpoints that could not be used.
    """

    def __init__(
        self,
        store: Store,
        group: RunGroup,
        settings: ExecutionSettings = SETTINGS,
        begun: bool = True,
    ) -> None:
        self._store = store
        self._group = group
        self._settings = settings
        self._begun = begun
        self._saves = group.restorable
        self._costs: list[float] = []
        self._expected = 0.0  # least seconds that the first save is expected to take
        self._last = monotonic()
        self._saved = (0, 0)
        self.notes: list[str] = []

    @cached_property
    def folder(self) -> str:
        """Folder of the checkpoints, relative to the store."""
        return f"{FOLDER}/{self._group.key}"

    def place(self) -> tuple[str, ...]:
        """Return the group's progress: its newest checkpoint, and the runs over their budgets."""
        return (
            *(name.rpartition("/")[2] for name in self._states()[:1]),
            *self.exceeded(),
        )

    def rows(self) -> int:
        """Return the row-passes of the newest checkpoint, about; 0 without any."""
        for name in self._states()[:1]:
            row = row_of(name.rpartition("/")[2], self._group.chunk_rows)
            return min(row, self._group.rows) * len(self._group.runs)
        return 0

    def exceeded(self) -> dict[str, BudgetExceeded]:
        """Return how runs ended in earlier attempts, by run id, if their budget is unchanged."""
        if not self._begun:
            return {}
        folders = [
            self.folder,
            *([f"{FOLDER}/{self._group.origin}"] if self._group.origin else []),
        ]
        names = [
            f"{folder}/{run.id}.json" for folder in folders for run in self._group.runs
        ]
        present = {name for folder in folders for name in _names(self._store, folder)}
        ends = {}
        for name, data in self._store.files.read_many(
            name for name in names if name in present
        ):
            end = _content(self._store, data)
            outcome = end.get("outcome")
            reason = end.get("reason")
            same_budget = end.get("budget") == self._group.budget.model_dump()
            if (
                same_budget
                and outcome in ("timeout", "oom")
                and isinstance(reason, str)
                and reason.isprintable()
            ):
                ends[name[-37:-5]] = BudgetExceeded(outcome, reason)
        return ends

    def restored(self, make: Any) -> GroupPass:
        """Return the pass that `make()` returns, continued from the newest valid checkpoint."""
        restored_pass: GroupPass = make()
        damaged = []
        for name in self._states():
            try:
                with self._store.files.open(name) as file:
                    restored_pass.restore(read_arrays(file))
                break
            except FileNotFoundError:
                # Removed by another driver, which finished the group or saved it anew.
                continue
            except OSError as fault:
                damaged.append(f"{name} ({fault.strerror or fault})")
            except LaterFormatError as fault:  # valid, for the version that wrote it
                damaged.append(f"{name} ({fault})")
            except Exception as fault:  # valid, but not the state of this group
                damaged.append(f"{name} ({_short(fault)})")
                self._store.files.discard(name)
                restored_pass = make()  # a partially restored pass is not at its start
        if damaged:
            whence = "starts over"
            if restored_pass.position:
                whence = f"resumes from the one at chunk {restored_pass.position}"
            self.notes.append(
                f"{self._group.name}: damaged checkpoint {', '.join(damaged)}; {whence}"
            )
        self._last = monotonic()
        self._saved = (restored_pass.position, restored_pass.within)
        return restored_pass

    def save_if_due(self, group_pass: GroupPass) -> bool:
        """Save if the work since the last checkpoint is worth it; return whether it was."""
        worked = monotonic() - self._last
        if worked < self._settings.least_checkpoint_seconds or not self._saves:
            return False
        ratio = self._settings.checkpoint_ratio
        # the less of the last two: one slow save may be chance, two are not
        if self._costs:
            return worked >= ratio * min(self._costs) and self.save(group_pass)
        if worked >= ratio * self._expected:
            # The size mostly grows, so it need not be computed after every chunk.
            self._expected = (
                group_pass.filled_bytes / self._settings.first_bytes_a_second
            )
        return worked >= ratio * self._expected and self.save(group_pass)

    def save(self, group_pass: GroupPass) -> bool:
        """Save a pass, keeping the two newest checkpoints; a fault of the store skips the save."""
        at = group_pass.resumes_at
        if not self._saves or at == self._saved:
            return False
        start = None
        try:
            self._begun = True
            if not self._store.files.is_file(f"{self.folder}/pack.json"):
                self._store.files.put(f"{self.folder}/pack.json", _about(self._group))
            start = monotonic()
            # A name within a chunk sorts after that of the beginning of the chunk.
            position, row = at
            within = ""
            if row:
                within = f"_{row:09d}"
            with self._store.files.writing(
                f"{self.folder}/{position:09d}{within}.npz"
            ) as file:
                write_arrays(file, group_pass.state())
            self._saved = at
            for name in self._own_states()[KEPT:]:
                self._store.files.discard(name)
        except OSError as fault:
            self.notes.append(
                f"{self._group.name}: no checkpoint could be written ({fault.strerror or fault})"
            )
            return False
        except Exception as fault:
            # The learner cannot be saved, and further attempts would fail as well.
            self._saves = False
            self.notes.append(
                f"{self._group.name}: no checkpoint is written ({_short(fault)})"
            )
            return False
        finally:
            self._last = monotonic()
            if start is not None:
                self._costs = [*self._costs[-1:], self._last - start]
        return True

    def clear(self) -> None:
        """Remove the checkpoints; those that cannot be removed are left."""
        if self._begun:
            with suppress(OSError):
                self._store.files.remove(self.folder)

    def _states(self) -> list[str]:
        """Return usable checkpoints, the best first: the group's own before those of its origin."""
        if not self._begun:
            return []
        origin = f"{FOLDER}/{self._group.origin}"
        return self._own_states() + (
            _states(self._store, origin) if self._group.origin else []
        )

    def _own_states(self) -> list[str]:
        return _states(self._store, self.folder)


def row_of(file: str, chunk_rows: int) -> int:
    """Return the row of the stream at which the state in the file of a checkpoint continues.

    Examples
    --------
    >>> row_of("000000003.npz", 100), row_of("000000003_000000040.npz", 100)
    (300, 340)
    """
    # Python reads an underscore as part of a number, so the two numbers are taken apart first.
    chunks, _, within = file.removesuffix(".npz").partition("_")
    return int(chunks) * chunk_rows + int(within or 0)


def _states(store: Store, folder: str) -> list[str]:
    return sorted(
        (name for name in _names(store, folder) if name.endswith(".npz")), reverse=True
    )


def _names(store: Store, folder: str) -> list[str]:
    try:
        return store.files.names(folder)
    except OSError:
        return []


def _about(group: RunGroup) -> bytes:
    classes = None
    if group.shard is not None:
        classes = [group.shards[group.shard].start, group.shards[group.shard].stop]
    about: dict[str, Any] = {
        "runs": [run.id for run in group.runs],
        "classes": classes,
        "chunk_rows": group.chunk_rows,
    }
    # `olscale store forget` finds the checkpoints by these keys.
    about |= {
        "dataset": group.runs[0].stream.dataset,
        "learners": sorted({run.learner for run in group.runs}),
    }
    return json_bytes(about)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A group that has been started."""

    key: str
    runs: tuple[str, ...]
    shard: bool
    chunk_rows: int


def _begun(store: Store) -> list[_Begun]:
    """Return the groups that have checkpoints."""
    names = [name for name in store.names(FOLDER) if name.endswith("/pack.json")]
    groups = []
    for name, data in store.files.read_many(names):
        about = _content(store, data)
        runs = about.get("runs")
        chunk_rows = about.get("chunk_rows")
        if (
            isinstance(runs, list)
            and runs
            and "classes" in about
            and isinstance(chunk_rows, int)
        ):
            ids = tuple(dict.fromkeys(str(id) for id in runs))
            groups.append(
                _Begun(
                    name.split("/")[-2], ids, about["classes"] is not None, chunk_rows
                )
            )
    return groups


def _content(store: Store, data: bytes | Exception) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if the file is damaged or gone."""
    try:
        if isinstance(data, bytes):
            return json_content(data, store.checked)
        return {}
    except DAMAGE:
        return {}


def _short(fault: Exception) -> str:
    text = " ".join(str(fault).split()) or type(fault).__name__
    if len(text) <= 200:
        return text
    return f"{text[:200]}..."


def begun_keys(store: Store) -> frozenset[str]:
    """Return the keys of groups with a checkpoint or the outcome of a run."""
    return frozenset(name.split("/")[1] for name in _names(store, FOLDER))


def resumable_groups(
    store: Store, runs: Sequence[Run], sources: Mapping[str, StreamSource]
) -> list[RunGroup]:
    """Return groups that continue checkpoints in the store, limited to the given `runs`.

    Saved work is used even if another evaluation cut its groups differently, with more workers or
    additional runs.
    """
    missing = {run.id: run for run in runs}
    groups = []
    begun = [
        (_states(store, f"{FOLDER}/{group.key}")[:1], group)
        for group in _begun(store)
        if not group.shard
    ]
    for states, group in sorted(
        begun,
        key=lambda entry: (
            [name.rpartition("/")[2] for name in entry[0]],
            entry[1].key,
        ),
        reverse=True,
    ):
        group_runs = tuple(missing[id] for id in group.runs if id in missing)
        if not (states and group_runs):
            continue
        source = sources[group_runs[0].stream.fingerprint]
        if source.chunk_rows == group.chunk_rows:
            for run in group_runs:
                del missing[run.id]
            resumed = RunGroup(
                source.path,
                source.length(group_runs[0].stream),
                group_runs,
                chunk_rows=source.chunk_rows,
            )
            groups.append(
                resumed
                if resumed.key == group.key
                else replace(resumed, origin=group.key)
            )
    return groups


def sweep_checkpoints(store: Store) -> None:
    """Remove leftovers of dead processes: checkpoints of completed groups and partial files."""
    with suppress(OSError, StoreError):
        store.files.discard_all(store.files.stale_temporaries())
        begun = _begun(store)
        stored = store.done() if begun else set()
        for group in begun:
            if stored.issuperset(group.runs):
                store.files.remove(f"{FOLDER}/{group.key}")
                if group.shard:
                    Scratch(store, group.runs[0]).clear()
