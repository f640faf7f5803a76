"""The command ``python -m tests.fuzz``; see the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.run import HEADER, Outcome, run_all
from tests.fuzz.targets import TARGETS
from tests.fuzz.work import shrink, work


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Fuzz readers; exit 1 where any fails."
    )
    parser.add_argument(
        "readers",
        nargs="*",
        metavar="READER",
        help=f"quick ones when left out: {' '.join(TARGETS)}",
    )
    parser.add_argument("--inputs", type=int, default=1_000, help="inputs a reader")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first input"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--show",
        type=int,
        metavar="NUMBER",
        help="shrink one input of one reader and print it",
    )
    parser.add_argument(
        "--save", type=Path, metavar="FOLDER", help="with --show: write its files there"
    )
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = [name for name in given.readers if name not in TARGETS]
    if unknown:
        parser.error(
            f"there is no reader {unknown[0]!r}; there are: {' '.join(TARGETS)}"
        )
    if given.work:
        start, stop, seed, positions = given.work
        work(
            TARGETS[given.readers[0]], int(start), int(stop), int(seed), Path(positions)
        )
        return 0
    if given.show is not None:
        return show(given.readers[0], given.show, given.seed, given.save)
    print(HEADER, flush=True)
    readers = given.readers or [
        n for n, target in TARGETS.items() if not target.takes_minutes
    ]
    is_clean = run_all(
        readers, given.inputs, given.seed, given.processes, tell, given.first
    )
    return 0 if is_clean else 1


def tell(outcome: Outcome) -> None:
    print(outcome.line())
    for kind, count in outcome.kinds.most_common():
        first = next(
            (finding for finding in outcome.findings if finding["kind"] == kind), {}
        )
        print(
            f"    {count:6,} x {kind}, first input {first.get('number')}: {first.get('what')}"
        )
    if outcome.stopped:
        print(f"    {outcome.stopped}")
    sys.stdout.flush()


def show(name: str, number: int, seed: int, save: Path | None) -> int:
    target = TARGETS[name]
    target.valid  # noqa: B018 - made before memory is limited
    kind, base, changed = shrink(target, number, seed)
    print(f"{name} {number}: {kind or 'no finding'}, made of valid input {base}")
    for file, data in changed.items():
        print(f"{file}: {data!r}")
        if save is not None:
            (save / file).parent.mkdir(parents=True, exist_ok=True)
            (save / file).write_bytes(data)
    return 1 if kind else 0


if __name__ == "__main__":
    sys.exit(main())
