"""Encrypted connections between driver, scheduler and workers, with one shared certificate.

``python -m olscale.execution.tls DIR`` creates key and certificate; `olscale evaluate --tls DIR`
also does so if DIR is missing.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from distributed.security import Security

from olscale.errors import ExecutionError, OlscaleError

CERTIFICATE = "cert.pem"
KEY = "key.pem"


def security(directory: str | os.PathLike[str]) -> Security:
    """Return Dask's settings for connections under the certificate in `directory`.

    A missing directory is created. The certificate signs itself and is the only trusted one: only
    holders of the key may join.

    Parameters
    ----------
    directory : path
        Holds ``cert.pem`` and ``key.pem``; every host of the cluster needs a copy.

    Raises
    ------
    ExecutionError
        If a file is missing, if others may read the key, or if a certificate cannot be made.
    """
    folder = Path(directory)
    if not folder.exists():
        make_certificate(folder)
    certificate = folder / CERTIFICATE
    key = folder / KEY
    for path in (certificate, key):
        if not path.is_file():
            raise ExecutionError(
                f"TLS folder {folder} has no {path.name}; give one that has {CERTIFICATE} and "
                f"{KEY}, or one that does not "
                "exist yet, to be made"
            )
    mode = key.stat().st_mode & 0o777
    if mode & 0o077:
        raise ExecutionError(
            f"TLS key {key} may be read by others (mode {mode:o}, expected 600); run `chmod 600 "
            f"{key}`"
        )
    pair = {
        f"tls_{role}_{what}": str(path)
        for role in ROLES
        for what, path in (("cert", certificate), ("key", key))
    }
    return Security(tls_ca_file=str(certificate), require_encryption=True, **pair)


ROLES = ("client", "scheduler", "worker")


def make_certificate(folder: Path) -> None:
    """Create `folder` with a new key and certificate; a folder of a faster process stays.

    Raises
    ------
    ExecutionError
        If the package cryptography is missing, or the folder cannot be written.
    """
    try:
        temporary: Any = Security.temporary()
    except ImportError:
        raise ExecutionError(
            f"making a certificate in {folder} needs the package cryptography; run `pip install "
            f"cryptography`, or put {CERTIFICATE} and {KEY} of your own there"
        ) from None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # `mkdtemp` makes a folder that only its owner can read.
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            (scratch / CERTIFICATE).write_text(temporary.tls_ca_file)
            (scratch / KEY).touch(mode=0o600)
            (scratch / KEY).write_text(temporary.tls_client_key)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        if not (folder / KEY).is_file():
            raise ExecutionError(
                f"cannot make TLS folder {folder}: {error.strerror}; give another one"
            ) from None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m olscale.execution.tls DIR")
    try:
        security(sys.argv[1])
    except OlscaleError as error:
        sys.exit(f"Error: {error}")
