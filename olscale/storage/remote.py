"""Files below a prefix of an fsspec file system with atomic PUT: object stores, ``memory://``."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from tempfile import NamedTemporaryFile
from typing import IO, Any, TypeVar

from olscale.storage.base import Storage
from olscale.storage.clients import split_url

R = TypeVar("R")


class RemoteStorage(Storage):
    """Files below a URL; see `olscale.storage.base`. Partial uploads stay invisible."""

    requests = 16  # at once: enough to hide most of the latency
    batch = 256  # files held at once

    def __init__(self, path: str, temporaries: str = "") -> None:
        super().__init__(path, temporaries)
        self._place: tuple[Any, str] | None = None

    def connect(self) -> None:
        self._open()

    def _open(self) -> tuple[Any, str]:
        if self._place is None:
            fs, root = split_url(self.path)
            self._place = fs, root.rstrip("/")
        return self._place

    @property
    def fs(self) -> Any:
        """The fsspec file system."""
        return self._open()[0]

    def _at(self, name: str) -> str:
        root = self._open()[1]
        if name:
            return f"{root}/{name}"
        return root

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Open a local file that is uploaded, in one step, at the end of the block."""
        with NamedTemporaryFile(prefix="olscale-") as file:
            yield file
            file.flush()
            self.fs.put_file(file.name, self._at(name))

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole, by one PUT."""
        self.fs.pipe_file(self._at(name), bytes(data))

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        file: AbstractContextManager[IO[bytes]] = self.fs.open(self._at(name), "rb")
        return file

    def ranges(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file that reads each range by one GET."""
        file: AbstractContextManager[IO[bytes]] = self.fs.open(
            self._at(name),
            "rb",
            cache_type="none",
        )
        return file

    def read(self, name: str) -> bytes:
        return bytes(self.fs.cat_file(self._at(name)))

    def read_many(
        self, names: Iterable[str]
    ) -> Iterator[tuple[str, bytes | Exception]]:
        waiting = iter(names)
        # One by one in threads: fsspec's cat of many paths would treat a bracket in the store's
        # path as a pattern.
        while batch := list(islice(waiting, self.batch)):
            yield from zip(batch, self._at_once(self._get, batch), strict=True)

    def _at_once(self, call: Callable[..., R], *names: Iterable[str]) -> Iterator[R]:
        """Yield what a call returns for each name, or for each name and another."""
        if self.path.startswith("memory:"):  # which answers before a thread starts
            yield from map(call, *names)
            return
        with ThreadPoolExecutor(self.requests) as threads:
            yield from threads.map(call, *names)

    def _get(self, name: str) -> bytes | Exception:
        try:
            return self.read(name)
        except OSError as fault:
            return fault

    def exists(self, name: str = "") -> bool:
        return bool(self.fs.exists(self._at(name)))

    def is_file(self, name: str) -> bool:
        self.fs.invalidate_cache()
        path = self._at(name)
        return bool(self.fs.isfile(path))

    def is_folder(self, name: str = "") -> bool:
        """Return whether there are files below a folder."""
        return bool(self.fs.isdir(self._at(name)))

    def entries(self) -> list[str]:
        self.fs.invalidate_cache()
        try:
            paths = self.fs.ls(self._at(""), detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        entries = [str(path).rstrip("/") for path in paths]
        last_parts = [entry.rpartition("/")[-1] for entry in entries]
        return sorted(last_parts)

    def names(self, folder: str) -> list[str]:
        return sorted(self._details(folder))

    def stamps(self, folder: str) -> dict[str, Hashable]:
        """Return the service's tag of each file's content, or else a digest of the content."""
        details = self._details(folder)
        # Amazon's client writes the key in capitals, others do not.
        tags = {
            name: detail.get("ETag") or detail.get("etag")
            for name, detail in details.items()
        }
        if all(tags.values()):
            return tags
        return super().stamps(folder)

    def _details(self, folder: str) -> dict[str, dict[str, Any]]:
        """Return what a listing says of each file in a folder."""
        # a cached listing hides what other writers have finished
        self.fs.invalidate_cache()
        top = f"{self._at('')}/{folder}"
        try:
            details = self.fs.find(top, detail=True)
        except FileNotFoundError:
            return {}
        names = {}
        for path, detail in details.items():
            # A listing may have something before the path that was asked for, such as a slash.
            end = path.index(top) + len(top)
            name = folder + path[end:]
            names[name] = detail
        return names

    def size(self) -> int:
        self.fs.invalidate_cache()
        root = self._at("")
        return int(self.fs.du(root))

    def discard(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self.fs.rm_file(self._at(name))

    def discard_all(self, names: Iterable[str]) -> None:
        """Remove many files, some at once."""
        for _ in self._at_once(self.discard, names):
            pass

    def remove(self, name: str = "") -> None:
        self.discard_all(self.names(name))
        # Folders too, where there are any; fsspec's rm would take a bracket in the path for a
        # pattern.
        path = self._at(name)
        if not set("*?[").intersection(path):
            with suppress(FileNotFoundError):
                self.fs.rm(path, recursive=True)

    def move(self, source: str, target: str) -> None:
        """Copy a file or folder and remove it."""
        # One by one: fsspec's mv of a folder takes a bracket for a pattern, and folders inside for
        # files of S3.
        names = self.names(source)
        ends = [name.removeprefix(source) for name in names]
        copies = [self._at(f"{target}{end}") for end in ends]
        originals = [self._at(name) for name in names]
        for _ in self._at_once(self.fs.cp_file, originals, copies):
            pass
        self.discard_all(names)

    def is_vacant(self) -> bool:
        """Return whether nothing is here; that there is no such bucket is a `FileNotFoundError`."""
        self.fs.invalidate_cache()
        try:
            return not self.fs.find(self._at(""))
        except FileNotFoundError as fault:
            # the answer of the service; an absent prefix is found absent here
            if fault.__cause__ is not None:
                raise
            return True
