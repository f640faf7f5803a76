"""What local workers need, imported by their template (`worker_template`) before it is forked into them."""

import gc
import os
import warnings

import distributed.nanny
import numpy as np

from olscale.execution import on_worker

IMPORTED = (distributed.nanny, on_worker)

# A fork seeds Python's generator anew, and not numpy's: two workers would draw the same for an estimator of a user.
os.register_at_fork(after_in_child=np.random.seed)
gc.freeze()  # collecting garbage would touch, and copy, the pages that workers share

# Python would warn of pyarrow's thread, which the allocator that it belongs to looks after in a fork.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
