"""What a coding is: a rule from the cells of a column to features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from olscale.compiled.csr import CSR
from olscale.data.formats.cells import Cell
from olscale.errors import OlscaleError


class CodingError(OlscaleError):
    """A cell that has no code: the cell and what was expected, with its column once known."""

    def __init__(self, *parts: str) -> None:
        super().__init__(", expected ".join(parts))
        self.parts = parts


class Coding(ABC):
    """A rule that turns each cell of a column into features.

    Attributes
    ----------
    name : str
        Name in `CODINGS`.
    parts : sequence of str
        Names of the features, within the column.
    in_order : bool
        Whether features also depend on the cells of earlier rows; otherwise on the cell alone.
    """

    name: ClassVar[str]
    parts: Sequence[str]
    in_order: bool = False

    def __str__(self) -> str:
        return self.name

    @abstractmethod
    def encode(self, cells: Sequence[Cell]) -> CSR:
        """Return a row per cell, empty for None; raise `CodingError` for a cell without a code.

        If the coding is `in_order`, the cells are those of the next rows.
        """

    def begin(self) -> Coding:
        """Return the coding before the first row of a table."""
        return self
