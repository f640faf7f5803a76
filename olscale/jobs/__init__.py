"""Jobs: nightly evaluations and benchmarks, their history, and alarms.

There is no scheduler, daemon or database: one command a night, which cron, systemd, Kubernetes or
SLURM calls, and files.

::

    HOME/lock                              held by the process that runs a night
    HOME/nights/<night>/begun.json         when, by what code and on which machine the night began
    HOME/nights/<night>/store              metrics store of the night, computed anew
    HOME/nights/<night>/repeat-<n>         stores of further passes for speeds, until the night ends
    HOME/nights/<night>/{ingest,bench}-<n>.json   steps that are done
    HOME/nights/<night>/tag                keeps a night for ever, put there by hand
    HOME/history/<night>.parquet           what came of it: written last, by a rename
    HOME/ingested.json                     which sources each dataset was made from
    HOME/told.json                         the state that was last reported, and its alarms
    HOME/page/index.html                   the page
"""

from olscale.jobs.job_file import JobFile, load_job, parse_job

__all__ = ["JobFile", "load_job", "parse_job"]
