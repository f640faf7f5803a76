"""Files of any look hold the cells that they should: by liac-arff, where it reads them, and by Weka's rules elsewhere.

What liac-arff refuses and Weka reads: comments behind cells and declarations, white space between
cells, a comma behind the last, declarations over several lines, names that touch their type, and
declared values that begin with a blank where the name has quotes too. What it reads otherwise than
Weka: it cuts fractions off where ``integer`` is declared, and a string that a sparse row leaves out
is the word ``0``. The files for it have none of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import arff
import pytest

from olscale.compiled.csr import CSR, entries_of
from olscale.data.formats import ReadOptions, find_format
from olscale.data.formats.base import Batch
from tests.data.formats.arff.writer import Column, File, make_file
from tests.fuzz.tables import outcome

Cells = list[float | str | None]


def rows_of(batches: Sequence[Batch], columns: Sequence[Column]) -> Iterator[Cells]:
    """Yield the cells of each row, as the features and the label tell them; the label is the last column."""
    features = columns[:-1]
    for batch in batches:
        assert batch.feature_names is not None
        if isinstance(batch.X, CSR):
            several = [
                dict(zip(indices, values, strict=True))
                for indices, values in entries_of(batch.X)
            ]
        else:
            several = [dict(enumerate(row)) for row in batch.X.tolist()]
        places = {name: place for place, name in enumerate(batch.feature_names)}
        text = {
            column.name: f"{column.name}="
            for column in features
            if column.name not in places
        }
        for entries, target in zip(several, batch.target, strict=True):
            values = {
                column: [
                    name[len(start) :]
                    for name, place in places.items()
                    if name.startswith(start) and place in entries
                ]
                for column, start in text.items()
            }
            row: Cells = []
            for column in features:
                number = entries.get(places.get(column.name, -1), 0.0)
                if column.kind == "numeric":
                    row.append(number)
                elif column.name in places:  # a flag in sparse rows
                    row.append({0.0: "0", 1.0: "1"}.get(number))
                else:
                    assert len(values[column.name]) < 2
                    row += values[column.name] or [None]
            yield [*row, target if isinstance(target, str) else float(target)]


def expected(file: File) -> list[Cells]:
    """Return the cells as `rows_of` has them: a missing number is NaN, digits of a label are numbers."""
    label = file.columns[-1]
    digits = bool(label.values) and all(_is_number(value) for value in label.values)
    found = []
    for row in file.rows:
        cells: Cells = [
            float("nan") if cell is None and column.kind == "numeric" else cell
            for column, cell in zip(file.columns[:-1], row[:-1], strict=True)
        ]
        found.append([*cells, float(str(row[-1])) if digits else row[-1]])
    return found


def _is_number(value: str) -> bool:
    try:
        return abs(float(value)) < float("inf")
    except ValueError:
        return False


def read(path: Path, file: File) -> list[Cells]:
    path.write_bytes(file.text.encode())
    batches = [*find_format(str(path)).read(str(path), ReadOptions(chunk_rows=5))]
    declared = {"numeric": True, "nominal": False}
    assert {batch.regression for batch in batches} == {
        declared.get(file.columns[-1].kind)
    }
    return [*rows_of(batches, file.columns)]


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_500_files_hold_what_they_should(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 100):
        file = make_file(seed, by_liac=seed % 2 == 0)
        assert repr(read(tmp_path / "t.arff", file)) == repr(expected(file)), (
            f"seed {seed}:\n{file.text}"
        )


def test_liac_reads_the_same() -> None:
    for seed in range(0, 500, 2):
        file = make_file(seed, by_liac=True)
        assert arff.loads(file.text)["data"] == file.rows, f"seed {seed}:\n{file.text}"


@pytest.mark.parametrize("block_bytes", [16, 200, 1 << 20])
def test_the_loop_reads_the_same(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "t.arff"
    for seed in range(0, 120):
        path.write_bytes(make_file(seed, by_liac=False).text.encode())
        exact = outcome(path, "arff", ReadOptions(chunk_rows=5))
        assert outcome(path, "arff", ReadOptions(chunk_rows=5), block_bytes) == exact, (
            f"seed {seed}"
        )
