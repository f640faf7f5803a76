"""Reading ahead: a thread decompresses a stream while earlier bytes are parsed."""

import io
import os
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any

_BLOCK_BYTES = 1 << 18
_BLOCKS = 4
_STOP_SECONDS = 0.01


def read_ahead(stream: io.BufferedReader) -> io.BufferedReader:
    """Return `stream`, read ahead in a thread if a second core is available.

    Closing it closes `stream`. Errors of `stream` are raised where its bytes would have been.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return stream if cores < 2 else io.BufferedReader(_Ahead(stream), _BLOCK_BYTES)


class _Ahead(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._rest = memoryview(b"")
        self._blocks: Queue[bytes | BaseException] = Queue(_BLOCKS)
        self._last: bytes | BaseException | None = None
        self._stop = Event()
        self._thread = Thread(target=self._read, name="olscale-read-ahead", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        block: bytes | BaseException = b"more"
        while block and not isinstance(block, BaseException) and not self._stop.is_set():
            try:
                block = self._stream.read(_BLOCK_BYTES)
            except BaseException as error:  # raised again in the reading thread
                block = error
            self._blocks.put(block)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            block = self._blocks.get() if self._last is None else self._last
            if isinstance(block, BaseException):
                self._last = block
                raise block
            self._last = None if block else block
            self._rest = memoryview(block)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._stop.set()
            while self._thread.is_alive():  # the thread may wait for room
                try:
                    self._blocks.get(timeout=_STOP_SECONDS)
                except Empty:
                    continue
            self._stream.close()
        super().close()
