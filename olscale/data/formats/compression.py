"""Sources as streams of plain bytes, for any compression and any location."""

import errno
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from olscale.addresses import RAW_PASSWORD, has_raw_password
from olscale.errors import FormatError, OlscaleError
from olscale.system.regular_file import open_regular

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_MAGIC_BYTES = max(map(len, _MAGIC))
# Few enough to stay in the cache until they are used.
_READ_BYTES = 1 << 17


def strip_compression(source: str) -> str:
    """Return `source` without the suffix of a compressed file.

    Examples
    --------
    >>> strip_compression("s3://sets/ijcnn1.trn.bz2")
    's3://sets/ijcnn1.trn'
    """
    lowered = source.lower()
    return next(
        (source[: -len(suffix)] for suffix in _SUFFIXES if lowered.endswith(suffix)),
        source,
    )


def open_raw(source: str) -> BinaryIO:
    """Open `source`, a local path or an fsspec address, as it is stored.

    Raises
    ------
    FormatError
        When there is no such file or it cannot be opened.
    """
    try:
        if "://" not in source:
            return cast("BinaryIO", open_regular(source))
        import fsspec

        if has_raw_password(source):
            raise FormatError(source, f"cannot be opened ({RAW_PASSWORD})")
        with errors_of(source):
            return io.BufferedReader(
                _RemoteFile(source, fsspec.open(source, "rb").open()),
                _READ_BYTES,
            )
    except FileNotFoundError:
        raise FormatError(source, "no such file") from None
    except IsADirectoryError:
        raise FormatError(source, "is a directory, expected a file") from None
    # The latter two are raised for an unknown or uninstalled protocol.
    except (PermissionError, ValueError, ImportError) as error:
        raise FormatError(source, f"cannot be opened ({error})") from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise FormatError(source, f"{error.strerror}") from None


def open_source(source: str) -> io.BufferedReader:
    """Open `source` and decompress it on the fly.

    The compression (gzip, bzip2, xz, zstd or none) is detected by the first bytes, not by the name.

    Parameters
    ----------
    source : str
        Local path or fsspec address.

    Returns
    -------
    io.BufferedReader
        Reading from it raises `FormatError` naming `source` where the compressed data are truncated
        or corrupt.

    Raises
    ------
    FormatError
        When there is no such file.
    """
    raw = open_raw(source)
    head = raw.read(_MAGIC_BYTES)
    raw.seek(0)
    return decompressed(source, raw, head)


def decompressed(source: str, raw: BinaryIO, head: bytes) -> io.BufferedReader:
    """Return the plain bytes of `raw`, an open file that begins with `head`; see `open_source`."""
    codec = next(
        (name for magic, name in _MAGIC.items() if head.startswith(magic)), None
    )
    inner = raw if codec is None else _decoder(raw, codec)
    return io.BufferedReader(_Stream(source, raw, inner, codec or "plain"), _READ_BYTES)


def _decoder(raw: BinaryIO, codec: str) -> Any:
    if codec == "gzip":
        from isal import igzip

        decompressor: Any = igzip.IGzipFile
        return decompressor(fileobj=raw)
    if codec == "bzip2":
        import bz2

        return bz2.BZ2File(raw)
    if codec == "xz":
        import lzma

        return lzma.LZMAFile(raw)
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")


@contextmanager
def errors_of(source: str) -> Iterator[None]:
    """Turn errors of connections and object stores, which have their own classes, into one line."""
    try:
        yield
    except (
        OlscaleError,
        FileNotFoundError,
        IsADirectoryError,
        PermissionError,
        ValueError,
        ImportError,
    ):
        raise
    except Exception as error:
        raise unreadable(source, error) from error


def unreadable(source: str, error: Exception) -> FormatError:
    """Return the error for bytes that could not be read."""
    reason = (
        getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
    )
    return FormatError(
        source,
        f"cannot be read ({reason}); check disk or connection, and run the same again",
    )


class _RemoteFile(io.RawIOBase):
    """A remote file: every read succeeds or raises `FormatError`."""

    def __init__(self, source: str, file: Any) -> None:
        self._source = source
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any, /) -> int:
        try:
            content = self._file.read(len(buffer))
        except OlscaleError:
            raise
        except Exception as error:
            # the client raises its own classes and those of its libraries
            raise unreadable(self._source, error) from error
        # Some clients end a broken transfer as if the file were shorter.
        size = getattr(self._file, "size", None)
        if not content and len(buffer) and size is not None and self.tell() < size:
            raise unreadable(
                self._source,
                EOFError(f"it ended after {self.tell():,} of {size:,} bytes"),
            )
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Stream(io.RawIOBase):
    """The decompressed bytes; turns the four libraries' errors for damaged data into one."""

    def __init__(
        self,
        source: str,
        raw: BinaryIO,
        inner: Any,
        codec: str,
    ) -> None:
        self._source = source
        self._raw = raw
        self._inner = inner
        self._codec = codec

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            return int(self._inner.readinto(buffer))
        except FormatError:
            raise
        except EOFError:
            raise FormatError(
                self._source,
                f"truncated: its {self._codec} data end early; get the file again",
            ) from None
        except Exception as error:
            # An error number means the operating system or the network failed, not the file.
            if getattr(error, "errno", None):
                raise unreadable(self._source, error) from error
            if self._codec == "plain":
                raise
            truncated = "truncat" in str(error).lower()
            problem = "corrupt"
            if truncated:
                problem = "truncated"
            raise FormatError(
                self._source,
                f"{problem} {self._codec} data ({error}); get the file again",
            ) from error

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._raw.close()
        super().close()
