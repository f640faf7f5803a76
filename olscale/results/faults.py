"""What is said of a store's files that cannot be read."""

from collections.abc import Mapping

from olscale.errors import StoreError

_CURE = "check its permissions and its disk"


def why(fault: BaseException) -> str:
    """Return a fault's message on one line.

    Examples
    --------
    >>> why(PermissionError(13, "Permission denied", "store.json"))
    'Permission denied'
    """
    text = str(fault)
    if isinstance(fault, OSError) and fault.strerror:
        text = fault.strerror
    return " ".join(text.split()) or type(fault).__name__


def is_damage(fault: BaseException) -> bool:
    """Return whether a file itself is at fault, not the way to it, as with a denied permission."""
    # Arrow raises an OSError without a number where the bytes make no sense.
    return not isinstance(fault, OSError) or (
        type(fault) is OSError and fault.errno is None
    )


def unreadable(
    store: str, name: str, fault: BaseException, cure: str = _CURE
) -> StoreError:
    """Return the error that a file of a store, which may be whole, cannot be read."""
    return StoreError(
        f"cannot read {name} of the metrics store {store}: {why(fault)}; {cure}"
    )


def refuse_damage(store: str, damaged: Mapping[str, Exception]) -> None:
    """Raise a `StoreError` for the first of these files, an unreadable one before a damaged one."""
    for name, fault in sorted(damaged.items()):
        if not is_damage(fault):
            cure = f"{_CURE}, or leave it out with on_damage='skip' (--skip-damaged)"
            raise unreadable(store, name, fault, cure) from fault
    if damaged:
        name = min(damaged)
        raise StoreError(
            f"damaged file {name} in the metrics store {store}: {why(damaged[name])}; olscale "
            "compact sets it aside, after which olscale evaluate runs it again; or leave it out "
            "with on_damage='skip' (--skip-damaged)"
        ) from damaged[name]
