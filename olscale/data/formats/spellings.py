"""Words of one value: a whole number with a point and without, and truth values.

pandas writes a column of ids as ``7.0`` where one of them is missing and as ``7`` where none is;
truth values are ``True`` in its files, ``TRUE`` in those of R, and ``true`` elsewhere.
"""

import re
from collections.abc import Container, Iterator

from olscale.data.formats.cells import Cell

# A number that begins with a zero, such as 007, is a name.
_WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.0+)?")

TRUTH_WORDS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
"""How files write false and true."""

_TRUTHS = {word: pair.index(word) for pair in TRUTH_WORDS for word in pair}


def is_truth_word(word: str) -> bool:
    """Return whether a file may write a truth value so."""
    return word in _TRUTHS


def canonical_word(word: str) -> str:
    """Return the one spelling of a value that is hashed: ``7`` for 7.0, ``true`` for True.

    Examples
    --------
    >>> [canonical_word(word) for word in ("7.0", "7", "007", "7.5", "TRUE", "red")]
    ['7', '7', '007', '7.5', 'true', 'red']
    """
    if word in _TRUTHS:
        return TRUTH_WORDS[0][_TRUTHS[word]]
    number = _WHOLE_NUMBER.fullmatch(word)
    if number is None:
        return word
    return number[1]


def other_spellings(word: str) -> Iterator[str]:
    """Yield the other words of the same value.

    Examples
    --------
    >>> [list(other_spellings(word)) for word in ("7.0", "7", "True", "red")]
    [['7'], ['7.0'], ['true', 'TRUE'], []]
    """
    if word in _TRUTHS:
        words = [pair[_TRUTHS[word]] for pair in TRUTH_WORDS]
        yield from (other for other in words if other != word)
        return
    number = _WHOLE_NUMBER.fullmatch(word)
    if number is None:
        return
    yield from (other for other in (number[1], f"{number[1]}.0") if other != word)


def spelled_as_in(word: str, words: Container[str]) -> Cell:
    """Return `word`, or another one of its value, as it is among `words`; None where none is.

    Examples
    --------
    >>> spelled_as_in("True", {"true", "false"}), spelled_as_in("red", {"true"})
    ('true', None)
    """
    if word in words:
        return word
    return next((other for other in other_spellings(word) if other in words), None)
