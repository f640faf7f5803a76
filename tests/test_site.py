"""The site of the documentation has a place for every name that people write."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Iterator
from statistics import fmean
from types import SimpleNamespace

import click
import pytest

import olscale
from docs.site.api_pages import API
from docs.site.command_pages import command_pages
from docs.site.grand_figures import TUNED, Figures, figures_of, grand_tables, number
from docs.site.key_pages import EXPERIMENT, JOB, key_pages, keys_of
from docs.site.learner_pages import learner_pages
from docs.site.name_pages import name_pages
from docs.site.outside_names import ADDRESSES, on_page_content
from docs.site.repository import with_links_of_site
from olscale.cli import olscale as command
from olscale.data.formats import FORMATS
from olscale.data.generators import GENERATORS
from olscale.data.transforms.pipeline import TRANSFORMS
from olscale.learners.registry import LEARNERS, learner_class
from olscale.measures import MEASURES


@pytest.mark.parametrize("name", ["docstrings", "grand_figures", "repository", "words"])
def test_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(f"docs.site.{name}"))
    assert results.attempted
    assert not results.failed


def _commands(
    group: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command]]:
    yield context.command_path, group
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            inner = group.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, click.Context(inner, context, name))


def test_every_command_and_option_is_on_a_page() -> None:
    pages = dict(command_pages())
    text = "\n".join(pages.values())
    missing = []
    for path, inner in _commands(command, click.Context(command, info_name="olscale")):
        if f"# {path}\n" not in text and path != "olscale":
            missing.append(path)
        for option in inner.params:
            if isinstance(option, click.Option) and not option.hidden:
                page = pages.get(
                    f"reference/commands/{path.partition(' ')[2].partition(' ')[0]}.md"
                )
                # An older spelling of an option is hidden.
                if page and not any(word in page for word in option.opts):
                    missing.append(f"{path} {option.opts[0]}")
    assert not missing


def test_every_key_of_a_file_is_described() -> None:
    pages = dict(key_pages())
    for page, tables in (
        ("reference/experiment.md", EXPERIMENT),
        ("reference/job.md", JOB),
    ):
        rows = [
            line.split(" | ")
            for line in pages[page].splitlines()
            if line.startswith("| `")
        ]
        keys = {row[0].strip("| `") for row in rows}
        assert keys == {key for _, kind in tables for key in keys_of(kind)}
        assert not [row[0] for row in rows if len(row[3].strip("| ")) < 5], "no meaning"


def test_every_public_name_of_python_is_on_a_page() -> None:
    paths = {path for _, names in API.values() for path in names}
    public = [
        getattr(olscale, name) for name in olscale.__all__ if name != "__version__"
    ]
    homes = {f"{item.__module__}.{item.__qualname__}" for item in public}
    assert homes <= paths
    for path in paths:
        module, _, name = path.rpartition(".")
        assert path == "olscale.testing" or hasattr(
            importlib.import_module(module), name
        )


def test_every_registered_name_is_on_a_page() -> None:
    pages = dict(name_pages()) | dict(learner_pages())
    for registry, page in (
        (TRANSFORMS, "reference/transforms.md"),
        (FORMATS, "reference/formats.md"),
        (GENERATORS, "reference/generators.md"),
    ):
        missing = [name for name in registry.ours if f"## {name}\n" not in pages[page]]
        assert not missing
    assert not [
        name for name in MEASURES if f"`{name}`" not in pages["reference/measures.md"]
    ]
    for name in LEARNERS.ours:
        page = pages[f"learners/{name}.md"]
        missing = [
            key for key in learner_class(name).domains if f"| `{key}` |" not in page
        ]
        assert not missing, name


def test_links_of_pages_are_those_of_the_site() -> None:
    text = (
        "[jobs](docs/jobs.md#get-notified) [file](pipelines/quickstart.toml) [code](olscale/a.py)\n"
        "```text\n[kept](docs/jobs.md)\n```\n"
    )
    assert with_links_of_site(text, "README.md", "index.md") == (
        "[jobs](jobs.md#get-notified) [file](pipelines/quickstart.toml) code\n"
        "```text\n[kept](docs/jobs.md)\n```\n"
    )
    up = with_links_of_site("[nights](../jobs.md)", "docs/guides/a.md", "guides/a.md")
    assert up == "[nights](../jobs.md)"


def _printed(table: Figures, name: str) -> tuple[list[list[float]], list[float]]:
    """Return the figures of all rows on each set that has one of this row, and those of the row."""
    of_sets = [table.values(one) for one in table.sets]
    shared = [values for values in of_sets if name in values]
    return [list(values.values()) for values in shared], [
        values[name] for values in shared
    ]


def _places(values: list[float], own: float) -> tuple[int, int]:
    """Return the first and the last place that a figure can have among these."""
    return 1 + sum(value < own for value in values), sum(
        value <= own for value in values
    )


def test_pages_of_learners_have_the_figures_of_the_grand_comparison() -> None:
    pages = dict(learner_pages())
    by_error = grand_tables()[0]
    assert by_error.title == "Ranks by cumulative error (%)"
    for name, cells in by_error.rows.items():
        mean = number(cells["mean rank"])
        # Figures that differ may be printed as equal, which leaves open which of them is ahead.
        firsts, lasts = zip(*map(_places, *_printed(by_error, name)), strict=True)
        assert fmean(firsts) - 0.0051 <= mean <= fmean(lasts) + 0.0051
        assert fmean(firsts) <= fmean(by_error.ranks(name).values()) <= fmean(lasts)
        page = pages[f"learners/{name.removesuffix(TUNED)}.md"]
        assert "## Figures" in page
        assert f"{mean:.2f}" in page
    assert "| Test RMSE, noisy-sines | 0.1381" in pages["learners/krls.md"]
    [speed] = [one for one in grand_tables() if one.title.startswith("Rows per")]
    assert speed.rows["arow"]["letter-2000"] in pages["learners/arow.md"]
    assert not figures_of("multinomial-naive-bayes"), "a learner that is not compared"
    assert "time order" in pages["learners/drift-ensemble.md"]
    assert not figures_of("one-class-svm"), "a learner without a figure"


def test_words_for_types_of_others_are_links() -> None:
    html = "<h2>Dask</h2><p>A Dask cluster of Dask.</p><td><code>ndarray of shape (n,)</code></td>"
    linked = on_page_content(html, SimpleNamespace(url="api/data.html"))
    ndarray = f'<a href="{ADDRESSES["numpy.ndarray"]}">ndarray</a>'
    assert linked == (
        '<h2>Dask</h2><p>A <a href="https://docs.dask.org/en/stable/">Dask</a> cluster of Dask.</p>'
        f"<td><code>{ndarray} of shape (n,)</code></td>"
    )
    assert on_page_content(html, SimpleNamespace(url="index.html")) == html
    assert on_page_content(
        "<code>to_ndarray</code>", SimpleNamespace(url="api/a.html")
    ) == ("<code>to_ndarray</code>")
