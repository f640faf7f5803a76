"""Conformance checks for storages: one per promise of `olscale.storage.base.Storage`.

Run each check with an empty storage of your own::

    @pytest.mark.parametrize(("name", "check"), storage_checks())
    def test_storage(name, check, tmp_path):
        check(open_storage(tmp_path / "place"))
"""

import copy
import pickle
from collections.abc import Callable
from contextlib import suppress

from olscale.storage.base import Storage

Check = Callable[[Storage], None]
_CHECKS: list[tuple[str, Check]] = []


def _check(check: Check) -> Check:
    words = check.__name__.removeprefix("_").replace("_", " ")
    _CHECKS.append((words, check))
    return check


def storage_checks() -> list[tuple[str, Check]]:
    """Return name and check per promise; a check takes an empty storage.

    It raises `AssertionError` if the storage breaks the promise.

    Examples
    --------
    >>> from olscale.storage.open import open_storage
    >>> for number, (name, check) in enumerate(storage_checks()):
    ...     check(open_storage(f"memory://doctest-checks/{number}"))
    """
    return list(_CHECKS)


class _FaultError(Exception):
    pass


@_check
def _what_is_put_is_read(storage: Storage) -> None:
    """Bytes of any length can be read back by every method, also from new folders."""
    storage.make()
    # Empty, larger than a buffer, and not text.
    contents = {"a": b"", "b/c": b"12345678" * 99_999, "b/d/e": b"\0\xff"}
    for name, data in contents.items():
        storage.put(name, data)
        assert storage.read(name) == data
        assert dict(storage.read_many([name])) == {name: data}
        with storage.open(name) as file:
            assert file.read() == data
        middle = len(data) // 2
        with storage.ranges(name) as file:
            file.seek(middle)
            assert file.read(3) == data[middle : middle + 3]


@_check
def _what_is_mapped_may_be_written_to_and_stays_as_it_is(storage: Storage) -> None:
    """A map is writable memory of this process alone."""
    storage.make()
    storage.put("a", b"old")
    storage.map("a")[0] = ord("c")
    assert storage.read("a") == b"old"


@_check
def _a_file_is_replaced_whole(storage: Storage) -> None:
    """`put`, `replace`, `write` and `writing` replace a file, even a longer one."""
    storage.make()
    for write in (storage.put, storage.replace, storage.write):
        storage.put("a", b"longer than the next")
        write("a", b"new")
        assert storage.read("a") == b"new"
    with storage.writing("a") as file:
        file.write(b"ne")
        # Readers see the old file until the new one is complete.
        assert storage.read("a") == b"new"
        file.write(b"west")
    assert storage.read("a") == b"newest"
    assert storage.entries() == sorted(
        {"a", *filter(None, [storage.temporaries if storage.local else ""])}
    )


@_check
def _a_writer_that_fails_leaves_nothing(storage: Storage) -> None:
    """A fault leaves the old file or none, and nothing else."""
    storage.make()
    storage.put("old", b"old")
    for name in ("old", "new"):
        with suppress(_FaultError), storage.writing(name) as file:
            file.write(b"half")
            raise _FaultError
    assert storage.read("old") == b"old"
    assert not storage.is_file("new")
    assert storage.size() == 3


@_check
def _what_is_absent_is_a_file_not_found_error(storage: Storage) -> None:
    """`read` raises for an absent file, `read_many` yields the error, `remove` accepts it."""
    storage.make()
    try:
        storage.read("absent")
    except FileNotFoundError:
        pass
    else:
        raise AssertionError("reading an absent file raised nothing")
    [(name, fault)] = storage.read_many(["absent"])
    assert name == "absent"
    assert isinstance(fault, FileNotFoundError)
    storage.discard("absent")
    storage.discard_all(["absent", "there/too"])
    storage.remove("absent")
    assert storage.names("absent") == []
    assert not storage.exists("absent")
    assert not storage.is_file("absent")
    assert not storage.is_folder("absent")


@_check
def _files_are_listed_sorted(storage: Storage) -> None:
    """`names` lists files to one folder down, `entries` what is directly inside, both current."""
    storage.make()
    assert storage.entries() == []
    names = ("x/b/2", "x/a", "x/b/1", "y")
    for name in names:
        storage.put(name, name.encode())
    assert storage.names("x") == ["x/a", "x/b/1", "x/b/2"]
    entries = storage.entries()
    assert set(entries) - {storage.temporaries} == {"x", "y"}
    assert entries == sorted(entries)
    assert not storage.is_file("x")
    assert storage.is_folder("x")
    assert storage.exists("x")
    assert storage.is_file("y")
    assert not storage.is_folder("y")
    assert storage.exists("y")
    assert storage.size() == sum(map(len, names))


@_check
def _a_stamp_holds_for_as_long_as_the_bytes_do(storage: Storage) -> None:
    """`stamps` has each file of `names`, with another stamp for another file or other bytes."""
    storage.make()
    for name in ("x/b/2", "x/a"):
        storage.put(name, b"old")
    before = storage.stamps("x")
    assert sorted(before) == sorted(storage.names("x"))
    assert storage.stamps("x") == before
    storage.put("x/a", b"newer")
    after = storage.stamps("x")
    assert after["x/a"] != before["x/a"]
    assert after["x/b/2"] == before["x/b/2"]
    assert storage.stamps("absent") == {}


@_check
def _names_are_taken_as_they_are(storage: Storage) -> None:
    """Brackets, stars and spaces in a name are no pattern."""
    storage.make()
    for name in ("a[b]/c*", "ab/c1", "a [b]?/c"):
        storage.put(name, b"x")
    assert storage.names("a[b]") == ["a[b]/c*"]
    storage.remove("a[b]")
    assert storage.names("a[b]") == []
    assert storage.names("ab") == ["ab/c1"]
    assert storage.names("a [b]?") == ["a [b]?/c"]


@_check
def _files_and_folders_are_removed_and_moved(storage: Storage) -> None:
    """`remove` takes a file, a folder or all; `move` takes a folder along."""
    storage.make()
    for name in ("a", "b/c", "b/d/e", "f"):
        storage.put(name, b"x")
    storage.move("b", "g/b")
    assert storage.names("g/b") == ["g/b/c", "g/b/d/e"]
    assert not storage.exists("b")
    storage.remove("a")
    storage.remove("g")
    assert not storage.exists("a")
    assert not storage.exists("g")
    assert storage.is_file("f")
    storage.remove()
    assert storage.entries() == []


@_check
def _a_lock_is_held_by_one(storage: Storage) -> None:
    """If locks exist, a second one is refused until the first is released."""
    with storage.lock("lock") as first:
        assert first
        with storage.lock("lock") as second:
            # Object stores have no locks; there each writer gets it.
            assert second is (storage.local is None)
    with storage.lock("lock") as again:
        assert again


@_check
def _a_place_without_files_is_vacant(storage: Storage) -> None:
    """Hidden and unfinished files do not count, all others do."""
    assert storage.is_vacant()
    storage.make()
    assert storage.is_vacant()
    assert storage.is_writable()
    assert storage.stale_temporaries() == []
    storage.put("a", b"")
    assert not storage.is_vacant()


@_check
def _what_was_missing_can_be_removed_again(storage: Storage) -> None:
    """Folders made for a place that stays empty are removed; used ones stay."""
    missing = storage.missing()
    assert storage.path in missing
    storage.make()
    storage.remove_empty(missing)
    assert not storage.exists()
    storage.make()
    storage.put("a", b"x")
    assert storage.missing() == []
    storage.remove_empty(missing)
    assert storage.read("a") == b"x"


@_check
def _it_travels_as_its_path(storage: Storage) -> None:
    """A pickled storage is the same place, and holds nothing open."""
    storage.make()
    storage.put("a", b"x")
    data = pickle.dumps(storage)
    # Small: it goes to workers with every task.
    assert len(data) < 1000
    # as unpickling does; olscale itself unpickles nothing
    copied = copy.deepcopy(storage)
    assert copied.path == storage.path
    assert copied.temporaries == storage.temporaries
    assert copied.name == storage.name
    assert copied.read("a") == b"x"
