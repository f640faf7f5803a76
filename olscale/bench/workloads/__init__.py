"""Generators of rows in the shape of well-known sets, for benchmarks and for tests of size.

Importing this package adds their names to those that `olscale.data.generators.generate` knows. One
that stands for a set published as an archive also has ``members``, which yields the files of that.
"""

import os

from olscale.bench.workloads.archive import write_archive
from olscale.data.generators import GENERATORS, generate, recipe

__all__ = ["generate", "generate_archive"]

GENERATORS.ours.update(
    {
        "multipie-like": "olscale.bench.workloads.multipie_like",
        "url-like": "olscale.bench.workloads.url_like",
        "webspam-like": "olscale.bench.workloads.webspam_like",
    }
)


def generate_archive(
    name: str,
    file: str | os.PathLike[str],
    *,
    seed: int = 0,
    rows: int | None = None,
    columns: int | None = None,
) -> tuple[int, int]:
    """Write the rows of a generator in the form in which the set it stands for is published.

    Parameters
    ----------
    name : str
        A generator with ``members``: ``url-like``.
    file : path
        New ``.tar.gz`` archive, replaced if it is there.
    seed, rows, columns
        As for `generate`.

    Returns
    -------
    tuple of int
        Rows, and bytes of text in the archive before compression.

    Raises
    ------
    UnknownNameError, ParameterError
        For a name that does not exist, a generator without such a form, a number out of range.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     generate_archive("url-like", f"{folder}/url_svmlight.tar.gz", rows=10)[0]
    10
    """
    options = {} if columns is None else {"columns": columns}
    module, arguments, _ = recipe(name, "members", seed, rows, options)
    return write_archive(os.fspath(file), module.members(**arguments))
