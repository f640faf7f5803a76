"""Object stores: turn their clients' faults into OS errors, which fit one line of text.

Credentials and addresses come from the environment that the client reads by itself
(``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_ENDPOINT_URL`` ...); olscale neither asks
for them nor keeps them.
"""

import errno
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from olscale.addresses import RAW_PASSWORD, has_raw_password, has_user
from olscale.errors import DatasetError, OlscaleError

# Protocol -> the package that has its client.
_CLIENTS = {"s3": "s3fs"}
# Protocols whose addresses begin with a bucket's name, which errors quote.
_BUCKETS = ("s3", "s3a", "gs", "gcs")


class Client:
    """An fsspec file system whose calls succeed or raise an `OSError`.

    A client has its own errors for failures before a request (no credentials, no connection);
    those of the store itself (no such bucket, access denied) it raises as `OSError` already.
    """

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._fs, name)
        if callable(attribute):
            return _speak_ours(attribute)
        return attribute


def _speak_ours(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def call_client(*args: Any, **options: Any) -> Any:
        try:
            return call(*args, **options)
        except (OSError, OlscaleError):
            raise
        except Exception as fault:
            if type(fault).__module__.startswith(
                ("botocore.", "aiobotocore.", "aiohttp.", "google.", "gcsfs.")
            ):
                raise OSError(errno.EIO, " ".join(str(fault).split())) from fault
            raise

    return call_client


def local_path(path: str) -> str | None:
    """Return the absolute path of a plainly local file, None if fsspec has to decide.

    Importing fsspec takes as long as reading a small table.

    Examples
    --------
    >>> local_path("/data/rows.csv"), local_path("s3://sets/rows.csv")
    ('/data/rows.csv', None)
    """
    if ":" in path or path.startswith("~"):
        return None
    # As fsspec does, with dots left in: a path of `pathlib` would drop them.
    return os.path.join(os.getcwd(), path.removeprefix("./"))  # noqa: PTH109, PTH118


def split_url(path: str) -> tuple[Any, str]:
    """Return the fsspec file system of `path`, opened now, and the path in it.

    A local path is absolute.

    Raises
    ------
    DatasetError
        If there is no such protocol, it cannot be opened, or its client is not installed; the
        message says what to install.
    """
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    if has_raw_password(path):
        raise DatasetError(f"{path} cannot be opened ({RAW_PASSWORD})")
    protocol = path.partition("://")[0]
    if protocol in _BUCKETS and has_user(path):
        raise DatasetError(
            f"{path} cannot be opened (credentials are not part of an address of {protocol}://: "
            "set the variables that its client reads, as AWS_ACCESS_KEY_ID)"
        )
    try:
        fs, root = url_to_fs(os.path.expanduser(path))  # noqa: PTH111 - `path` may be a URL
    except ImportError as fault:
        client = _CLIENTS.get(protocol)
        cure = f"pip install {client}" if client else str(fault)
        raise DatasetError(
            f"{path} cannot be opened ({protocol}:// needs another package: {cure})"
        ) from fault
    except (ValueError, OSError) as error:
        raise DatasetError(f"{path} cannot be opened ({error})") from error
    if not isinstance(fs, LocalFileSystem):
        fs = Client(fs)
    # The root of a file system is a slash alone.
    return fs, root.rstrip("/") or root
