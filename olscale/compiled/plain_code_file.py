"""Files of bare machine code: what is in one, where it is, and when it is of use.

A file lies where numba keeps the code of the same loop, as far as that is next to its source or in
``NUMBA_CACHE_DIR``. It is a line of JSON, the code, and a CRC-32 of both. The line says what the
code was made from: the sources of the loop and of all that it imports from olscale, the versions of
numba and LLVM, and the processor. If any of that is another now, the file is of no use, and the
next process that compiles the loop replaces it.
"""

import json
import os
import re
import sys
import zlib
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from olscale.system.regular_file import read_regular

_PACKAGE = Path(__file__).parents[1]
_SUFFIX = ".plain"
_CRC_BYTES = 4
_CPUINFO = Path("/proc/cpuinfo")
_COMPILERS = ("numba", "llvmlite")
_HARMLESS = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}
_IMPORT = re.compile(
    rb"^\s*from (olscale[\w.]*) import (\([^)]*\)|[^(\n]*)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class PlainCode:
    """Machine code that runs wherever it lies.

    Parameters
    ----------
    code : bytes
    entry : int
        Where in it the loop begins.
    result : str
        What the loop returns, as `struct` writes it: ``"@?"``, ``"@qqqq?"``, ``"@"`` for nothing.
    """

    code: bytes
    entry: int
    result: str


def plain_path(module: str, name: str, kinds: str) -> Path | None:
    """Return the file of a loop for arguments of some kinds; None where there can be none."""
    if not _is_platform() or any(
        key.startswith("NUMBA_") and key not in _HARMLESS for key in os.environ
    ):
        return None
    source = _source_of(module)
    if source is None:
        return None
    folder = source.parent / "__pycache__"
    if (cache_folder := os.environ.get("NUMBA_CACHE_DIR")) is not None:
        folder = Path(cache_folder)
    return folder / f"{module}-{name}-{kinds}-{_processor()[:16]}{_SUFFIX}"


def _is_platform() -> bool:
    # The calling convention, and the relocations that the maker knows.
    return sys.platform == "linux" and os.uname().machine == "x86_64"


def read_plain_code(path: Path) -> PlainCode | None:
    """Return what is in a file; None if it is absent, damaged, or made from something else."""
    try:
        data = read_regular(path)
    except OSError:
        return None
    content = data[:-_CRC_BYTES]
    if data[-_CRC_BYTES:] != _crc(content):
        return None
    line, _, code = content.partition(b"\n")
    about = json.loads(line)
    if about["made_from"] != made_from(about["module"]):
        return None
    return PlainCode(code, about["entry"], about["result"])


def write_plain_code(path: Path, module: str, plain: PlainCode) -> None:
    """Write the file of a loop of a module, completely or not at all.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    about = {
        "module": module,
        "made_from": made_from(module),
        "entry": plain.entry,
        "result": plain.result,
    }
    content = json.dumps(about).encode() + b"\n" + plain.code
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(content + _crc(content))
    part.replace(path)


def _crc(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CRC_BYTES, "big")


def can_be_kept(path: Path) -> bool:
    """Return whether this process may write a file: not in a package that others own."""
    folders = (folder for folder in path.parents if folder.is_dir())
    return os.access(next(folders), os.W_OK)


@cache
def made_from(module: str) -> dict[str, str]:
    """Return what the code of a module's loops is made from: names and digests.

    Examples
    --------
    >>> sorted(made_from("olscale.data.formats._table_loop"))[:3]
    ['llvmlite', 'numba', 'olscale.compiled.byte_words']
    """
    digests = {"processor": _processor()}
    for compiler in _COMPILERS:
        origin = getattr(find_spec(compiler), "origin", None)
        if origin is not None:
            digests[compiler] = _digest(Path(origin).with_name("_version.py"))
    waiting = [module]
    while waiting:
        name = waiting.pop()
        source = _source_of(name)
        if name in digests or source is None:
            continue
        text = source.read_bytes()
        digests[name] = sha256(text).hexdigest()
        for package_name, names in _IMPORT.findall(text):
            package = package_name.decode()
            # A name may be that of a submodule.
            waiting.append(package)
            waiting += [
                f"{package}.{word.decode()}" for word in re.findall(rb"\w+", names)
            ]
    return digests


def _source_of(module: str) -> Path | None:
    parts = module.split(".")[1:]
    for path in (
        _PACKAGE.joinpath(*parts).with_suffix(".py"),
        _PACKAGE.joinpath(*parts, "__init__.py"),
    ):
        if path.is_file():
            return path
    return None


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@cache
def _processor() -> str:
    """Return a digest of the processor's name and instructions."""
    with _CPUINFO.open("rb") as file:
        # The first of maybe hundreds of equal ones.
        head = file.read(1 << 13).partition(b"\n\n")[0]
    lines = [
        line
        for line in head.splitlines()
        if line.startswith((b"model", b"vendor_id", b"cpu family", b"flags"))
    ]
    return sha256(b"\n".join(lines)).hexdigest()
