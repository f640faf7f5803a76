"""Compiled loops without numba: their bare machine code, which loads at once.

To import numba, and to let it load the code of one loop, takes a fifth of a second: longer than
to parse 36 MB of text. The loops of text are called a few times with a few arrays and numbers, so
they need nothing of it. Their machine code is kept once more, next to numba's, without what boxes
Python's objects, as bytes that run wherever they lie. `olscale.compiled.plain_code_file` says what
is in such a file and when it is of use; `olscale.compiled.plain_code_making` makes it.

A loop runs by numba as ever if there is no such code, if numba is loaded anyway, and for arguments
of other kinds than these: whole numbers, truth values and contiguous arrays.
"""

import ctypes
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from olscale.compiled.plain_code_file import (
    PlainCode,
    can_be_kept,
    plain_path,
    read_plain_code,
)

_WORD = ctypes.c_int64
_FLAG = ctypes.c_int8
_WORD_MAX = 2**63 - 1
_RESULT_BYTES = 256


class PlainLoop:
    r"""A compiled loop, by its bare machine code where that is at hand.

    Parameters
    ----------
    module, name : str
        Where the loop is. The module is imported, and numba with it, only if need be.
    kinds : str
        Those of the arguments, as `kinds_of` says them.

    Examples
    --------
    >>> loop = PlainLoop("olscale.data.formats._table_loop", "parse_numbers", "B1-q-q-d1")
    >>> text = np.frombuffer(b"1.5\n-2\n".ljust(48), dtype=np.uint8).copy()
    >>> numbers = np.empty(2)
    >>> loop(text, 7, ord("."), numbers), numbers
    (True, array([ 1.5, -2. ]))
    """

    def __init__(self, module: str, name: str, kinds: str) -> None:
        self._module = module
        self._name = name
        self._kinds = kinds
        self._run: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop."""
        if kinds_of(arguments) != self._kinds:
            return self._compiled()(*arguments)
        if self._run is None:
            self._run = self._native() or _ByNumba(self._compiled(), self._path())
        return self._run(*arguments)

    def is_at_hand(self) -> bool:
        """Return whether the loop runs without importing numba first."""
        if self._module in sys.modules:
            return True
        if self._run is None:
            self._run = self._native()
        return self._run is not None

    def _native(self) -> Callable[..., Any] | None:
        path = self._path()
        if path is None or self._module in sys.modules:
            return None
        code = read_plain_code(path)
        if code is None:
            return None
        try:
            return _Native(code)
        except OSError:
            # A system may forbid programs to make code.
            return None

    def _path(self) -> Path | None:
        return plain_path(self._module, self._name, self._kinds)

    def _compiled(self) -> Callable[..., Any]:
        loop: Callable[..., Any] = getattr(import_module(self._module), self._name)
        return loop


def kinds_of(arguments: tuple[Any, ...]) -> str | None:
    """Return the kinds of arguments in a word; None if bare machine code does not take them.

    Examples
    --------
    >>> kinds_of((np.zeros((2, 3)), 7, True)), kinds_of((np.zeros(4)[::2],))
    ('d2-q-b', None)
    """
    kinds = []
    for argument in arguments:
        if type(argument) is bool:
            kinds.append("b")
        elif type(argument) is int and -_WORD_MAX <= argument <= _WORD_MAX:
            kinds.append("q")
        elif type(argument) is np.ndarray and _is_plain(argument):
            mark = "" if argument.flags.writeable else "r"
            kinds.append(f"{argument.dtype.char}{argument.ndim}{mark}")
        else:
            return None
    return "-".join(kinds)


def _is_plain(array: Any) -> bool:
    flags = array.flags
    return (
        flags.c_contiguous
        and flags.aligned
        and array.dtype.isnative
        and array.dtype.char in "bBiIlLd"
    )


class _Native:
    """Machine code in the memory of this process, called as numba calls it.

    Raises
    ------
    OSError
        If the system does not let a process run code that it has written.
    """

    def __init__(self, code: PlainCode) -> None:
        self._memory = _runnable(code.code)
        address = ctypes.addressof(self._memory)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32)(address + code.entry)
        self._result = struct.Struct(code.result)
        self._single = len(code.result) == 2

    def __call__(self, *arguments: Any) -> Any:
        result = ctypes.create_string_buffer(_RESULT_BYTES)
        raised = ctypes.c_void_p()
        words: list[Any] = [ctypes.byref(result), ctypes.byref(raised)]
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                words += _array_words(argument)
            elif isinstance(argument, bool):
                words.append(_FLAG(argument))
            else:
                words.append(_WORD(argument))
        # Such loops do not raise: the maker refuses others.
        self._function(*words)
        values = self._result.unpack_from(result)
        if self._single:
            return values[0]
        return values or None


def _array_words(array: Any) -> list[Any]:
    """Return an array as numba passes it: no owner, sizes, address, shape and strides."""
    address = array.__array_interface__["data"][0]
    return [
        ctypes.c_void_p(),
        ctypes.c_void_p(),
        _WORD(array.size),
        _WORD(array.itemsize),
        ctypes.c_void_p(address),
        *map(_WORD, array.shape),
        *map(_WORD, array.strides),
    ]


def _runnable(code: bytes) -> Any:
    """Return memory with `code` that may be run, and no longer be written."""
    import mmap

    region = mmap.mmap(-1, len(code))
    region.write(code)
    memory = (ctypes.c_char * len(code)).from_buffer(region)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(ctypes.addressof(memory), len(code), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory cannot be made to run")
    return memory


class _ByNumba:
    """A loop run by numba; what numba has compiled is kept for processes without it."""

    def __init__(self, loop: Callable[..., Any], path: Path | None) -> None:
        self._loop = loop
        self._path = path

    def __call__(self, *arguments: Any) -> Any:
        result = self._loop(*arguments)
        if self._path is not None:
            path = self._path
            self._path = None
            if read_plain_code(path) is None and can_be_kept(path):
                from olscale.compiled.plain_code_making import keep_plain_code

                keep_plain_code(self._loop, arguments, path)
        return result
