"""What local workers need, imported by `worker_template` before it is forked into them."""

import atexit
import gc
import os
import warnings
from contextlib import suppress
from pathlib import Path

import distributed.nanny
import numpy as np

from olscale.execution import on_worker
from olscale.execution.worker_template import FOLDER

IMPORTED = (distributed.nanny, on_worker)


def _leave_no_socket(folder: str, template: int) -> None:
    """Remove the template's socket and its folder, as the driver does unless it is killed."""
    if os.getpid() == template:
        for socket in Path(folder).glob("listener-*"):
            socket.unlink(missing_ok=True)
        with suppress(OSError):  # it is also in use elsewhere
            Path(folder).rmdir()


if folder := os.environ.pop(FOLDER, ""):
    atexit.register(_leave_no_socket, folder, os.getpid())

# A fork reseeds Python's generator but not numpy's: a user's estimators would draw the same
# numbers in two workers.
os.register_at_fork(after_in_child=np.random.seed)
gc.freeze()  # collecting garbage would write to, and copy, pages that workers share

# Python would warn of pyarrow's thread, which its allocator handles in a fork.
warnings.filterwarnings(
    "ignore", "This process .* is multi-threaded", DeprecationWarning
)
