"""The command line in this process: a process of its own takes seconds to import what most tests have imported already."""

from __future__ import annotations

import traceback
from contextlib import chdir
from pathlib import Path
from subprocess import CompletedProcess

from click.testing import CliRunner

from olscale.cli import olscale


def run(
    *args: object, cwd: Path | None = None, stdin: bytes | None = None
) -> CompletedProcess[str]:
    """Return how ``olscale ARGS`` ends and what it prints, as `subprocess.run` does; a traceback is on standard error."""
    words = [str(arg) for arg in args]
    with chdir(cwd or Path.cwd()):
        done = CliRunner().invoke(olscale, words, input=stdin)
    stderr = done.stderr
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        stderr += "".join(traceback.format_exception(done.exception))
    return CompletedProcess(words, done.exit_code, done.stdout, stderr)
