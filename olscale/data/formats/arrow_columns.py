"""The columns of an Arrow table as cells: numbers, words, dates, and which of them hold text."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.data.formats.arrow_decimals import decimals_as_floats
from olscale.data.formats.cells import Cell
from olscale.data.formats.date_coding import ADVISED
from olscale.data.formats.table_columns import TableColumns, listed_columns
from olscale.errors import FormatError

# From here on float64 does not represent every whole number.
_SAME_WHOLE = 2.0**53

# Largest number of characters of a column's type in errors: a struct lists all its fields.
_LONGEST_TYPE = 40


def text_fields(
    source: str,
    fields: Sequence[Any],
    names: Sequence[str],
    before: TableColumns | None,
    dated: frozenset[str] = frozenset(),
) -> tuple[bool, ...]:
    """Return which columns hold text; the others hold numbers.

    Parameters
    ----------
    source : str
        Named in errors.
    fields : sequence of pyarrow.Field or None
        The columns; None for those that are not read.
    names : sequence of str
        Their names.
    before : TableColumns, optional
        Columns of an earlier source. A column without any value is text where it was text there.
    dated : frozenset of str
        Columns that are encoded as dates, and may hold these in place of text.

    Raises
    ------
    FormatError
        When columns hold neither: names them all.
    """
    from pyarrow import types

    read = [
        (name, field)
        for name, field in zip(names, fields, strict=True)
        if field is not None
    ]
    refused = {
        name: field.type
        for name, field in read
        if not (_is_read(field.type) or (name in dated and _is_time(field.type)))
    }
    if refused:
        raise FormatError(source, _refusal(refused))
    texts = {
        name for name, field in read if holds_words(field.type) or _is_time(field.type)
    }
    if before is not None:
        texts_before = {
            name for name, text in zip(before.names, before.text, strict=True) if text
        }
        texts |= {
            name for name, field in read if types.is_null(field.type)
        } & texts_before
    return tuple(name in texts for name in names)


def refuse_truth_after_text(
    source: str, fields: Mapping[str, Any], before: TableColumns | None
) -> None:
    """Refuse truth values where the source `before` has text, such as the words true and false.

    Parameters
    ----------
    source : str
        Named in errors.
    fields : mapping of str to (pyarrow.Field or None)
        The features that have one feature a value, by name; None for those that are not read.
    before : TableColumns, optional
    """
    from pyarrow import types

    if before is None or before.truth_in_text:
        return
    was_text = dict(zip(before.names, before.text, strict=True))
    for name, field in fields.items():
        if field is None or not was_text.get(name, False):
            continue
        if types.is_boolean(_value_type(field.type)):
            raise FormatError(
                source,
                f"column {name!r} is true or false, expected text as in the source before; write "
                "both as text, or both as truth values",
            )


def declared_categories(metadata: Mapping[bytes, bytes]) -> frozenset[str]:
    """Return the columns that Arrow or pandas declared as categories.

    Parquet itself does not record that for numbers.
    """
    import pyarrow

    names: set[str] = set()
    try:
        arrow = pyarrow.BufferReader(base64.b64decode(metadata[b"ARROW:schema"]))
        schema = pyarrow.ipc.read_schema(arrow)
        names.update(
            field.name for field in schema if pyarrow.types.is_dictionary(field.type)
        )
    except (LookupError, ValueError, OSError, pyarrow.ArrowException):
        # from another writer
        pass
    try:
        columns = json.loads(metadata[b"pandas"])["columns"]
        names.update(
            str(column["field_name"])
            for column in columns
            if column["pandas_type"] == "categorical"
        )
    except (LookupError, ValueError, TypeError):
        # not written by pandas, or by an unknown version
        pass
    return frozenset(names)


def text_cells(column: Any) -> Sequence[Cell]:
    """Return the cells of a column as words, None where there is no value."""
    from pyarrow import types

    column = _stored(column)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _is_time(column.type):
        return _iso_cells(column)
    cells: Sequence[Cell] = column.to_pylist()
    if holds_words(column.type) or types.is_null(column.type):
        return cells
    return [_word(cell) for cell in cells]


def _iso_cells(column: Any) -> list[Cell]:
    """Return dates and times as ISO 8601 writes them, to the microsecond."""
    import pyarrow

    if pyarrow.types.is_timestamp(column.type):
        # Python's times have no nanoseconds, which are cut off.
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    return [None if cell is None else cell.isoformat() for cell in column.to_pylist()]


def _is_time(type: Any) -> bool:
    """Return whether a column of a type holds dates, with or without the time of the day."""
    from pyarrow import types

    return bool(types.is_timestamp(type) or types.is_date(type))


def _word(value: Any) -> Cell:
    """Return a value of a numeric column as the name of a category; 7.0 becomes 7."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAME_WHOLE:
        return str(int(value))
    return str(value)


def number_cells(column: Any) -> NDArray[np.float64]:
    """Return the cells of a column of numbers, NaN where there is no value."""
    import pyarrow

    column = _stored(column)
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pyarrow.types.is_decimal(column.type):
        return decimals_as_floats(column)
    if pyarrow.types.is_boolean(column.type):
        column = column.cast("uint8")
    # Whole numbers beyond 2^53, as in identifiers, are rounded as they are in text.
    safe = not pyarrow.types.is_integer(column.type)
    floats = column.cast(pyarrow.float64(), safe=safe).to_numpy(zero_copy_only=False)
    return np.asarray(floats, dtype=np.float64)


def _is_read(type: Any) -> bool:
    return holds_words(type) or _is_number(_value_type(type))


def holds_words(type: Any) -> bool:
    """Return whether a column of a type holds text, also as a dictionary or an extension."""
    from pyarrow import types

    value = _value_type(type)
    is_text = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_kind(value) for is_kind in is_text)


def _is_number(value: Any) -> bool:
    from pyarrow import types

    is_number = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    return any(is_kind(value) for is_kind in is_number)


def _value_type(type: Any) -> Any:
    """Return the type of the values of a dictionary, or the storage type of an extension."""
    from pyarrow import BaseExtensionType, types

    if isinstance(type, BaseExtensionType):
        type = type.storage_type
    if types.is_dictionary(type):
        return type.value_type
    return type


def _stored(column: Any) -> Any:
    """Return the storage of an array of an extension type; any other array unchanged."""
    from pyarrow import ExtensionArray

    if isinstance(column, ExtensionArray):
        return column.storage
    return column


def _refusal(refused: dict[str, Any]) -> str:
    kinds = {name: _short(str(type)) for name, type in refused.items()}
    pronoun = "them"
    if len(kinds) == 1:
        pronoun = "it"
    times = [name for name, type in refused.items() if _is_time(type)]
    cure = (
        f"leave {pronoun} out with --drop {listed_columns(kinds)}, or cast {pronoun} to numbers or "
        "text"
    )
    if times:
        cure = f"{cure}; --encode {times[0]}=date:{ADVISED} makes features of dates"
    if len(kinds) == 1:
        ((name, kind),) = kinds.items()
        return f"column {name!r} is {kind}, expected numbers or text; {cure}"
    columns = ", ".join(f"{name!r} ({kind})" for name, kind in kinds.items())
    return f"columns {columns} hold neither numbers nor text; {cure}"


def _short(type: str) -> str:
    if len(type) <= _LONGEST_TYPE:
        return type
    return f"{type[: _LONGEST_TYPE - 3]}..."


def codes_of(coded: Any) -> NDArray[np.int32]:
    """Return the dictionary entry of each item of an encoded array without missing items.

    Arrow's ``to_numpy`` imports pandas if it is installed, which takes longer than reading 30 MB of
    text.
    """
    items = coded.indices
    return np.frombuffer(
        items.buffers()[1],
        dtype=np.int32,
        count=len(items),
        offset=4 * items.offset,
    )
