"""The command ``python -m tests.golden``; see the package."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tests.golden.machine import machine
from tests.golden.sections import PAPERS, SECTIONS

STORED = Path(__file__).with_name("digests.json")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden", description="Compare bytes with stored digests."
    )
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"all when left out: {' '.join(SECTIONS)}",
    )
    parser.add_argument(
        "--renew",
        action="store_true",
        help="store the digests of today in place of those there are",
    )
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(
            f"there is no section {unknown[0]!r}; there are: {' '.join(SECTIONS)}"
        )

    stored = (
        json.loads(STORED.read_text())
        if STORED.exists()
        else {"machine": machine(), "sections": {}}
    )
    elsewhere = {
        key for key, value in machine().items() if stored["machine"].get(key) != value
    }
    if elsewhere:
        print(
            f"the digests are those of another machine: {', '.join(sorted(elsewhere))} differ, "
            "and bytes may"
        )
    failed = False
    data = os.environ.get("OLSCALE_DATA")
    for name in given.sections or SECTIONS:
        if name in PAPERS and not data:
            print(
                f"{name}: left out, since OLSCALE_DATA names no folder with the real data sets"
            )
            continue
        begin = perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            digests = SECTIONS[name](Path(folder))
        wrong = _differences(stored["sections"].get(name, {}), digests)
        print(
            f"{name}: {len(digests)} digests, {len(wrong)} differ ({perf_counter() - begin:.0f} s)",
            flush=True,
        )
        for line in wrong[:20]:
            print(f"  {line}")
        failed |= bool(wrong)
        stored["sections"][name] = digests
        if given.renew:
            stored["machine"] = machine()
            STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
    return int(failed and not given.renew)


def _differences(stored: dict[str, str], digests: dict[str, str]) -> list[str]:
    """Return a line for each name that is new, gone, or another one's."""
    lines = [f"{name} is gone" for name in stored.keys() - digests.keys()]
    lines += [f"{name} is new" for name in digests.keys() - stored.keys()]
    lines += [
        f"{name} differs"
        for name in stored.keys() & digests.keys()
        if stored[name] != digests[name]
    ]
    return sorted(lines)


if __name__ == "__main__":
    sys.exit(main())
