"""A column of text of a model codes the cells of frames as it codes those of files."""

from __future__ import annotations

from typing import Any

import pytest

from olscale.data.formats.coding import Hash, Words
from olscale.models.about import ColumnsEntry
from olscale.models.text_column import TextColumn

NAMES = tuple(f"id=#{part}" for part in range(16))
MODEL = ColumnsEntry(
    count=16,
    kind="sparse",
    names=NAMES,
    text=("id",),
    coded={"id": "hash:features=16"},
)


def entries_of(cells: list[Any]) -> tuple[list[int], list[int], list[float]]:
    """Return row, feature and value of what a column makes of `cells`."""
    column = TextColumn("id", MODEL, {name: i for i, name in enumerate(NAMES)})
    row, feature, value = column.entries(cells)
    return row.tolist(), feature.tolist(), value.tolist()


def test_whole_numbers_that_missing_cells_made_floats_are_hashed_as_such() -> None:
    words = entries_of(["7", "123", "", "2.5"])
    assert entries_of([7.0, 123.0, float("nan"), 2.5]) == words
    assert entries_of([7, 123, None, "2.5"]) == words


@pytest.mark.parametrize("coding", [Hash(8), Words(8)])
def test_no_cells_are_no_rows(coding: Hash | Words) -> None:
    coded = coding.encode([])
    assert coded.indptr.tolist() == [0]
    assert len(coded.indices) == len(coded.data) == 0
    assert entries_of([]) == ([], [], [])
