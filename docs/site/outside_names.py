"""Addresses of names that the API takes from other libraries, and a hook of mkdocs that links them.

The inventories of these sites say the same, but need a network.
"""

from __future__ import annotations

import re
from typing import Any

_STDTYPES = "stdtypes.html#"
_FUNCTIONS = "functions.html#"
_SITES: dict[str, dict[str, str]] = {
    "https://docs.python.org/3/library/": {
        "str": _STDTYPES + "str",
        "int": _STDTYPES + "int",
        "float": _STDTYPES + "float",
        "bool": _STDTYPES + "boolean-type-bool",
        "bytes": _STDTYPES + "bytes",
        "tuple": _STDTYPES + "tuple",
        "list": _STDTYPES + "list",
        "dict": _STDTYPES + "dict",
        "set": _STDTYPES + "set",
        "type": _FUNCTIONS + "type",
        "callable": _FUNCTIONS + "callable",
        "Exception": "exceptions.html#Exception",
        "KeyboardInterrupt": "exceptions.html#KeyboardInterrupt",
        "LookupError": "exceptions.html#LookupError",
        "ValueError": "exceptions.html#ValueError",
        "abc.ABC": "abc.html#abc.ABC",
        "collections.abc.Callable": "collections.abc.html#collections.abc.Callable",
        "collections.abc.Collection": "collections.abc.html#collections.abc.Collection",
        "collections.abc.Hashable": "collections.abc.html#collections.abc.Hashable",
        "collections.abc.Iterable": "collections.abc.html#collections.abc.Iterable",
        "collections.abc.Iterator": "collections.abc.html#collections.abc.Iterator",
        "collections.abc.Mapping": "collections.abc.html#collections.abc.Mapping",
        "collections.abc.Sequence": "collections.abc.html#collections.abc.Sequence",
        "math.inf": "math.html#math.inf",
        "os.PathLike": "os.html#os.PathLike",
        "pathlib.Path": "pathlib.html#pathlib.Path",
        "typing.Any": "typing.html#typing.Any",
        "typing.IO": "typing.html#typing.IO",
        "typing.Literal": "typing.html#typing.Literal",
        "typing.Protocol": "typing.html#typing.Protocol",
        "typing.Self": "typing.html#typing.Self",
    },
    "https://numpy.org/doc/stable/reference/": {
        "numpy.float64": "arrays.scalars.html#numpy.float64",
        "numpy.int64": "arrays.scalars.html#numpy.int64",
        "numpy.ndarray": "generated/numpy.ndarray.html",
        "numpy.typing.ArrayLike": "typing.html#numpy.typing.ArrayLike",
        "numpy.typing.NDArray": "typing.html#numpy.typing.NDArray",
    },
    "https://docs.scipy.org/doc/scipy/reference/generated/": {
        "scipy.sparse.csr_array": "scipy.sparse.csr_array.html",
    },
    "https://arrow.apache.org/docs/python/generated/": {
        "pyarrow.ChunkedArray": "pyarrow.ChunkedArray.html",
        "pyarrow.Table": "pyarrow.Table.html",
    },
    "https://docs.pydantic.dev/latest/api/": {
        "pydantic.BaseModel": "base_model/#pydantic.BaseModel",
    },
    "https://matplotlib.org/stable/api/": {
        "matplotlib.figure.Figure": "figure_api.html#matplotlib.figure.Figure",
    },
}

ADDRESSES = {
    name: site + place
    for site, names in _SITES.items()
    for name, place in names.items()
}
"""Address of the documentation of each name."""

_TYPES = {
    "array-like": "https://numpy.org/doc/stable/glossary.html#term-array_like",
    "data frame": "https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html",
    "ndarray": ADDRESSES["numpy.ndarray"],
    "scipy.sparse.csr_array": ADDRESSES["scipy.sparse.csr_array"],
    "sparse matrix": "https://docs.scipy.org/doc/scipy/reference/sparse.html",
}
"""Types in the words of docstrings."""

_LIBRARIES = {
    "Dask": "https://docs.dask.org/en/stable/",
    "NumPy": "https://numpy.org/doc/stable/",
    "Zarr": "https://zarr.readthedocs.io/en/stable/",
    "fsspec": "https://filesystem-spec.readthedocs.io/en/latest/",
    "scikit-learn": "https://scikit-learn.org/stable/",
}
"""Libraries, linked where a page names them first."""

_CODE = re.compile(r"<code>([^<]+)</code>")
_TEXT = re.compile(
    r"(<(?:a|code|h\d|pre|autoref)\b.*?</(?:a|code|h\d|pre|autoref)>|<[^>]+>)",
    re.DOTALL,
)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Return a page of the API whose words for types and libraries are links."""
    if not page.url.startswith("api/"):
        return html
    html = html.replace("::</p>", ":</p>")  # what announces a block of code in numpydoc
    pieces = _TEXT.split(_CODE.sub(_linked_types, html))
    left = dict(_LIBRARIES)
    for number in range(0, len(pieces), 2):  # text is between what the pattern finds
        for name in list(left):
            found, times = re.subn(
                rf"\b{name}\b", _link(name, left[name]), pieces[number], count=1
            )
            if times:
                pieces[number] = found
                del left[name]
    return "".join(pieces)


def _linked_types(match: re.Match[str]) -> str:
    text = match[1]
    for name, address in _TYPES.items():
        text = re.sub(
            rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", _link(name, address), text
        )
    return f"<code>{text}</code>"


def _link(name: str, address: str) -> str:
    return f'<a href="{address}">{name}</a>'


def on_env(env: Any, config: Any, files: Any) -> Any:
    """Let references to these names be found, before references are resolved."""
    for name, address in ADDRESSES.items():
        config.plugins["autorefs"].register_url(name, address)
    return env
