"""A file of machine code with a wrong bit is known for damaged, whatever the bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from olscale.compiled.code_files import CheckedCodeFile
from olscale.compiled.decorator import compiled


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_file_with_any_byte_changed_is_refused(suffix: str, tmp_path: Path) -> None:
    code = CheckedCodeFile(str(tmp_path), "loop", "stamp")
    right = b"\x48\x89\xf8", "more"
    code.save("signature", right)
    [file] = tmp_path.glob(f"*{suffix}")
    data = file.read_bytes()
    for position in range(len(data)):
        file.write_bytes(
            data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
        )
        with pytest.raises(ValueError, match="its checksum is wrong or missing"):
            code.load("signature")
    file.write_bytes(data)
    assert code.load("signature") == right


def test_compiled_loops_are_kept_in_such_files() -> None:
    def loop(x: float) -> float:
        return 2.0 * x

    assert isinstance(compiled(loop)._cache._cache_file, CheckedCodeFile)  # type: ignore[attr-defined]
