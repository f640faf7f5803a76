"""Columns named by folders, such as ``day=mon/part-0.parquet``.

See `olscale.data.formats.constant_columns`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from olscale.data.formats.cells import is_number
from olscale.data.formats.constant_columns import Constant
from olscale.data.ingest.sources import Source

_NO_VALUE = ("", "__HIVE_DEFAULT_PARTITION__")


def folder_columns(path: str) -> dict[str, str | None]:
    """Return the columns that the folders of `path` name, outermost first; None for no value.

    Examples
    --------
    >>> folder_columns("sales/day=mon/shop=a%2Fb/item=__HIVE_DEFAULT_PARTITION__/part-0.parquet")
    {'day': 'mon', 'shop': 'a/b', 'item': None}
    """
    columns: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        name, mark, value = folder.partition("=")
        if name and mark:
            columns[_decoded(name)] = None if value in _NO_VALUE else _decoded(value)
    return columns


def constants_of(files: Iterable[Mapping[str, str | None]]) -> list[tuple[Constant, ...]]:
    """Return the constant columns of each of `files`; numeric if all files have numbers.

    Examples
    --------
    >>> constants_of([{"hour": "07"}, {"hour": None}])  # doctest: +NORMALIZE_WHITESPACE
    [(Constant(name='hour', value='07', text=False),),
     (Constant(name='hour', value=None, text=False),)]
    """
    files = list(files)
    words = {
        name
        for columns in files
        for name, value in columns.items()
        if value is not None and not is_number(value)
    }
    return [
        tuple(Constant(name, value, name in words) for name, value in columns.items())
        for columns in files
    ]


def partition_names(sources: Iterable[Source]) -> tuple[str, ...]:
    """Return the columns named by folders below the common folder of all `sources`."""
    return tuple(dict.fromkeys(name for source in sources for name in folder_columns(source.below)))


def with_partitions(sources: Sequence[Source], names: Collection[str]) -> list[Source]:
    """Return `sources` with those of the columns `names` that their folders name.

    A folder above the named one counts as well, so that a further day, ``days/day=sun``, is read
    like the days before it, ``days``.
    """
    columns = [
        {name: value for name, value in folder_columns(source.place).items() if name in names}
        for source in sources
    ]
    return [
        replace(source, constants=constants)
        for source, constants in zip(sources, constants_of(columns), strict=True)
    ]


def _decoded(word: str) -> str:
    try:
        return unquote(word, errors="strict")
    except UnicodeDecodeError:
        return word  # a percent sign that stands for itself
