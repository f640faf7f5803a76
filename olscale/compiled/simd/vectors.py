"""The vocabulary of vector code: LLVM's types, and the few steps that it consists of.

A function here does not compute; it writes the instruction that will. A *slot* is a variable of the
function that is being written: LLVM keeps it in a register.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

DOUBLE = ir.DoubleType()
INT8 = ir.IntType(8)
INT32 = ir.IntType(32)
INT64 = ir.IntType(64)

VECTOR = 8
"""Doubles of a vector: 64 bytes, a cache line and the widest register; LLVM splits it elsewhere."""


def fill_vectors(columns: int) -> int:
    """Return the least multiple of the length of a vector that is not below `columns`.

    Examples
    --------
    >>> fill_vectors(3), fill_vectors(16)
    (8, 16)
    """
    return -(-columns // VECTOR) * VECTOR


def open_arrays(
    context: Any,
    builder: Any,
    signature: Any,
    arguments: Any,
    *places: int,
) -> list[Any]:
    """Return the arrays among an intrinsic's arguments, at `places`, with data and shapes."""
    arrays = []
    for n in places:
        array_of = context.make_array(signature.args[n])
        array = array_of(context, builder, arguments[n])
        arrays.append(array)
    return arrays


def convert(builder: Any, value: Any, element: Any) -> Any:
    """Return a number or vector in the precision `element`, unchanged if it has that already."""
    count = getattr(value.type, "count", 0)
    if count:
        target = ir.VectorType(element, count)
    else:
        target = element
    if value.type == target:
        return value
    if element == DOUBLE:
        return builder.fpext(value, target)
    return builder.fptrunc(value, target)


def broadcast(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector filled with one number."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, INT32(0))
    places = ir.VectorType(INT32, vector.count)
    # LLVM recognizes a shuffle that takes one place everywhere: one instruction.
    first_everywhere = ir.Constant(places, [0] * vector.count)
    return builder.shuffle_vector(first, undefined, first_everywhere)


def load_vector(builder: Any, data: Any, first: Any, count: int) -> Any:
    """Return `count` numbers of an array from `first` on, in the array's precision."""
    vector = ir.VectorType(data.type.pointee, count)
    first_address = builder.gep(data, [first])
    address = builder.bitcast(first_address, vector.as_pointer())
    # Rows of a slice begin at any number, so a vector is no better aligned than its numbers.
    return builder.load(address, align=_bytes(data))


def load_number(builder: Any, data: Any, place: Any) -> Any:
    """Return the number at a place of an array."""
    address = builder.gep(data, [place])
    return builder.load(address)


def load_feature(builder: Any, features: Any, p: Any) -> Any:
    """Return the number of the feature of entry `p` of sparse rows, which is never negative."""
    feature = load_number(builder, features.data, p)
    return builder.zext(feature, INT64)


def store_vector(builder: Any, vector: Any, data: Any, first: Any) -> None:
    """Store a vector in an array from `first` on, in the array's precision."""
    vector = convert(builder, vector, data.type.pointee)
    first_address = builder.gep(data, [first])
    address = builder.bitcast(first_address, vector.type.as_pointer())
    builder.store(vector, address, align=_bytes(data))


def multiply_add(builder: Any, x: Any, w: Any, total: Any) -> Any:
    """Return ``x w + total`` for vectors, rounded once.

    It is one instruction where the processor has it, with the same bits elsewhere.
    """
    vector = x.type
    bits = 64 if vector.element == DOUBLE else 32
    kind = ir.FunctionType(vector, [vector] * 3)
    name = f"llvm.fma.v{vector.count}f{bits}"
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, [x, w, total])


def zero_slot(builder: Any, kind: Any) -> Any:
    """Return a slot for a sum, a number or a vector, which is 0 whenever this code is reached."""
    return cgutils.alloca_once(builder, kind, zfill=True)


def accumulate(
    builder: Any,
    slot: Any,
    x: Any,
    w: Any,
    fused: bool = False,
) -> None:
    """Add ``x w`` to a slot; if `fused`, product and sum are rounded together."""
    total = builder.load(slot)
    if fused:
        total = multiply_add(builder, x, w, total)
    else:
        product = builder.fmul(x, w)
        total = builder.fadd(total, product)
    builder.store(total, slot)


def _bytes(data: Any) -> int:
    """Return the bytes of a number: the alignment of a caller's arrays.

    As slices of rows they have no greater alignment.
    """
    if data.type.pointee in (DOUBLE, INT64):
        return 8
    return 4
