"""What local workers need, imported by their template (`worker_template`) before it is forked into them."""

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
    """Remove the template's socket, and the folder that it is in, as the driver does unless it is killed."""
    if os.getpid() == template:
        for socket in Path(folder).glob("listener-*"):
            socket.unlink(missing_ok=True)
        with suppress(OSError):  # somebody else uses it too
            Path(folder).rmdir()


if folder := os.environ.pop(FOLDER, ""):
    atexit.register(_leave_no_socket, folder, os.getpid())

# A fork seeds Python's generator anew, and not numpy's: two workers would draw the same for an
# estimator of a user.
os.register_at_fork(after_in_child=np.random.seed)
gc.freeze()  # collecting garbage would touch, and copy, the pages that workers share

# Python would warn of pyarrow's thread, which the allocator that it belongs to looks after in a
# fork.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
