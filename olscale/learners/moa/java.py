"""The Java virtual machine of this process, with MOA from the package capymoa."""

import difflib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from olscale.errors import ParameterError
from olscale.system.memory import default_limit

_LEAST_HEAP = 512 << 20
_CLASSIFIERS = "moa/classifiers/"


def capymoa_version() -> str:
    """Return the version of the installed capymoa, which has a fixed MOA.

    Raises
    ------
    ParameterError
        If it is not installed.
    """
    try:
        return version("capymoa")
    except PackageNotFoundError:
        raise ParameterError(
            "learners of MOA need the package capymoa, which is not installed; pip install capymoa"
        ) from None


@cache
def start_java() -> Any:
    """Start Java if it is not running, with MOA and `RowLoop`; return the module jpype.

    ``CAPYMOA_JVM_ARGS`` replaces the limit of its memory, and ``JAVA_HOME`` says where it is.

    Raises
    ------
    ParameterError
        If there is no capymoa or no Java, or it does not start.
    """
    capymoa_version()
    import jpype

    for path in (moa_jar(), Path(__file__).parent):
        jpype.addClassPath(str(path))
    if jpype.isJVMStarted():
        return jpype
    library = _library(jpype)
    # Signals are the evaluation's: -Xrs keeps Java from ending the process by its own handlers.
    arguments = [
        *_arguments(),
        "-Xrs",
        "-XX:+UseSerialGC",
        "--enable-native-access=ALL-UNNAMED",
    ]
    try:
        jpype.startJVM(library, *arguments, ignoreUnrecognized=True, interrupt=False)
    except Exception as error:
        raise ParameterError(f"Java ({library}) does not start: {error}") from None
    return jpype


def _library(jpype: Any) -> str:
    """Return the path of Java's library: of ``JAVA_HOME``, of ``java``, or where systems put it."""
    java = shutil.which("java")
    try:
        if "JAVA_HOME" not in os.environ and java:
            home = Path(java).resolve().parent.parent
            libraries = sorted(home.rglob("libjvm.so"))
            if libraries:
                return str(libraries[0])
        return str(jpype.getDefaultJVMPath())
    except (OSError, ValueError):
        raise ParameterError(
            "learners of MOA need Java 11 or later, which is not found; install it "
            "(apt-get install default-jre-headless), or set JAVA_HOME"
        ) from None


def _arguments() -> list[str]:
    """Return what Java is started with: a worker per core shares the memory of learners."""
    heap = max(_LEAST_HEAP, default_limit() // (os.cpu_count() or 1))
    return os.environ.get("CAPYMOA_JVM_ARGS", f"-Xmx{heap} -Xss10M").split()


def moa_jar() -> Path:
    """Return MOA's archive of classes: ``CAPYMOA_MOA_JAR``, or that in CapyMOA."""
    spec = find_spec("capymoa")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    return Path(os.environ.get("CAPYMOA_MOA_JAR", folder / "jar" / "moa.jar"))


@contextmanager
def java_errors() -> Iterator[None]:
    """Raise exceptions of Java as `RuntimeError`, and its lack of memory as `MemoryError`."""
    import jpype

    try:
        yield
    except jpype.JException as error:
        text = str(error)
    else:
        return
    if text.startswith("java.lang.OutOfMemoryError"):
        raise MemoryError(f"{text}; CAPYMOA_JVM_ARGS=-Xmx8g gives Java more")
    raise RuntimeError(text)


def close_class(name: str) -> str:
    """Return the learner of MOA whose name is most similar to `name`; empty if none is.

    The name has its package, as ``trees.HoeffdingTree``.
    """
    with ZipFile(moa_jar()) as jar:
        names = [
            entry.removeprefix(_CLASSIFIERS).removesuffix(".class").replace("/", ".")
            for entry in jar.namelist()
            if entry.startswith(_CLASSIFIERS)
            and entry.endswith(".class")
            and "$" not in entry
        ]
    by_folded_name = {full.casefold(): full for full in names}
    by_folded_name |= {full.rpartition(".")[2].casefold(): full for full in names}
    near = difflib.get_close_matches(name.casefold(), by_folded_name, n=1, cutoff=0.6)
    return by_folded_name[near[0]] if near else ""
