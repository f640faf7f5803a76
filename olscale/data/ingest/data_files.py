"""Which files of a folder or an archive are data, and which are for people and programs.

Nothing is left out silently: skipped files are reported, and if it is ambiguous which files belong
together they are refused, with the words that select them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from io import BufferedReader
from pathlib import PurePosixPath

from olscale.data.formats import FORMATS, find_format
from olscale.data.formats.compression import strip_compression
from olscale.errors import FormatError

_ARCHIVES = (".tar", ".tgz", ".tbz2", ".txz", ".zip")
_NEVER_DATA = re.compile(r"(readme|licen[cs]e|copying|featuretypes)", re.IGNORECASE)
_NOTE_NAMES = re.compile(
    r"(authors|changelog|changes|checksums?|citation|contributors|copyright|index|makefile|manifest"
    r"|md5sums?|notice|sha\d*sums?)(?![a-z])",
    re.IGNORECASE,
)
_CHECKS = ".crc .md5 .sha1 .sha256 .sha512 .sig .lock .log"
_TEXTS = ".md .rst .html .htm .tex .bib .names .pdf .ps .doc .docx .odt .rtf"
_PICTURES = ".gif .jpg .jpeg .png .svg"
_PROGRAMS = ".cfg .css .ini .ipynb .js .py .r .sh .toml .xml .yaml .yml"
_NOTE_SUFFIXES = frozenset(f"{_CHECKS} {_TEXTS} {_PICTURES} {_PROGRAMS}".split())
_TRAIN = re.compile(r"(?<![a-z])(train(ing)?|trn|tra)(set)?s?\d*(?![a-z])")
_TEST = re.compile(
    r"(?<![a-z])(test(ing)?|tst|tes|t10k|valid(ation)?|val|dev|eval|holdout)"
    r"(set)?s?\d*(?![a-z])"
)
_MOST_NAMES = 5


@cache
def _formats() -> dict[str, str]:
    """Return the format that each ending of file names identifies."""
    formats = {
        suffix: format.name
        for format in FORMATS.load_all()
        for suffix in format.suffixes
    }
    return formats | dict.fromkeys(_ARCHIVES, "archive")


def suffix_of(path: str) -> str:
    """Return the ending of a file name, before that of a compression, if any.

    Examples
    --------
    >>> suffix_of("days/Day0.SVM.gz"), suffix_of("a9a")
    ('.svm', '')
    """
    return PurePosixPath(strip_compression(path)).suffix.lower()


def tells_format(path: str) -> bool:
    """Return whether the ending of a file name identifies its format."""
    return suffix_of(path) in _formats()


def is_note(path: str) -> bool:
    """Return whether a file is no data, by its name or that of a folder it is in.

    Examples
    --------
    >>> [is_note(path) for path in ("README.md", "_SUCCESS", "_delta_log/0.json", "day=1/a.csv")]
    [True, True, True, False]
    """
    *folders, name = path.split("/")
    if any(map(_is_hidden, folders)):
        return True
    if name.startswith(".") or _NEVER_DATA.match(name):
        return True
    if tells_format(name):
        return False
    if name.startswith("_") or suffix_of(name) in _NOTE_SUFFIXES:
        return True
    return _NOTE_NAMES.match(name) is not None


def _is_hidden(folder: str) -> bool:
    """Return whether a folder is a program's own; ``_day=mon`` is a column of the table."""
    return (
        folder.startswith((".", "_"))
        and folder not in (".", "..")
        and "=" not in folder
    )


def data_among(paths: Iterable[str], holds_data: Callable[[str], bool]) -> list[str]:
    """Return those of `paths` that are data.

    If they are of several kinds, a file whose name does not identify its format must look like
    data: `holds_data` opens it.
    """
    candidates = [path for path in paths if not is_note(path)]
    # Files of one kind belong together, whatever their ending says.
    if len({kind_of(path) for path in candidates}) < 2:
        return candidates
    return [path for path in candidates if tells_format(path) or holds_data(path)]


def looks_like_rows(path: str, content: BufferedReader) -> bool:
    """Return whether a file looks like any format; the position of `content` does not change.

    Raises
    ------
    FormatError
        When it is damaged.
    """
    # Here, where an error of reading is raised: below it would look like a file without rows.
    content.peek(1)
    try:
        find_format(path, None, content)
    except FormatError:
        return False
    return True


def kind_of(path: str) -> str:
    """Return the kind of a file: the format that its ending identifies, else the ending."""
    suffix = suffix_of(path)
    return _formats().get(suffix, suffix)


def has_role(path: str) -> bool:
    """Return whether a name says that a file is for training or testing."""
    return _role(path) is not None


def conflict(
    paths: Sequence[str], pattern: Callable[[Sequence[str]], str]
) -> str | None:
    """Return what is wrong if data files do not belong together, and what to write.

    Parameters
    ----------
    paths : sequence of str
    pattern : callable
        Returns the words with which a user selects some of them.
    """
    train, test = _training_and_test(paths)
    if train and test:
        return (
            f"holds files to train and to test with ({train[0]}, {test[0]}); name them apart: "
            f"{pattern(train)} --test {pattern(test)}"
        )
    kinds: dict[str, list[str]] = {}
    for path in paths:
        kinds.setdefault(kind_of(path), []).append(path)
    if len(kinds) < 2:
        return None
    endings = ", ".join(
        sorted({suffix_of(path) or path for path in paths})[:_MOST_NAMES]
    )
    # Most files of a known kind are the likeliest wish.
    most = max(kinds.values(), key=lambda group: (tells_format(group[0]), len(group)))
    return (
        f"holds files of different kinds ({endings}); name the data files with a pattern such "
        f"as {pattern(most)}"
    )


def pattern_of(
    group: Sequence[str], matches: Callable[[str], Iterable[str]]
) -> str | None:
    """Return a pattern that matches the files of `group` and no others, or None."""
    names = [PurePosixPath(path).name for path in group]
    start = _common_start(group)
    end = _common_start([name[::-1] for name in names])[::-1]
    ending = end[end.find(".") :] if "." in end else end
    folder = start.rpartition("/")[0]
    patterns = [
        f"*{ending}",
        f"{folder}/*" if folder else "*",
        f"**/*{ending}",
        f"{start}*{ending}",
    ]
    if len(group) == 1:
        patterns.insert(0, group[0])
    return next(
        (pattern for pattern in patterns if set(matches(pattern)) == set(group)), None
    )


def _common_start(words: Sequence[str]) -> str:
    start = words[0]
    for word in words:
        while not word.startswith(start):
            start = start[:-1]
    return start


def listed(names: Sequence[str]) -> str:
    """Return the first of `names`, and the number of the rest."""
    more = ""
    if len(names) > _MOST_NAMES:
        more = f" and {len(names) - _MOST_NAMES:,} more"
    return ", ".join(names[:_MOST_NAMES]) + more


def passed_over_note(where: str, names: Sequence[str]) -> str:
    """Return the line that says which files of a folder or archive were not read."""
    return f"{where}: passed over as no data: {listed(names)}"


def _role(path: str) -> tuple[str, str] | None:
    """Return whether a file is for training or testing, and its name without that word."""
    *folders, name = strip_compression(path).lower().split("/")
    if suffix_of(name) == ".t":
        return "test", name.removesuffix(".t")
    train = _TRAIN.search(name)
    test = _TEST.search(name)
    word = train or test
    # A name with both words, such as train_test.csv, says neither.
    if word is not None and not (train and test):
        remainder = name[: word.start()].rstrip("._- ") + name[word.end() :]
        return "train" if train else "test", remainder.lstrip("._- ")
    for folder in folders:
        if _TRAIN.fullmatch(folder):
            return "train", name
        if _TEST.fullmatch(folder):
            return "test", name
    return None


def _training_and_test(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    roles = {path: _role(path) for path in paths}
    train = [
        path for path, role in roles.items() if role is not None and role[0] == "train"
    ]
    test = [
        path for path, role in roles.items() if role is not None and role[0] == "test"
    ]
    if not train:
        # Such as a9a next to a9a.t.
        without = {role[1] for role in roles.values() if role is not None}
        plain = {
            path: strip_compression(path).lower().rpartition("/")[2] for path in paths
        }
        train = [
            path
            for path, role in roles.items()
            if role is None and plain[path] in without
        ]
    return train, test
