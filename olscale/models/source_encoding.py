"""Whether a source was encoded as the one that a model learned from.

A source of another index base or coding has features of another meaning under the same numbers or
names: predictions would be wrong without an error.
"""

from collections.abc import Container, Mapping, Sequence, Set

from olscale.data.formats.coding import OTHER
from olscale.data.formats.spellings import other_spellings
from olscale.errors import ModelError
from olscale.models.about import ColumnsEntry


def check_index_base(
    model: ColumnsEntry, source: str, base: int | None, zero_based: bool | None
) -> None:
    """Refuse SVMlight text with another index base: its features are off by one."""
    learned = model.index_base
    requested = None if zero_based is None else int(not zero_based)
    if requested is not None and requested != base:
        raise ModelError(
            f"the indices of {source} count from {'no text' if base is None else base}, "
            f"not from {requested}; leave "
            "--index-base out, or ingest its sources anew with it"
        )
    if requested is None and None not in (base, learned) and base != learned:
        raise ModelError(
            f"{source} was ingested as text whose indices count from {base}, the model "
            "learned from text that "
            f"counts from {learned}; if both are right give --index-base {base}, else ingest "
            "it anew with --index-base "
            f"{learned}"
        )


def check_codings(model: ColumnsEntry, source: str, codings: Mapping[str, str]) -> None:
    """Refuse text with another encoding than the model's: features would change meaning."""
    for column in model.text:
        coding = codings.get(column)
        learned = model.coded.get(column)
        # An empty coding stands for one that the manifests of early datasets did not
        # record.
        if learned == "":
            raise ModelError(
                f"the model learned from column {column!r} by a coding of --encode that its "
                "dataset did not keep: "
                f"{source} cannot be encoded alike; ingest that dataset anew, and save a "
                "model of it"
            )
        if coding != learned:
            was, expected = (
                "one feature a value" if how is None else how or "not kept"
                for how in (coding, learned)
            )
            cure = (
                f"with --encode {column}={learned}"
                if learned
                else f"without --encode {column}=..."
            )
            raise ModelError(
                f"the coding of column {column!r} of {source} is {was}, expected {expected}, "
                f"as the model learned it; ingest it anew {cure}"
            )


def check_values(model: ColumnsEntry, source: str, names: Set[str]) -> None:
    """Refuse a dataset whose `OTHER` may hide values that the model distinguishes."""
    for column in model.bounded:
        lost = [
            value
            for value in model.values(column)
            if not any(
                f"{column}={word}" in names for word in (value, *other_spellings(value))
            )
        ]
        # A lost value was counted as `OTHER` at ingest, and cannot be recovered from the
        # features.
        if lost and f"{column}={OTHER}" in names:
            raise ModelError(
                f"column {column!r} of {source} has {listed_names(lost)} among its other "
                "values, where the model has a "
                "feature for each; predict the table that the dataset was made of"
            )


def column_of(feature: str, tables: Sequence[str]) -> str:
    """Return the column that a feature is, or is a value of."""
    if feature in tables:
        return feature
    return next((name for name in tables if feature.startswith(f"{name}=")), feature)


def spelled_feature(
    feature: str, columns: Sequence[str], known: Container[str]
) -> str | None:
    """Return the feature of the same value of a text column that is known, None if none is."""
    if feature in known:
        return feature
    column = column_of(feature, columns)
    others = other_spellings(feature.removeprefix(f"{column}="))
    spelled = (f"{column}={word}" for word in others if column != feature)
    return next((name for name in spelled if name in known), None)


def listed_names(names: Sequence[str]) -> str:
    """Return names for an error: at most five, and how many more there are."""
    return ", ".join(map(repr, names[:5])) + (
        f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    )
