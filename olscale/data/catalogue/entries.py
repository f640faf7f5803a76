"""The catalogue: public data sets by name, with addresses, checksums and ingest options.

The entries are in ``catalogue.toml`` next to this file, one table per set; to add a set, add a
table. `olscale.data.catalogue.fetch` downloads the files and makes datasets of them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from olscale.errors import UnknownNameError

_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CatalogueFile(_Entry):
    """A file of a data set.

    Attributes
    ----------
    path : str
        Where it lies in a mirror: ``<set>/<file>``.
    role : {"train", "test", "beside"}
        The split it belongs to; ``"beside"`` for a file that a format finds next to another, such
        as a file of labels.
    url : str, optional
        Public address.
    sha256 : tuple of str
        Checksums of the known copies, in hexadecimal digits.
    published : bool
        Whether the file at `url` is known to be one of these copies.
    size : int, optional
        Bytes of the first known copy.
    """

    path: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    role: Literal["train", "test", "beside"]
    url: str | None = None
    sha256: tuple[_Sha256, ...] = ()
    published: bool = False
    size: Annotated[int, Field(ge=1)] | None = None


class CatalogueEntry(_Entry):
    """A public data set.

    Attributes
    ----------
    name : str
        Name in the catalogue, in experiments and of the dataset.
    title, what, page : str
        Its name in full, what its rows are, and the page that describes it (empty for a generated
        set).
    rows : dict
        Rows of each split, once ingested.
    columns, classes : int
        Features and classes, once ingested; no classes in a regression.
    split : str, optional
        The rule by which papers separate train and test rows.
    notes, papers : tuple of str
        What to know before evaluating on it, and the published tables that report on it.
    options : dict
        What `olscale.data.ingest.ingest.ingest` is given besides the files.
    files : tuple of CatalogueFile
        In the order of their rows.
    mirror_only : str, optional
        Why the public files cannot be taken as they are.
    absent : str, optional
        Why there is no public address.
    bundled : str, optional
        In place of files: the source of rows that come with a package, such as ``sklearn:digits``.
    generated : dict
        In place of files: ``generator``, its name, and what `olscale.data.generators.generate` is
        given besides it.
    """

    name: str
    title: str
    what: str
    page: str = ""
    rows: dict[Literal["train", "test"], int]
    columns: int
    classes: int
    split: str | None = None
    notes: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    files: tuple[CatalogueFile, ...] = ()
    mirror_only: str | None = None
    absent: str | None = None
    bundled: str | None = None
    generated: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _obtainable_or_explained(self) -> CatalogueEntry:
        sources = (self.files, self.absent is not None, self.bundled, self.generated)
        if [bool(way) for way in sources].count(True) != 1:
            raise ValueError(
                "expected one of files, a package's rows, a generator and the reason why it is "
                "absent"
            )
        if not self.page and not self.generated:
            raise ValueError("expected a page that describes it")
        if any(file.url is None for file in self.files) != (
            self.mirror_only is not None
        ):
            raise ValueError(
                "expected a url of every file, or the reason why a mirror is needed"
            )
        return self


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Return the entries by name, in the order of the file.

    Examples
    --------
    >>> letter = catalogue()["letter"]
    >>> letter.rows, letter.columns, letter.classes
    ({'train': 15000, 'test': 5000}, 16, 26)
    """
    content = tomllib.loads(
        # Found in a wheel, too, wherever that is installed.
        files("olscale.data.catalogue")
        .joinpath("catalogue.toml")
        .read_text(encoding="utf-8")
    )
    return {
        name: CatalogueEntry.model_validate({"name": name, **entry})
        for name, entry in content.items()
    }


def find_entry(name: str) -> CatalogueEntry:
    """Return the entry called `name`.

    Raises
    ------
    UnknownNameError
        If there is none; the message offers the nearest name.

    Examples
    --------
    >>> find_entry("lettre")
    Traceback (most recent call last):
    ...
    olscale.errors.UnknownNameError: unknown data set 'lettre'; did you mean 'letter'? ...
    """
    try:
        return catalogue()[name]
    except KeyError:
        raise UnknownNameError("data set", name, catalogue()) from None


def seeded_name(name: str, seed: int | None) -> str:
    """Return what the data set `name` is called with a seed in place of the catalogue's.

    Examples
    --------
    >>> seeded_name("sea-drift", 7)
    'sea-drift-seed-7'
    """
    if seed is None:
        return name
    return f"{name}-seed-{seed}"
