"""Write code and figures of docs/comparisons.md: ``python -m tests.comparisons [OPTIONS]``."""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import tempfile
from pathlib import Path

from olscale.bench.table import machine
from tests.calibration import DATA
from tests.comparisons.contenders import SNIPPETS, TASKS, Contender, Task
from tests.comparisons.measure import Bench, Measured
from tests.performance import replace

PAGE = Path(__file__).parents[2] / "docs" / "comparisons.md"
HEAD = ("program", "error (%)", "seconds", "of these to start", "times olscale")
PACKAGES = ("river", "vowpalwabbit", "scikit-learn", "capymoa", "benchopt")


def main() -> None:
    """Renew the code on the page and, unless told not to, the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.comparisons", description=__doc__
    )
    parser.add_argument(
        "--python", default="", help="interpreter that has the other programs"
    )
    parser.add_argument("--libol", default="", help="folder with a copy of LIBOL")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of the public data sets"
    )
    parser.add_argument("--code", action="store_true", help="renew the code alone")
    numbers = range(1, len(TASKS) + 1)
    parser.add_argument(
        "--task", type=int, choices=numbers, help="renew one table alone"
    )
    options = parser.parse_args()
    page = with_code(PAGE.read_text(encoding="utf-8"))
    if not options.code:
        tasks = [TASKS[options.task - 1]] if options.task else list(TASKS)
        new = figures(Bench(options.python, options.libol), options.data, tasks)
        page = replace(page, "figures", "\n".join({**figures_of(page), **new}.values()))
    PAGE.write_text(page, encoding="utf-8")


def with_code(page: str) -> str:
    """Return the page with the snippets as they are now."""
    for path in sorted(SNIPPETS.rglob("*.*")):
        name = path.relative_to(SNIPPETS).as_posix()
        if f"<!-- {name} -->" in page:
            language = {".py": "python", ".sh": "sh", ".m": "matlab"}[path.suffix]
            code = path.read_text(encoding="utf-8")
            page = replace(page, name, f"```{language}\n{code}```\n")
    return page


def figures(bench: Bench, data: Path, tasks: list[Task]) -> dict[str, str]:
    """Return the tables of tasks by title, and first what they were measured with."""
    processor = machine()["processor"]
    parts = {
        "": f"{processor}, Python {platform.python_version()}, {_versions(bench)}\n"
    }
    with tempfile.TemporaryDirectory(prefix="olscale-comparison-") as folder:
        for task in tasks:
            measured = bench.measure(task, rows_of(task.rows, data, Path(folder)))
            parts[task.title] = f"**{task.title}**\n\n{table(task, measured)}"
            print(parts[task.title], flush=True)
    return parts


def figures_of(page: str) -> dict[str, str]:
    """Return the tables of a page by title, and first what they were measured with."""
    block = page.partition("<!-- figures -->\n")[2].partition("<!-- end -->")[0]
    first, *tables = re.split(r"^(?=\*\*)", block, flags=re.MULTILINE)
    parts = {"": first.rstrip("\n") + "\n"}
    for one in tables:
        parts[one.split("**")[1]] = one.rstrip("\n") + "\n"
    return parts


def rows_of(name: str, data: Path, folder: Path) -> Path:
    """Return the file of rows that all contenders of a task read."""
    if name == "electricity":
        text = (data / "electricity" / "electricity.arff").read_text(encoding="utf-8")
        file = folder / "electricity.arff"
        file.write_text(
            text.replace("day {1,2,3,4,5,6,7}", "day numeric"), encoding="utf-8"
        )
        return file
    times = int(name.partition("-")[2] or 1)
    file = folder / name
    file.write_text(
        (data / "a9a" / "a9a").read_text(encoding="utf-8") * times, encoding="utf-8"
    )
    return file


def table(task: Task, measured: dict[str, Measured | None]) -> str:
    """Return the figures of a task as Markdown."""
    rows = [HEAD, tuple("---" for _ in HEAD)]
    rows += [_row(one, measured[one.name]) for one in task.contenders]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _row(one: Contender, found: Measured | None) -> tuple[str, ...]:
    if found is None:
        return (one.name, f"not measured: needs {one.package}", "", "", "")
    numbers = (found.seconds, found.start, found.ratio)
    return (one.name, f"{found.error:.2f}", *(f"{value:.3g}" for value in numbers))


def _versions(bench: Bench) -> str:
    code = (
        "import importlib.metadata as m, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try: print(name, m.version(name))\n"
        "    except m.PackageNotFoundError: pass"
    )
    command = [bench.python, "-c", code, *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return ", ".join(done.stdout.splitlines()) + "."


if __name__ == "__main__":
    main()
