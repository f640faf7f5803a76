"""Pages of what has a name: transforms, formats, measures, generators."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from docs.site.docstrings import definitions, literals, prose, sections, table
from olscale.data.formats import FORMATS
from olscale.data.generators import GENERATORS
from olscale.data.transforms.pipeline import TRANSFORMS
from olscale.measures import FORMS, MEASURES


def name_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages."""
    yield "reference/transforms.md", _named("Transforms", TRANSFORMS)
    yield "reference/formats.md", _named("Formats", FORMATS)
    yield "reference/generators.md", _named("Generators", GENERATORS)
    yield "reference/measures.md", _measures()


def _named(title: str, registry: Any) -> str:
    parts = [f"# {title}"]
    for name in registry.ours:
        parts.append(f"## {name}")
        item = registry.load(name)
        for heading, text in sections(inspect.getdoc(item) or ""):
            if heading in ("", "Notes", "References"):
                parts.append(prose(text))
            elif heading == "Parameters" and not isinstance(item, ModuleType):
                parts.append(_parameters(text))
        if isinstance(item, ModuleType):
            parts.extend(_options(item))
    return "\n\n".join(part for part in parts if part) + "\n"


def _options(generator: ModuleType) -> Iterator[str]:
    """Yield the table of the options of a generator, if its rows have documented ones."""
    for heading, text in sections(inspect.getdoc(generator.batches) or ""):
        if heading == "Parameters":
            yield _parameters(text)


def _parameters(text: str) -> str:
    rows = [
        (f"`{name}`", literals(kind), literals(meaning))
        for name, kind, meaning in definitions(text)
    ]
    return table(("Parameter", "Values", "Meaning"), rows)


def _measures() -> str:
    rows = [
        (
            f"`{measure.name}`",
            measure.words,
            measure.better or "neither",
            measure.unit or "number",
            ", ".join(measure.tasks) or "comes by itself, or by another option",
        )
        for measure in MEASURES.values()
    ]
    head = ("Name", "In tables", "Better", "Unit", "Can be asked for in")
    forms = ", ".join(f"`{form}`" for form in FORMS)
    return (
        "# Measures\n\n`[protocol] measures` and `--measures` name them; `--metrics` of `olscale "
        f"results` shows them. Prefixes {forms} name the same measure of the test split, of a "
        "window, with fading, and of rows held out along the stream. "
        "`precision:LABEL`, `recall:LABEL`, `f1:LABEL` and `average_precision:LABEL` are those of "
        f"one class.\n\n{table(head, rows)}\n"
    )
