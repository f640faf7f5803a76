"""Pages of every key of the files that people write: experiments and jobs."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

from docs.site.docstrings import definitions, literals, sections, table
from olscale.evaluation.budget import Budget
from olscale.evaluation.experiment import Experiment
from olscale.evaluation.experiment_sections import DatasetSpec, LearnerSpec, TuningSpec
from olscale.evaluation.protocol import ProtocolSpec
from olscale.jobs import job_file

EXPERIMENT = (
    ("The file", Experiment),
    ("`[protocol]`", ProtocolSpec),
    ("`[[datasets]]`", DatasetSpec),
    ("`[[learners]]`", LearnerSpec),
    ("`[tuning]`", TuningSpec),
    ("`[budget]`", Budget),
)
JOB = (
    ("The file", job_file.JobFile),
    ("`[[ingest]]`", job_file.IngestStep),
    ("`[[evaluate]]`", job_file.EvaluateStep),
    ("`where`", job_file.WhereSpec),
    ("`[[bench]]`", job_file.BenchStep),
    ("`[alarm]`", job_file.AlarmRules),
    ("`speed`", job_file.SpeedRule),
    ("`error`", job_file.ErrorRule),
    ("`keep`", job_file.KeepRule),
    ("`[[notify]]`", job_file.NotifyRule),
    ("`email`", job_file.MailSpec),
)


# A reader of the file knows TOML's words, not the classes behind them.
_WORDS = (
    (r"tuple\[(\w+Spec|\w+Step|\w+Rule), \.\.\.\]", "array of tables"),
    (r"\b\w+(Spec|Rules?|Step|Budget)\b|^Budget$", "table"),
    (r"tuple\[(.*), \.\.\.\]", r"list of \1"),
    (r"\btuple of\b", "list of"),
    (r"\bRange\b", "range"),
    (r"\bdict\[.*\]", "table"),
    (r"\bstr\b", "text"),
    (r"\bint\b", "whole number"),
    (r"\bfloat\b", "number"),
    (r"\bbool\b", "true or false"),
    (r", optional", ""),
)


def key_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages."""
    yield "reference/experiment.md", _page("The file of an experiment", EXPERIMENT)
    yield "reference/job.md", _page("The file of a job", JOB)


def _page(title: str, tables: tuple[tuple[str, type], ...]) -> str:
    parts = [
        f"# {title}",
        "TOML. A key that is not below is an error that names the nearest one.",
    ]
    for heading, kind in tables:
        parts.append(f"## {heading}")
        parts.append(table(("Key", "Values", "Default", "Meaning"), list(_rows(kind))))
    return "\n\n".join(parts) + "\n"


def keys_of(kind: type) -> list[str]:
    """Return the keys of a table of a file."""
    if dataclasses.is_dataclass(kind):
        return [item.name for item in dataclasses.fields(kind)]
    fields: dict[str, Any] = kind.model_fields  # type: ignore[attr-defined]
    return [field.alias or name for name, field in fields.items()]


def _rows(kind: type) -> Iterator[tuple[str, ...]]:
    described = dict(_described(kind))
    if dataclasses.is_dataclass(kind):
        for item in dataclasses.fields(kind):
            values, meaning = described.get(item.name, ("", ""))
            meaning = literals(item.metadata.get("description", meaning))
            yield (
                f"`{item.name}`",
                _values(values or item.type),
                _default(item.default),
                meaning,
            )
        return
    fields: dict[str, Any] = kind.model_fields  # type: ignore[attr-defined]
    for name, field in fields.items():
        values, meaning = described.get(field.alias or name, ("", ""))
        default = (
            "required"
            if field.is_required()
            else _default(field.get_default(call_default_factory=True))
        )
        key = f"`{field.alias or name}`"
        yield key, _values(values or field.annotation), default, literals(meaning)


def _described(kind: type) -> Iterator[tuple[str, tuple[str, str]]]:
    for title, text in sections(inspect.getdoc(kind) or ""):
        if title in ("Attributes", "Parameters"):
            for names, values, meaning in definitions(text):
                for name in names.split(","):
                    yield name.strip(), (values, meaning)


def _values(kind: Any) -> str:
    """Return the values of a key in the words of TOML."""
    if not isinstance(kind, str):
        kind = (
            getattr(kind, "__name__", str(kind))
            if isinstance(kind, type)
            else str(kind)
        )
    words = re.sub(r"\b(typing|collections\.abc|olscale(\.\w+)+)\.", "", kind)
    # Bounds are in the meaning, and a key that may be None may be left out.
    words = re.sub(r"Annotated\[(.+?), \w+\([\w.=]*\)\]", r"\1", words)
    words = re.sub(
        r"Literal\[([^\]]*)\]", lambda match: match[1].replace(", ", " or "), words
    )
    words = words.replace(" | None", "").replace(" | ", " or ")
    for name, word in _WORDS:
        words = re.sub(name, word, words)
    return literals(words.replace("`", ""))


def _default(value: Any) -> str:
    is_table = dataclasses.is_dataclass(value) or hasattr(type(value), "model_fields")
    if value is dataclasses.MISSING or is_table or value in (None, "", (), {}):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return " ".join(f"`{item}`" for item in value)
    return f"`{value}`"
