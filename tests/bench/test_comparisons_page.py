"""The page of comparisons has the code that is measured, and tables of all tasks."""

import importlib.util
import sys
from pathlib import Path

import pytest

from tests.comparisons.__main__ import PAGE, figures_of, table, with_code
from tests.comparisons.contenders import SNIPPETS, TASKS, Contender
from tests.comparisons.measure import Bench, Measured, error_of

_ROWS = "".join(
    f"{1 - 2 * (n % 3 % 2):+d} {n % 3 + 1}:1 {n % 4 + 4}:0.5\n" for n in range(200)
)


def test_the_page_has_the_code_and_every_contender() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_code(page) == page, "run: python -m tests.comparisons --code"
    snippets = {one.snippet for task in TASKS for one in task.contenders}
    for name in snippets:
        assert f"<!-- {name}" in page
        assert (SNIPPETS / name).exists()
    assert list(figures_of(page)) == ["", *(task.title for task in TASKS)]
    for task in TASKS:
        assert not [
            one.name for one in task.contenders if f"| {one.name} | " not in page
        ]
    assert "not measured" not in page


@pytest.mark.parametrize(
    "output",
    [
        "error 12.50 %",
        "average loss = 0.125",
        "mistake rate = 12.500% (1/8)",
        "learner  rows\npa1   12.50",
    ],
)
def test_errors_are_read(output: str) -> None:
    assert error_of(output) == 12.5
    with pytest.raises(ValueError, match="no error"):
        error_of("Traceback")


def test_a_contender_that_is_not_installed_is_named() -> None:
    task = TASKS[0]
    found: dict[str, Measured | None] = {one.name: None for one in task.contenders}
    found[task.contenders[0].name] = Measured(20.871, 1.0, 0.5, 1.0)
    lines = table(task, found).splitlines()
    assert lines[2] == "| olscale `pa1` | 20.87 | 1 | 0.5 | 1 |"
    assert "not measured: needs river" in lines[3]
    assert not Bench("", "").can(
        Contender("none", "river_pa1.py", needs="no_such_module")
    )
    assert not Bench("", "").can(Contender("LIBOL", "libol_pa1.m", needs=""))


@pytest.mark.long
def test_snippets_of_one_rule_make_the_same_mistakes(tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    rows.write_text(_ROWS)
    bench = Bench(sys.executable, "")
    errors = {}
    for one in TASKS[0].contenders:
        if one.needs in ("olscale", "river", "sklearn") and importlib.util.find_spec(
            one.needs
        ):
            errors[one.name] = error_of(bench.run(one, rows)[0])
    del errors["scikit-learn, 1,000 rows at once"]
    assert max(errors.values()) - min(errors.values()) <= 0.5, errors  # the first row
