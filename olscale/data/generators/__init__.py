"""Synthetic datasets by name and seed.

A generator is a module with a function ``batches(rows, seed)`` that yields `Batch` objects in time
order, and two constants: ``ROWS``, the default number of rows, and ``SEGMENTS``, whether each batch
is a segment. A generator with a configurable width takes a third argument, ``columns``. One with a
test split has a function ``test_batches(seed)``, one of novelties (targets -1) and normal rows (+1)
a constant ``TASK = "novelty"``. The same seed of PCG64 gives the same rows, and fewer rows are the
beginning of more. To add one, name its module below. Generators that only benchmarks use are in
`olscale.bench.workloads`, which adds their names.
"""

import inspect
import os
from typing import Any

from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.claim import claim
from olscale.data.ingest.members import Member
from olscale.data.ingest.writer import DatasetWriter
from olscale.data.labels import Labels
from olscale.data.manifest import SourceEntry
from olscale.errors import ParameterError
from olscale.registry import Registry
from olscale.system.paths import path_text
from olscale.task import NOVEL

__all__ = ["GENERATORS", "generate", "recipe"]

GENERATORS: Registry[Any] = Registry(
    "generator",
    {
        "gaussian-novelties": "olscale.data.generators.gaussian_novelties",
        "gaussian-xor": "olscale.data.generators.gaussian_xor",
        "noisy-sines": "olscale.data.generators.noisy_sines",
        "rotating-xor": "olscale.data.generators.rotating_xor",
        "two-gaussians": "olscale.data.generators.two_gaussians",
        "two-gaussians-narrow": "olscale.data.generators.two_gaussians_narrow",
    },
)


def generate(
    name: str,
    dest: str | os.PathLike[str],
    *,
    seed: int = 0,
    rows: int | None = None,
    columns: int | None = None,
    layout: str | None = None,
    chunk_rows: int | None = None,
) -> Dataset:
    """Write a synthetic dataset.

    Parameters
    ----------
    name : str
        One of `GENERATORS`.
    dest : path
        New directory.
    seed : int
        Seed of PCG64.
    rows : int, optional
        Number of rows; the generator's own when left out.
    columns : int, optional
        Number of features, if configurable; the generator's own when left out.
    layout, chunk_rows
        As for `olscale.data.ingest.ingest.ingest`.

    Raises
    ------
    UnknownNameError, ParameterError, DatasetError
        For a name that does not exist, a number out of range, a `dest` that is taken.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dataset = generate("rotating-xor", f"{folder}/xor", rows=250)
    ...     dataset.rows(), dataset.segments()
    (250, (('0', 0), ('1', 100), ('2', 200)))
    """
    module, arguments, source = recipe(name, "batches", seed, rows, columns)
    batches = module.batches(**arguments)
    labels = Labels(novel=str(NOVEL)) if getattr(module, "TASK", None) == "novelty" else Labels()
    sources = [SourceEntry(name=source, split="train")]
    segments = None
    if module.SEGMENTS:
        segments = "files"
    with (
        claim(path_text(dest, "dest"), {"generator": name, **arguments}) as directory,
        DatasetWriter(directory, layout, chunk_rows, segments, labels=labels) as writer,
    ):
        for number, batch in enumerate(batches):
            writer.write("train", Member(f"{source}, segment {number}", str(number)), batch)
        if hasattr(module, "test_batches"):
            for batch in module.test_batches(seed):
                writer.write("test", Member(f"{source}, test", "0"), batch)
            sources.append(SourceEntry(name=source, split="test"))
        writer.finish(sources)
    return open_dataset(dest)


def recipe(
    name: str,
    form: str,
    seed: int,
    rows: int | None,
    columns: int | None,
) -> tuple[Any, dict[str, int], str]:
    """Return the generator's module, the arguments of its function `form`, and a name."""
    module = GENERATORS.load(name)
    if not hasattr(module, form):
        raise ParameterError(
            f"generator {name} has no published archive to imitate; name a directory for its "
            "dataset"
        )
    arguments = {"seed": seed, "rows": module.ROWS if rows is None else rows}
    if arguments["rows"] < 1:
        raise ParameterError(f"rows is {rows}, expected at least 1")
    if seed < 0:
        raise ParameterError(f"seed is {seed}, expected 0 or more")
    if columns is not None:
        if "columns" not in inspect.signature(getattr(module, form)).parameters:
            raise ParameterError(
                f"generator {name} has a width of its own; leave columns={columns} out"
            )
        arguments["columns"] = columns
    return (
        module,
        arguments,
        f"generator:{name}:" + ",".join(f"{key}={value}" for key, value in arguments.items()),
    )
