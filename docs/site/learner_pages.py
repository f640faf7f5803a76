"""A page for each registered learner, made from its declaration."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from docs.site.docstrings import definitions, literals, prose, sections, table
from docs.site.grand_figures import figures_of
from olscale.learners.registry import LEARNERS, learner_class, learner_names
from olscale.task import TASKS

_TITLES = {
    "classification": "Classification",
    "regression": "Regression",
    "novelty": "Anomaly detection",
}


def learner_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages: an overview, then one for each learner."""
    yield "learners/index.md", _overview()
    for name in learner_names():
        yield f"learners/{name}.md", _page(name)


def _overview() -> str:
    parts = [
        "# Learners by task\n",
        "Each page has the update rule, the parameters, the cost of a row and the source. "
        "`olscale learners show NAME` prints the same in a terminal.\n",
    ]
    for task in TASKS:
        rows = [
            (f"[`{name}`]({name}.md)", literals(_summary(name)))
            for name in learner_names()
            if getattr(learner_class(name), "task", "") == task
        ]
        parts.append(
            f"## {_TITLES[task]}\n\n{table(('Learner', 'What it is'), rows)}\n"
        )
    return "\n".join(parts)


def _summary(name: str) -> str:
    return (inspect.getdoc(learner_class(name)) or "").partition("\n")[0]


def _page(name: str) -> str:
    kind = learner_class(name)
    parts = [f"# {name}"]
    for title, text in sections(inspect.getdoc(kind) or ""):
        if title:
            parts.append(f"## {title}")
        if title in ("Parameters", "Attributes"):
            rows = [
                (f"`{word}`", literals(domain), literals(meaning))
                for word, domain, meaning in definitions(text)
            ]
            parts.append(table(("Name", "Values", "Meaning"), rows))
        else:
            parts.append(prose(text))
    figures = figures_of(name)
    if figures:
        parts.append(figures)
    parts.append("## Use")
    parts.append(
        f"```console\n$ olscale evaluate --dataset DATASET --learner {name} --store STORE\n```"
    )
    module, _, attribute = LEARNERS.ours.get(
        name, f"{kind.__module__}:{kind.__name__}"
    ).partition(":")
    parts.append(
        f"In Python, `from {module} import {attribute}` gives an estimator for scikit-learn with "
        "`fit`, `partial_fit` and `predict`."
    )
    return "\n\n".join(parts) + "\n"
