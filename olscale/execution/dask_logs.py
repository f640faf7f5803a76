"""Dask's logs without the secrets of addresses: Dask logs the arguments of tasks that fail.

Workers of a local cluster load this module before they start if their logs are shown.
"""

import logging
import traceback
from typing import Any

from olscale.addresses import redacted


def log_handlers() -> list[logging.Handler]:
    """Return the handlers of the logs of Dask and Tornado."""
    names = ("distributed", "distributed.client", "tornado", "tornado.application")
    return [handler for name in names for handler in logging.getLogger(name).handlers]


def hide_secrets(record: logging.LogRecord) -> bool:
    """Hide the secrets of addresses in a record, and let it pass."""
    record.msg = redacted(record.getMessage())
    record.args = None
    if record.exc_info and not record.exc_text:
        record.exc_text = "".join(traceback.format_exception(*record.exc_info)).rstrip()
    if record.exc_text:
        record.exc_text = redacted(record.exc_text)
    return True


def dask_setup(worker: Any) -> None:
    """Hide secrets in a worker's logs; Dask calls this."""
    for handler in log_handlers():
        handler.addFilter(hide_secrets)
