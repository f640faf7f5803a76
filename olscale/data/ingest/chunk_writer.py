"""Writing the rows of one split: cut into chunks, hashed, and passed to the layout."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future

from olscale.data.checksums import SplitHash
from olscale.data.layouts import Block, open_writer
from olscale.data.manifest import ChunkEntry, Segment, SplitEntry
from olscale.data.stored_rows import Rebatch
from olscale.storage.base import Storage


class ChunkWriter:
    """Writes blocks of rows as the chunks of a split.

    One chunk is hashed and written while the rows of the next are read; at most one waits.

    Parameters
    ----------
    directory : Storage
    split : str
    layout : str
    chunk_rows : int
        Rows of every chunk but the last.
    background : Executor
        Has one thread.
    after_chunk : callable
        Called in that thread with the split, the chunks that a reader would find if the process
        ended now, and the checksums of their files.

    Attributes
    ----------
    rows : int
        Number of rows so far.
    chunks : list of ChunkEntry
        Chunks written so far.
    """

    def __init__(
        self,
        directory: Storage,
        split: str,
        layout: str,
        chunk_rows: int,
        background: Executor,
        after_chunk: Callable[[str, list[ChunkEntry], dict[str, int]], None],
    ) -> None:
        self.rows = 0
        self.chunks: list[ChunkEntry] = []
        self.hash = SplitHash()
        self._split = split
        self._files = open_writer(layout, directory, split, chunk_rows)
        self._rebatch = Rebatch(chunk_rows)
        self._background = background
        self._after_chunk = after_chunk
        self._pending: Future[None] | None = None

    @property
    def files(self) -> dict[str, int]:
        """The crc32 of each file, by its name."""
        return self._files.files

    def put(self, block: Block) -> None:
        """Write the next rows."""
        self.rows += len(block)
        for parts in self._rebatch.add(block):
            self._submit(parts)

    def end(self, columns: int) -> None:
        """Write the last chunk and all buffered rows; `columns` is the width so far."""
        if blocks := self.take_rest():
            self._submit(blocks)
        self.finish(columns)
        # The next split may be long, and buffered rows would be lost with the process.
        self._report()

    def take_rest(self) -> list[Block]:
        """Return and forget the rows that do not fill a chunk yet."""
        blocks, self._rebatch.rest = self._rebatch.rest, []
        return blocks

    def finish(self, columns: int) -> None:
        """Write what the layout has buffered; called again once the final width is known."""
        self._wait()
        self._files.finish(columns)

    def entry(
        self,
        segments: Iterable[Segment],
        class_rows: tuple[int, ...] | None,
        missing: dict[str, int] | None,
        infinite: dict[str, int] | None = None,
    ) -> SplitEntry:
        """Return the manifest's entry for the split."""
        return SplitEntry(
            rows=sum(chunk.rows for chunk in self.chunks),
            nonzeros=sum(chunk.nonzeros for chunk in self.chunks),
            chunks=tuple(self.chunks),
            files=self.files,
            segments=tuple(segments),
            class_rows=class_rows,
            missing=missing,
            infinite=infinite,
        )

    def _submit(self, parts: Sequence[Block]) -> None:
        self._wait()
        # One at a time: running hashes need the chunks in order, and each takes memory.
        self._pending = self._background.submit(self._append, parts)

    def _wait(self) -> None:
        pending = self._pending
        self._pending = None
        if pending is not None:
            # Raises what the thread has met.
            pending.result()

    def _append(self, parts: Sequence[Block]) -> None:
        for part in parts:
            self.hash.update(part)
        file = self._files.append(parts)
        rows = sum(map(len, parts))
        nonzeros = sum(part.nonzeros for part in parts)
        self.chunks.append(ChunkEntry(rows=rows, nonzeros=nonzeros, file=file))
        self._report()

    def _report(self) -> None:
        self._after_chunk(self._split, self.chunks[: self._files.safe()], self.files)
