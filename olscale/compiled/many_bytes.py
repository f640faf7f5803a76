"""Thirty-two bytes of text at a time as one vector, for numba compiled loops.

The vector shows what follows without a loop over bytes, whose end would be mispredicted at nearly
every cell. Loads go through raw pointers: the caller guarantees `BYTES` - 1 bytes of room after the
last byte that may be examined.
"""

from typing import Any

from llvmlite import ir
from numba import types

from olscale.compiled.intrinsics import intrinsic

BYTES = 32
"""Bytes of a vector. LLVM splits it into two or four where the processor's are shorter."""

_BYTE = ir.IntType(8)
_MASK = ir.IntType(BYTES)
_VECTOR = ir.VectorType(_BYTE, BYTES)


@intrinsic
def other_than_digits(typing_context: Any, array: Any, pos: Any) -> Any:
    """Return a word whose bit `i` says that the byte at ``pos + i`` of an array is not a digit."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        above_zero = builder.sub(_load(context, builder, signature, arguments), _repeated(ord("0")))
        return _bits(builder, builder.icmp_unsigned(">", above_zero, _repeated(9)))

    return types.uint64(array, types.int64), generate


@intrinsic
def bytes_like(
    typing_context: Any, array: Any, pos: Any, first: Any, second: Any, third: Any
) -> Any:
    """Return a word whose bit `i` says that the byte at ``pos + i`` is one of three."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = _load(context, builder, signature, arguments)
        found = ir.Constant(ir.VectorType(ir.IntType(1), BYTES), None)
        for argument in arguments[2:]:
            lane = builder.insert_element(
                ir.Constant(_VECTOR, None), builder.trunc(argument, _BYTE), ir.IntType(32)(0)
            )
            everywhere = builder.shuffle_vector(
                lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), BYTES), [0] * BYTES)
            )
            found = builder.or_(found, builder.icmp_unsigned("==", text, everywhere))
        return _bits(builder, found)

    return types.uint64(array, types.int64, types.int64, types.int64, types.int64), generate


def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    loaded = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), _VECTOR.as_pointer()))
    loaded.align = 1
    return loaded


def _repeated(byte: int) -> ir.Constant:
    return ir.Constant(_VECTOR, [byte] * BYTES)


def _bits(builder: Any, found: Any) -> Any:
    return builder.zext(builder.bitcast(found, _MASK), ir.IntType(64))
