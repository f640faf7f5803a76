"""The figures of the grand comparison for one learner, read from the tables of its page.

``make grand-page`` writes these tables from the store of results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median

from docs.site.docstrings import table
from docs.site.repository import ROOT

PAGE = "docs/grand-comparison.md"
TUNED = " (tuned)"
_MEAN_RANK = "mean rank"
_COSTS = ("Rows per second", "Rows per processor second", "Model bytes")
_PEERS = "## Beside MOA, River and Vowpal Wabbit"
_NUMBER = re.compile(r"-?[\d,]*\.?\d+(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Figures:
    """The figures of one table: rows by learner, then columns by data set, as they are printed."""

    title: str
    sets: tuple[str, ...]
    rows: Mapping[str, Mapping[str, str]]

    def names(self, learner: str) -> list[str]:
        """Return the rows of a learner: at its defaults, then tuned."""
        return [name for name in (learner, learner + TUNED) if name in self.rows]

    def ranks(self, name: str) -> dict[str, float]:
        """Return the ranks of a row on each set that has a figure for it; ties share their mean."""
        return {
            one: _rank(self.values(one), name)
            for one in self.sets
            if name in self.values(one)
        }

    def values(self, one: str) -> dict[str, float]:
        """Return the figures of a set by row, without rows that have none."""
        numbers = {name: number(cells[one]) for name, cells in self.rows.items()}
        return {name: value for name, value in numbers.items() if value is not None}


def number(cell: str) -> float | None:
    """Return the number that a cell begins with, None if it has none.

    Examples
    --------
    >>> number("**1,370.5 ± 20**^"), number("diverged")
    (1370.5, None)
    """
    match = _NUMBER.match(cell.lstrip("*"))
    return float(match[0].replace(",", "")) if match else None


def tables_of(text: str) -> Iterator[Figures]:
    r"""Yield the tables of figures of a page whose rows are learners and columns data sets.

    Examples
    --------
    >>> rows = "|  | iris |\n| --- | --- |\n| pa | **3**^ |\n| arow | 4 |\n"
    >>> page = f"### Error (%), permuted order\n\n{rows}"
    >>> [found] = tables_of(page)
    >>> found.title, found.sets, found.ranks("arow")
    ('Error (%)', ('iris',), {'iris': 2.0})
    """
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        # The order of the rows tells tables apart, the permuted one goes without saying.
        title = part.partition("\n")[0].partition(", permuted")[0]
        if title.startswith("Pairs"):
            continue
        head, _, *lines = (
            [cell.strip() for cell in line.strip("|").split(" | ")]
            for line in part.splitlines()
            if line.startswith("|")
        )
        columns = [name for name in head[1:] if name]
        rows = {name: dict(zip(columns, cells, strict=True)) for name, *cells in lines}
        sets = tuple(name for name in columns if name != _MEAN_RANK)
        yield Figures(title, sets, rows)


@cache
def grand_tables() -> tuple[Figures, ...]:
    """Return the tables of the page of the grand comparison, without those beside others' learners.

    These have fewer runs of the same settings.
    """
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    before, _, behind = text.partition(f"\n{_PEERS}\n")
    _, heading, further = behind.partition("\n## ")
    return tuple(tables_of(before + heading + further))


def figures_of(learner: str) -> str:
    """Return the section with the figures of a learner, empty for one that is not compared."""
    found = [one for one in grand_tables() if one.names(learner)]
    costs = [one for one in found if one.title.startswith(_COSTS)]
    errors = [one for one in found if one not in costs and _has_ranks(one, learner)]
    if not errors:
        return ""
    summary = [
        *(row for one in errors for row in _summary(one, learner)),
        *(row for one in costs for row in _by_set(one, learner)),
    ]
    parts = [
        "## Figures",
        "From the [grand comparison](../grand-comparison.md), with its marks: `^` looks ahead. "
        "Ranks are among all learners there, at their defaults and tuned; the least error has "
        "rank 1.",
        table(("", "Defaults", "Tuned"), summary),
    ]
    parts += [_errors(one, learner) for one in errors if len(one.sets) > 1]
    return "\n\n".join(parts)


def _summary(one: Figures, learner: str) -> Iterator[tuple[str, ...]]:
    names = one.names(learner)
    what = one.title.removeprefix("Ranks by ")
    if len(one.sets) == 1:
        rank = {name: one.ranks(name).get(one.sets[0]) for name in names}
        yield _row(
            f"{_capital(what)}, {one.sets[0]}", names, _plain(one, one.sets[0], names)
        )
        of = f"Rank of {len(one.values(one.sets[0]))}"
        yield _row(of, names, {name: _rank_cell(rank[name]) for name in names})
        return
    mean = {name: one.rows[name][_MEAN_RANK].strip("*~") for name in names}
    yield _row(
        f"Mean rank of {len(one.rows)} by {what}, {len(one.sets)} sets", names, mean
    )
    values = {
        name: [one.values(key)[name] for key in one.ranks(name)] for name in names
    }
    middle = {name: f"{median(values[name]):.2f}" for name in names}
    yield _row(f"Median {what}", names, middle)


def _by_set(one: Figures, learner: str) -> Iterator[tuple[str, ...]]:
    names = one.names(learner)
    for key in one.sets:
        yield _row(f"{one.title}, {key}", names, _plain(one, key, names))


def _errors(one: Figures, learner: str) -> str:
    names = one.names(learner)
    head = [one.title.removeprefix("Ranks by ").capitalize()]
    head += [title for name in names for title in (_column(name), "Rank")]
    ranks = {name: one.ranks(name) for name in names}
    rows = [
        (
            key,
            *(
                cell
                for name in names
                for cell in (
                    _plain(one, key, names)[name],
                    _rank_cell(ranks[name].get(key)),
                )
            ),
        )
        for key in one.sets
    ]
    return table(tuple(head), rows)


def _has_ranks(one: Figures, learner: str) -> bool:
    return any(one.ranks(name) for name in one.names(learner))


def _column(name: str) -> str:
    return "Tuned" if name.endswith(TUNED) else "Defaults"


def _plain(one: Figures, key: str, names: list[str]) -> dict[str, str]:
    return {name: one.rows[name][key].replace("**", "") for name in names}


def _row(what: str, names: list[str], cells: Mapping[str, str]) -> tuple[str, ...]:
    by_column = {_column(name): cells[name] for name in names}
    return (what, by_column.get("Defaults", ""), by_column.get("Tuned", ""))


def _rank_cell(rank: float | None) -> str:
    return "" if rank is None else f"{rank:g}"


def _rank(values: Mapping[str, float], name: str) -> float:
    mine = values[name]
    below = sum(value < mine for value in values.values())
    equal = sum(value == mine for value in values.values())
    return below + (equal + 1) / 2


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
