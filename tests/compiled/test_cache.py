"""Machine code in numba's cache: damaged files are made anew, and without any place a command makes its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olscale.compiled.code_files import LEVEL, is_usable, shipped_key

pytestmark = pytest.mark.long

LOOP = """
from olscale.compiled.decorator import compiled

@compiled
def doubled(x):
    return 2.0 * x
"""

CALL = """
import loop
print(loop.doubled(21.0), *loop.doubled.stats.cache_hits.values())
"""

NO_PLACE = """
from numba.core import caching

for kind in (caching.InTreeCacheLocator, caching.UserWideCacheLocator):
    kind.from_function = classmethod(lambda *function: None)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loop.py").write_text(LOOP)
    return tmp_path


def run(folder: Path, code: str, **more: str) -> tuple[list[str], str]:
    """Run code in a process of its own; return the words that it prints, and what it says on standard error."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NUMBA_")
    } | more
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize(("suffix", "size"), [(".nbi", 0), (".nbc", 40)])
def test_a_damaged_file_is_made_anew(suffix, size, folder):
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    assert run(folder, CALL, **cache)[0] == ["42.0"]
    damaged = next((folder / "cache").rglob(f"*{suffix}"))
    damaged.write_bytes(damaged.read_bytes()[:size])
    assert run(folder, CALL, **cache) == (["42.0"], "")
    assert run(folder, CALL, **cache)[0] == ["42.0", "1"]


def test_without_a_place_a_command_makes_its_own_and_says_so_once(folder):
    rest = (
        "\nimport os\nprint(os.environ['NUMBA_CACHE_DIR'], "
        "oct(os.stat(os.environ['NUMBA_CACHE_DIR']).st_mode)[-3:])"
    )
    again = "\nloop.doubled(1)"
    (_, place, mode), said = run(folder, NO_PLACE + CALL + again + rest)
    assert mode == "700"
    assert not Path(place).exists()
    assert said.count("machine code is made anew by each command") == 1


def test_what_changes_machine_code_takes_none_that_was_shipped():
    all_instructions = dict.fromkeys(
        ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), True
    )
    assert is_usable({"NUMBA_CACHE_DIR": "/x", "HOME": "/y"}, all_instructions)
    assert not is_usable({}, all_instructions | {"avx2": False})
    assert not is_usable({"NUMBA_CPU_NAME": "haswell"}, all_instructions)
    assert not is_usable({"OLSCALE_MACHINE_CODE": "0"}, all_instructions)


def test_the_key_of_shipped_code_names_no_processor():
    key = ("signature", ("x86_64-linux", "znver4", "+avx512f"), ("code", "closure"))
    assert shipped_key(key) == (
        "signature",
        ("x86_64-linux", LEVEL, ""),
        ("code", "closure"),
    )
