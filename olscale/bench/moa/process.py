"""A process of the Python that has CapyMOA, which stays warm over the rounds of a benchmark."""

import json
import os
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import olscale
from olscale.bench.moa.capymoa_loops import Request
from olscale.errors import OlscaleError

_LOOPS = "olscale.bench.moa.capymoa_loops"


class CapyMOA:
    """The process, from `with` on; `run` has it do a loop.

    Parameters
    ----------
    python : str
        Its interpreter, which has capymoa and what olscale needs.

    Attributes
    ----------
    jar : Path
        MOA's archive of classes.
    """

    def __init__(self, python: str) -> None:
        self.python = python

    def __enter__(self) -> Self:
        """Start it.

        Raises
        ------
        OlscaleError
            If Python, CapyMOA or Java is not there, with what to install.
        """
        if shutil.which("java") is None:
            raise OlscaleError(
                "java is not installed: apt-get install default-jre-headless"
            )
        # No more of this Python's paths: the other one may be of another version.
        folder = str(Path(olscale.__file__).parents[1])
        try:
            self._process = subprocess.Popen(
                [self.python, "-m", _LOOPS],
                env=os.environ | {"PYTHONPATH": folder},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            raise OlscaleError(f"{self.python} does not start: {error}") from None
        try:
            self.jar = Path(self._answer()["jar"])
        # `__exit__` is not called where `__enter__` fails.
        except OlscaleError:
            self._process.communicate()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let it end."""
        # The end of its input is the end of the process.
        self._process.communicate()

    def run(self, request: Request) -> tuple[float, int]:
        """Return the processor seconds of a loop, and its mistakes.

        Raises
        ------
        OlscaleError
            If it fails.
        """
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps(asdict(request)) + "\n")
        # Else the request waits in this buffer, and both processes for each other.
        stdin.flush()
        answer = self._answer()
        return answer["seconds"], answer["mistakes"]

    def _answer(self) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        line = stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        _, errors = self._process.communicate()
        # Of a traceback only the last line says what is missing.
        last = (errors.strip().splitlines() or ["it ended without a word"])[-1]
        reason = last.partition("ParameterError: ")[2] or last
        raise OlscaleError(
            f"{self.python} cannot run CapyMOA: {reason}; --python names another Python"
        )
