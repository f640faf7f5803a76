"""Text parsed in ranges by several tasks: the rows, the errors and the bytes of serial reading."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from olscale.data.formats.bzip2_blocks import decompress_block, find_blocks
from olscale.data.ingest import parallel as ranges
from olscale.data.ingest.ingest import ingest
from olscale.data.ingest.parallel import Parsers
from olscale.errors import FormatError


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parsers]:
    """Threads in place of processes."""
    monkeypatch.setattr(ranges, "RANGE_BYTES", 997)
    with ThreadPoolExecutor(3) as pool:
        yield Parsers(pool, 3)


def text(rows: int, zero_based: bool = False, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(rows):
        indices = np.sort(rng.choice(300, int(rng.integers(0, 9)), replace=False)) + (not zero_based)
        pairs = " ".join(f"{j}:{rng.random():.4f}" for j in indices)
        lines.append(f"{1 - 2 * (i % 2)} {pairs}" + (" # note" if i % 7 == 0 else "") + "\n" * (1 + (i % 11 == 0)))
    return "# first\n" + "".join(lines) + "# last"


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("packing", ["plain", "bz2", "bz2 streams", "gz"])
def test_same_bytes_as_serial_ingest(tmp_path: Path, parsers: Parsers, packing: str, zero_based: bool):
    content = text(20_000, zero_based).encode()
    half = len(content) // 2
    pack = {
        "plain": lambda data: data,
        "bz2": lambda data: bz2.compress(data, 1),
        "bz2 streams": lambda data: bz2.compress(data[:half], 1) + bz2.compress(data[half:], 9),
        "gz": gzip.compress,
    }[packing]
    (tmp_path / "a.svm").write_bytes(pack(content))
    if packing == "plain":
        ranges.RANGE_BYTES = 99_991
    pieces = ranges._cut(str(tmp_path / "a.svm"), ranges.RANGE_BYTES)
    assert (len(pieces) > 3) == (packing != "gz")
    ingest(tmp_path / "a.svm", tmp_path / "apart", chunk_rows=3000, parsers=parsers)
    ingest(tmp_path / "a.svm", tmp_path / "serial", chunk_rows=3000)
    assert tree(tmp_path / "apart") == tree(tmp_path / "serial")


def test_lines_longer_than_a_range_and_no_newline_at_the_end(tmp_path: Path, parsers: Parsers):
    long = " ".join(f"{i}:1" for i in range(1, 1500))
    (tmp_path / "a.svm").write_text(f"1 1:1\n-1 {long}\n1 2:1\n\n1 {long}")
    apart = ingest(tmp_path / "a.svm", tmp_path / "apart", parsers=parsers)
    assert (apart.rows(), apart.columns) == (4, 1499)
    assert apart.fingerprint == ingest(tmp_path / "a.svm", tmp_path / "serial").fingerprint


@pytest.mark.parametrize("line", [1, 500, 999])
def test_error_names_the_line_of_the_file(tmp_path: Path, parsers: Parsers, line: int):
    lines = ["1 1:1 2:1"] * 1000
    lines[line] = "1 1:1 x:1"
    (tmp_path / "a.svm").write_text("\n".join(lines))
    with pytest.raises(FormatError, match=rf"a\.svm, line {line + 1}: got 'x:1'"):
        ingest(tmp_path / "a.svm", tmp_path / "d", parsers=parsers)
    assert not (tmp_path / "d").exists()


def test_damaged_bzip2_is_told_as_serially(tmp_path: Path, parsers: Parsers):
    content = bytearray(bz2.compress(text(9000).encode(), 1))
    content[len(content) // 2] ^= 1
    (tmp_path / "a.svm").write_bytes(content)
    with pytest.raises(FormatError, match="corrupt bzip2 data"):
        ingest(tmp_path / "a.svm", tmp_path / "d", parsers=parsers)


def test_bzip2_blocks_make_up_the_text():
    content = np.random.default_rng(0).bytes(450_000)
    packed = bz2.compress(content[:250_000], 1) + bz2.compress(content[250_000:], 2)
    blocks = find_blocks(packed)
    assert len(blocks) > 3
    assert len({start % 8 for start, _ in blocks}) > 1, "blocks begin at any bit"
    assert b"".join(decompress_block(packed, *block) for block in blocks) == content
