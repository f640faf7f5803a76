"""Sizes in bytes: one parser and one printer for options, experiments and messages."""

import re
from math import isfinite, isnan

_SIZE = re.compile(
    r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*(?:([kmgtp])(i?))?b?\s*"
)
_UNITS = ("", "k", "m", "g", "t", "p")


def parse_size(text: str) -> int:
    """Return the bytes that `text` means: kB, MB ... powers of 1000, KiB, MiB ... of 1024.

    Case does not matter.

    Raises
    ------
    ValueError
        If it is no size.

    Examples
    --------
    >>> parse_size("2GB"), parse_size("512 MiB"), parse_size("1e9"), parse_size("4096")
    (2000000000, 536870912, 1000000000, 4096)
    """
    parts = _SIZE.fullmatch(text.lower())
    try:
        if parts is not None:
            return int(
                float(parts[1])
                * (1024 if parts[3] else 1000) ** _UNITS.index(parts[2] or "")
            )
    except OverflowError:  # of 1e999
        pass
    raise ValueError(f"expected bytes, such as 2GB, 512MiB or 4096, got {text!r}")


def size_text(size: float) -> str:
    """Return a number of bytes with a unit.

    Examples
    --------
    >>> size_text(2_500_000), size_text(800), size_text(36_000)
    ('2.5 MB', '800 B', '36.0 kB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:.0f} B"


def speed_text(rows_per_second: float) -> str:
    """Return a speed for people.

    Examples
    --------
    >>> speed_text(12_345.0)
    '12.3 k rows/s'
    """
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if rows_per_second >= size:
            return f"{rows_per_second / size:.1f} {unit} rows/s"
    return f"{rows_per_second:.0f} rows/s"


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as ``26h``, ``90m`` or ``2d``.

    Raises
    ------
    ValueError
        If it is none.

    Examples
    --------
    >>> parse_duration("26h")
    93600.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", text)
    if match is None:
        raise ValueError("expected a number and a unit of s, m, h or d, such as 26h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]


def left_text(seconds: float) -> str:
    """Return the time left in words.

    Examples
    --------
    >>> left_text(61.0), left_text(float("nan"))
    ('1:01 left', 'time left not known yet')
    """
    if isnan(seconds):
        return "time left not known yet"
    return f"{duration_text(seconds)} left"


def duration_text(seconds: float) -> str:
    """Return a duration in minutes and seconds, or with hours; a dash if it is unknown.

    Examples
    --------
    >>> duration_text(61.0), duration_text(3601.0), duration_text(float("nan"))
    ('1:01', '1:00:01', '-')
    """
    if not isfinite(seconds):
        return "-"
    minutes, seconds_left = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60}:{minutes % 60:02}:{seconds_left:02}"
    return f"{minutes}:{seconds_left:02}"
