"""The version of a learner's numbers: from its author, its package or a digest of its source."""

import hashlib
import importlib.metadata
import inspect
from functools import cache
from typing import Any

from olscale.errors import ParameterError
from olscale.learners.contract.learner import Learner
from olscale.system.user_source import DIGITS, edited, is_installed, source_digest


def learner_version(path: str, target: Any) -> int | str:
    """Return the version of `target`, as it enters the definition of its runs.

    `path` is its ``module:name``.

    For olscale's learners it is the number that they state; for an installed estimator the version
    of its package; for user code ``VERSION+DIGEST``, with the digest of its source
    (`olscale.system.user_source`): an edit makes it another learner.
    """
    version: int | str = (
        target.version if _is_learner(target) else _package_version(_home(path, target))
    )
    if not _is_own(path, target):
        return version
    digest = _digest(path, target) or _cells_digest(target)
    if not digest:
        return version
    # A local version has its plus already, and may have only one.
    if "+" in str(version):
        return f"{version}.{digest}"
    return f"{version}+{digest}"


def source_note(path: str, target: Any) -> str:
    """Return a note for a learner whose edits go unnoticed; empty if they are noticed."""
    if not _is_own(path, target) or _digest(path, target):
        return ""
    if _home(path, target) == "__main__":
        return (
            f"learner {path} is defined in a notebook or terminal: only edits of its methods are "
            "noticed, and workers "
            "cannot find it; write it to a file (%%writefile mine.py) and name that, mine:Class"
        )
    return (
        f"learner {path} has no source that can be read: when it changes, its results here "
        "stay those of before"
    )


def check_unedited(path: str, target: Any) -> None:
    """Refuse a learner edited after this process imported it: its source is not what runs.

    Raises
    ------
    ParameterError
    """
    if _is_own(path, target):
        edits = edited(*_sources(path, target))
    else:
        edits = []
    if edits:
        raise ParameterError(
            f"learner {path}: {', '.join(edits)} was edited after Python had imported it; start "
            "Python anew (in a "
            f"notebook: restart the kernel), or importlib.reload it"
        )


def _is_learner(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, Learner)


def _is_own(path: str, target: Any) -> bool:
    home = _home(path, target)
    # Our own learners state their version: an edit without effect on bits must not move it.
    if home.partition(".")[0] == __name__.partition(".")[0]:
        return False
    return (
        _is_learner(target) or not is_installed(home) or _package_version(home) == "0"
    )


def _home(path: str, target: Any) -> str:
    """Return the module of a class or function, or the one that holds the model."""
    has_module = isinstance(target, type) or inspect.isfunction(target)
    if has_module:
        return str(target.__module__)
    return path.partition(":")[0]


def _sources(path: str, target: Any) -> tuple[list[str], list[str]]:
    """Return the modules that define it and its base classes, and its package."""
    if isinstance(target, type):
        kind = target
    else:
        kind = type(target)
    home = _home(path, target)
    # An edit of a base class changes what runs as well.
    bases = [base.__module__ for base in kind.__mro__]
    return [home, *bases], [home.partition(".")[0]]


def _digest(path: str, target: Any) -> str | None:
    return source_digest(*_sources(path, target))


def _cells_digest(target: Any) -> str | None:
    """Return a digest of the methods of an interactively typed class: only their text is known."""
    texts = []
    for base in target.__mro__ if isinstance(target, type) else ():
        for name, method in (
            sorted(vars(base).items()) if base.__module__ == "__main__" else ()
        ):
            try:
                texts.append(
                    f"{base.__qualname__}.{name}\0{inspect.getsource(method)}\0"
                )
            except (OSError, TypeError):  # not a method, or one without source
                continue
    if texts:
        return hashlib.sha256("".join(texts).encode()).hexdigest()[:DIGITS]
    return None


def _package_version(module: str) -> str:
    """Return the version of the package of a module; ``"0"`` if it belongs to none."""
    distributions = _distributions().get(module.partition(".")[0])
    if distributions:
        return importlib.metadata.version(distributions[0])
    return "0"


@cache
def _distributions() -> dict[str, list[str]]:
    return {
        top: list(names)
        for top, names in importlib.metadata.packages_distributions().items()
    }
