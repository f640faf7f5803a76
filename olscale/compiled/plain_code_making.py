"""Makes bare machine code of a compiled loop: bytes that run wherever they lie.

numba has compiled and optimized the loop. Its LLVM code is taken without the parts that box
Python's objects, and made into an ELF object of position-independent code. All that such code
refers to are constants at fixed distances (the psABI of x86-64, relocations ``PC32`` and
``PLT32``), so that the sections, one behind the other, are linked here once and for all. A loop
that needs anything else is left to numba: one that raises, makes arrays, or calls the C library.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba import typeof, types

from olscale.compiled.plain_code_file import PlainCode, write_plain_code
from olscale.errors import OlscaleError

_RESULTS = {types.int64: "q", types.boolean: "?", types.float64: "d"}
# numba keeps exceptions pickled in constants of this name: one that is left is raised somewhere.
_RAISES = ".const.pickle"
# Of arrays that numba made itself; arguments from outside have no owner to free.
_FREES = "NRT_MemInfo_call_dtor"
_RETURN = b"\xc3"
_ALLOCATED = 0x2
_PROGRAM = 1
_RELOCATIONS = 4
_SYMBOLS = 2
_PC32 = 2
_PLT32 = 4


class NotPlainError(OlscaleError):
    """A loop that needs more than its own code and constants."""


def keep_plain_code(
    loop: Callable[..., Any], arguments: tuple[Any, ...], path: Path
) -> None:
    """Write the bare machine code of a loop that has run with such `arguments`, if it has any."""
    with suppress(NotPlainError, OSError):
        plain = plain_code_of(loop, arguments)
        dispatcher: Any = loop
        write_plain_code(path, dispatcher.py_func.__module__, plain)


def plain_code_of(loop: Callable[..., Any], arguments: tuple[Any, ...]) -> PlainCode:
    """Return the bare machine code of a compiled loop for the kinds of some arguments.

    Raises
    ------
    NotPlainError
        If the loop needs more than its own code and constants.
    """
    dispatcher: Any = loop
    overloads = getattr(dispatcher, "overloads", {})
    made = overloads.get(tuple(map(typeof, arguments)))
    if made is None:
        raise NotPlainError("numba has no code for such arguments")
    entry = made.fndesc.llvm_func_name
    return linked(_object_of(made.library, entry), entry, _result(made.signature))


def _result(signature: Any) -> str:
    kind = signature.return_type
    if kind == types.none:
        return "@"
    parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
    try:
        return "@" + "".join(_RESULTS[part] for part in parts)
    except KeyError:
        raise NotPlainError(f"it returns {kind}") from None


def _object_of(library: Any, entry: str) -> bytes:
    """Return an ELF object with the function `entry` of a library and all that it needs."""
    # The clone that other libraries would link in: numba's own stays as it is.
    module = library._get_module_for_linking().clone()
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == entry else "internal"
    for constant in module.global_variables:
        if not constant.is_declaration:
            constant.linkage = "internal"
    codegen = library.codegen
    machine = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu=codegen._get_host_cpu_name(),
        features=codegen._tm_features,
        opt=3,
        reloc="pic",
        codemodel="small",
    )
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    # Functions for Python's side refer to numba's runtime: nothing calls them, and they go.
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    if any(constant.name.startswith(_RAISES) for constant in module.global_variables):
        raise NotPlainError("it raises")
    content: bytes = machine.emit_object(module)
    return content


def linked(content: bytes, entry: str, result: str) -> PlainCode:
    """Return the sections of an ELF object one behind the other, with the distances filled in.

    Raises
    ------
    NotPlainError
        If it refers to anything outside.
    """
    sections = _sections(content)
    places: dict[int, int] = {}
    image = bytearray()
    for number, section in enumerate(sections):
        if section.type == _PROGRAM and section.flags & _ALLOCATED:
            image += bytes(-len(image) % max(section.alignment, 1))
            places[number] = len(image)
            image += content[section.offset : section.offset + section.size]
    frees = len(image)
    # Where the code would free an array, which is never due, it returns at once.
    image += _RETURN
    (table,) = (section for section in sections if section.type == _SYMBOLS)
    symbols = _symbols(content, table, sections[table.link])
    for section in sections:
        if section.type == _RELOCATIONS and section.info in places:
            _relocate(content, section, image, places, symbols, frees)
    (start,) = (
        places[symbol.section] + symbol.value
        for symbol in symbols
        if symbol.name == entry
    )
    return PlainCode(bytes(image), start, result)


@dataclass(frozen=True, slots=True)
class _Section:
    """A line of ELF's table of sections."""

    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    """A name, and where in which section it stands; section 0 is none of this object."""

    name: str
    section: int
    value: int


_HEADER = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<4xIQ8xQQIIQ8x")
_SYMBOL = struct.Struct("<IxxHQ8x")
_RELOCATION = struct.Struct("<QIIq")


def _sections(content: bytes) -> list[_Section]:
    offset, size, count, _ = _HEADER.unpack_from(content)
    lines = [content[offset + i * size : offset + (i + 1) * size] for i in range(count)]
    return [_Section(*_SECTION.unpack(line)) for line in lines]


def _symbols(content: bytes, table: _Section, names: _Section) -> list[_Symbol]:
    symbols = []
    for name_at, section, value in _SYMBOL.iter_unpack(
        content[table.offset : table.offset + table.size]
    ):
        begin = names.offset + name_at
        name = content[begin : content.index(b"\0", begin)].decode()
        symbols.append(_Symbol(name, section, value))
    return symbols


def _relocate(
    content: bytes,
    section: _Section,
    image: bytearray,
    places: Mapping[int, int],
    symbols: Sequence[_Symbol],
    frees: int,
) -> None:
    """Fill in the distances that a section of relocations lists."""
    for offset, kind, number, addend in _RELOCATION.iter_unpack(
        content[section.offset : section.offset + section.size]
    ):
        symbol = symbols[number]
        if kind not in (_PC32, _PLT32):
            raise NotPlainError(f"it has a relocation of kind {kind}")
        if symbol.section in places:
            target = places[symbol.section] + symbol.value
        elif symbol.name == _FREES:
            target = frees
        else:
            raise NotPlainError(f"it refers to {symbol.name or 'another section'}")
        place = places[section.info] + offset
        struct.pack_into("<i", image, place, target + addend - place)
