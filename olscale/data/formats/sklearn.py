"""The data sets bundled with scikit-learn, as sources without a file: ``sklearn:digits``."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from olscale.data.formats.base import Batch, ReadOptions, batches_of_arrays
from olscale.errors import UnknownNameError

_PREFIX = "sklearn:"
_NAMES = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")


class SklearnFormat:
    """Data sets bundled with scikit-learn; they need no network."""

    name: ClassVar[str] = "sklearn"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, source: str, head: bytes) -> bool:
        """Return whether `source` has the form ``sklearn:NAME``."""
        return source.startswith(_PREFIX)

    def splits(self, source: str) -> tuple[str, ...]:
        """Return ``("train",)``: these sets have no test split."""
        return ("train",)

    def read(self, source: str, options: ReadOptions) -> Iterator[Batch]:
        """Yield the rows of the set that `source` names.

        Raises
        ------
        UnknownNameError
            When scikit-learn bundles no such set.

        Examples
        --------
        >>> batches = SklearnFormat().read("sklearn:iris", ReadOptions(chunk_rows=100))
        >>> [len(batch) for batch in batches]
        [100, 50]
        """
        name = source.removeprefix(_PREFIX)
        if name not in _NAMES:
            raise UnknownNameError("scikit-learn data set", name, _NAMES)
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")()
        names = tuple(map(str, bunch.feature_names))
        for batch in batches_of_arrays(
            source, bunch.data, bunch.target, options, names
        ):
            # names, for classes
            target_names = tuple(bunch.target_names) if batch.targets else ()
            yield replace(
                batch,
                regression="target_names" not in bunch or bool(target_names),
                targets=target_names,
            )
