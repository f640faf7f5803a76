"""Synthetic datasets by name and seed.

A generator is a module with a function ``batches(rows, seed)`` that yields `Batch` objects in time
order, and two constants: ``ROWS``, the default number of rows, and ``SEGMENTS``, whether each batch
is a segment. Further arguments of the function are options, written ``NAME:key=value,key=value``;
``columns`` is the width. One with a test split has a function ``test_batches(seed)``, one of
novelties (targets -1) and normal rows (+1) a constant ``TASK = "novelty"``. The same seed gives the
same rows, and fewer rows are the beginning of more. To add one, name its module below. The streams
of MOA derive from `olscale.data.generators.concept_stream.ConceptStream`, which adds changes of
concept. Generators that only benchmarks use are in `olscale.bench.workloads`, which adds their
names.
"""

import inspect
import os
from collections.abc import Mapping
from typing import Any

from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.claim import claim
from olscale.data.ingest.members import Member
from olscale.data.ingest.writer import DatasetWriter
from olscale.data.labels import Labels
from olscale.data.manifest import SourceEntry
from olscale.errors import ParameterError, UnknownNameError
from olscale.named_parameters import parse_named, parse_value
from olscale.registry import Registry
from olscale.system.arguments import checked_arguments
from olscale.system.paths import path_text
from olscale.task import NOVEL

__all__ = ["GENERATORS", "generate", "recipe"]

GENERATORS: Registry[Any] = Registry(
    "generator",
    {
        "agrawal": "olscale.data.generators.agrawal",
        "gaussian-novelties": "olscale.data.generators.gaussian_novelties",
        "gaussian-xor": "olscale.data.generators.gaussian_xor",
        "hyperplane": "olscale.data.generators.hyperplane",
        "led": "olscale.data.generators.led",
        "mixed": "olscale.data.generators.mixed",
        "noisy-sines": "olscale.data.generators.noisy_sines",
        "random-tree": "olscale.data.generators.random_tree",
        "rbf": "olscale.data.generators.rbf",
        "rotating-xor": "olscale.data.generators.rotating_xor",
        "sea": "olscale.data.generators.sea",
        "sine": "olscale.data.generators.sine",
        "stagger": "olscale.data.generators.stagger",
        "two-gaussians": "olscale.data.generators.two_gaussians",
        "two-gaussians-narrow": "olscale.data.generators.two_gaussians_narrow",
        "waveform": "olscale.data.generators.waveform",
    },
)


@checked_arguments()
def generate(
    name: str,
    dest: str | os.PathLike[str],
    *,
    seed: int = 0,
    rows: int | None = None,
    columns: int | None = None,
    layout: str | None = None,
    chunk_rows: int | None = None,
    **options: Any,
) -> Dataset:
    """Write a synthetic dataset.

    Parameters
    ----------
    name : str
        One of `GENERATORS`, or ``NAME:key=value,key=value`` with options.
    dest : path
        New directory.
    seed : int
        Seed: the same one gives the same rows.
    rows : int, optional
        Number of rows; the generator's own when left out.
    columns : int, optional
        Number of features, if configurable; the generator's own when left out.
    layout, chunk_rows
        As for `olscale.data.ingest.ingest.ingest`.
    **options
        Options of the generator. Those given are in the names of the dataset's sources.

    Raises
    ------
    UnknownNameError, ParameterError, DatasetError
        For a name or option that does not exist, a number out of range, a `dest` that is taken.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dataset = generate("rotating-xor", f"{folder}/xor", rows=250)
    ...     dataset.rows(), dataset.segments()
    (250, (('0', 0), ('1', 100), ('2', 200)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dataset = generate("sea:function=1/4,position=500", f"{folder}/sea", rows=1000)
    ...     dataset.manifest.sources[0].name
    'generator:sea:seed=0,rows=1000,function=1/4,position=500'
    """
    if columns is not None:
        options = {"columns": columns, **options}
    module, arguments, source = recipe(name, "batches", seed, rows, options)
    name = source.split(":")[1]
    batches = module.batches(**arguments)
    labels = (
        Labels(novel=str(NOVEL))
        if getattr(module, "TASK", None) == "novelty"
        else Labels()
    )
    sources = [SourceEntry(name=source, split="train")]
    segments = None
    if module.SEGMENTS:
        segments = "files"
    with (
        claim(path_text(dest, "dest"), {"generator": name, **arguments}) as directory,
        DatasetWriter(directory, layout, chunk_rows, segments, labels=labels) as writer,
    ):
        for number, batch in enumerate(batches):
            writer.write(
                "train", Member(f"{source}, segment {number}", str(number)), batch
            )
        if hasattr(module, "test_batches"):
            for batch in module.test_batches(seed):
                writer.write("test", Member(f"{source}, test", "0"), batch)
            sources.append(SourceEntry(name=source, split="test"))
        writer.finish(sources)
    return open_dataset(dest)


def recipe(
    text: str,
    form: str,
    seed: int,
    rows: int | None,
    options: Mapping[str, Any],
) -> tuple[Any, dict[str, Any], str]:
    """Return the module of ``NAME`` or ``NAME:key=value``, the arguments of `form`, and a name."""
    name, pairs = parse_named(text)
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
    parameters = inspect.signature(getattr(module, form)).parameters
    known = [key for key in parameters if key not in arguments]
    for key, value in [*_written(text, pairs), *options.items()]:
        if key in arguments:
            raise ParameterError(
                f"generator {text}: {key} is given twice, expected once"
            )
        if key == "columns" and key not in known:
            raise ParameterError(
                f"generator {name} has a width of its own; leave columns={value} out"
            )
        if key not in known:
            raise UnknownNameError(f"option of generator {name}", key, known)
        arguments[key] = value
    return (
        module,
        arguments,
        f"generator:{name}:"
        + ",".join(f"{key}={_text(arguments[key])}" for key in arguments),
    )


def _written(text: str, pairs: list[tuple[str, str | None]]) -> list[tuple[str, Any]]:
    for key, value in pairs:
        if value is None:
            raise ParameterError(f"generator {text}: {key!r} is not option=value")
    return [(key, parse_value(value)) for key, value in pairs if value is not None]


def _text(value: Any) -> str:
    """Return the value of an option as it is written in ``NAME:key=value``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "/".join(map(_text, value))
    return str(value)
