"""The blocks of a bzip2 file, which can be decompressed apart, at any bit of the file."""

from __future__ import annotations

import bz2
import mmap
from bisect import insort

__all__ = ["decompress_block", "find_blocks"]

_BLOCK, _END = 0x314159265359, 0x177245385090
_MAGIC_BITS, _CHECKSUM_BITS = 48, 32
_HEADER = int.from_bytes(b"BZh9")


def find_blocks(content: bytes | mmap.mmap) -> list[tuple[int, int]]:
    """Return the first bit and the end of every block of a bzip2 file, of one stream or several.

    Examples
    --------
    >>> len(find_blocks(bz2.compress(b"x" * 100) + bz2.compress(b"y" * 100)))
    2
    """
    marks: list[tuple[int, bool]] = []
    for magic in (_BLOCK, _END):
        for shift in range(8):
            pattern = (magic << (8 - shift)).to_bytes(7)
            # The inner bytes belong to the magic number whole.
            at = content.find(pattern[1:6])
            while at >= 0:
                bit = 8 * (at - 1) + shift
                if bit >= 0 and _bits(content, bit, bit + _MAGIC_BITS) == magic:
                    insort(marks, (bit, magic == _BLOCK))
                at = content.find(pattern[1:6], at + 1)
    ends = [bit for bit, _ in marks[1:]] + [8 * len(content)]
    return [(bit, end) for (bit, is_block), end in zip(marks, ends, strict=True) if is_block]


def decompress_block(content: bytes, start: int, stop: int) -> bytes:
    """Return the text of the block from bit `start` to before bit `stop`.

    Raises
    ------
    OSError, EOFError
        When it is damaged.
    """
    bits = stop - start
    block = _bits(content, start, stop)
    # A file of this block alone: header, block, end mark, and the checksum of all blocks, which is that of the one.
    checksum = block >> (bits - _MAGIC_BITS - _CHECKSUM_BITS) & (1 << _CHECKSUM_BITS) - 1
    whole = (((_HEADER << bits | block) << _MAGIC_BITS | _END) << _CHECKSUM_BITS) | checksum
    bits += 32 + _MAGIC_BITS + _CHECKSUM_BITS
    return bz2.decompress((whole << -bits % 8).to_bytes(-(-bits // 8)))


def _bits(content: bytes | mmap.mmap, start: int, stop: int) -> int:
    first, last = start // 8, -(-stop // 8)
    value = int.from_bytes(content[first:last]) >> (8 * last - stop)
    return value & (1 << (stop - start)) - 1
