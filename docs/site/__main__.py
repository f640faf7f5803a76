"""``python -m docs.site FOLDER``: build the documentation's site, for a browser without network.

``python -m docs.site words`` counts the words of its pages.

Pages of ``docs`` stand beside pages made from the code: learners, commands, keys of files, names,
API. A link to nowhere is an error.
"""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.site.api_pages import API, api_pages
from docs.site.command_pages import command_pages
from docs.site.key_pages import key_pages
from docs.site.learner_pages import learner_pages
from docs.site.name_pages import name_pages
from docs.site.repository import ROOT, copy_pages
from docs.site.words import print_words

HERE = Path(__file__).parent


def main(folder: str) -> None:
    """Write the site into a folder, which is made anew.

    Raises
    ------
    SystemExit
        If a page cannot be made or a link leads nowhere.
    """
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    target = Path(folder).resolve()
    with tempfile.TemporaryDirectory(prefix="olscale-site-") as temporary:
        pages = Path(temporary) / "pages"
        copy_pages(pages)
        generated = dict(_generated())
        for name, text in generated.items():
            file = pages / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        shutil.copytree(HERE / "assets", pages / "assets")
        shutil.copyfile(HERE / "index.md", pages / "index.md")
        (Path(temporary) / "mkdocs.yml").write_text("site_name: olscale\n")
        try:
            build(
                load_config(
                    str(Path(temporary) / "mkdocs.yml"), **_options(pages, target)
                )
            )
        except Abort as fault:
            raise SystemExit(f"the site has a fault, as said above: {fault}") from None
    print(f"{target}/index.html")


def _generated() -> Iterator[tuple[str, str]]:
    yield from learner_pages()
    yield from command_pages()
    yield from key_pages()
    yield from name_pages()
    yield from api_pages()


def _options(pages: Path, target: Path) -> dict[str, Any]:
    from pymdownx.slugs import slugify

    return {
        "docs_dir": str(pages),
        "site_dir": str(target),
        "site_description": "Evaluate single-pass learners at scale on Dask",
        "strict": True,
        # pages open from a folder as they do from a server
        "use_directory_urls": False,
        "nav": _navigation(pages),
        "theme": {
            "name": "material",
            "font": False,
            "features": [
                "navigation.tabs",
                "navigation.indexes",
                "navigation.top",
                "content.code.copy",
                "search.highlight",
            ],
            "palette": [
                {
                    "media": "(prefers-color-scheme: light)",
                    "scheme": "default",
                    "toggle": {"icon": "material/weather-night", "name": "Dark"},
                },
                {
                    "media": "(prefers-color-scheme: dark)",
                    "scheme": "slate",
                    "toggle": {"icon": "material/weather-sunny", "name": "Light"},
                },
            ],
        },
        "extra_css": ["assets/site.css"],
        "extra_javascript": ["assets/keyboard.js"],
        "hooks": [str(HERE / "without_network.py"), str(HERE / "outside_names.py")],
        "extra": {"generator": False},
        "plugins": [
            "material/search",
            "material/offline",
            {
                "mkdocstrings": {
                    "handlers": {"python": {"paths": [str(ROOT)], "options": _API}}
                }
            },
        ],
        "markdown_extensions": [
            "tables",
            "admonition",
            "md_in_html",
            {"toc": {"permalink": True, "slugify": slugify(case="lower")}},
            "pymdownx.highlight",
            "pymdownx.superfences",
        ],
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn"},
            "links": {
                "not_found": "warn",
                "anchors": "warn",
                "unrecognized_links": "warn",
            },
        },
    }


_API = {
    "docstring_style": "numpy",
    "show_source": False,
    "show_root_heading": True,
    "show_root_full_path": False,
    "show_symbol_type_heading": True,
    "heading_level": 2,
    "members_order": "source",
    "show_if_no_docstring": False,
    "inherited_members": False,
    "filters": ["!^_"],
    "separate_signature": True,
    "show_signature_annotations": True,
    "signature_crossrefs": True,
}


def _navigation(pages: Path) -> list[Any]:
    learners = sorted(path.name for path in (pages / "learners").glob("*.md"))
    commands = sorted(path.name for path in (pages / "reference/commands").glob("*.md"))
    decisions = sorted(path.name for path in (pages / "decisions").glob("*.md"))
    return [
        {
            "Start": [
                "index.md",
                "install.md",
                {"Glossary": "glossary.md"},
                "versions.md",
                "changelog.md",
            ]
        },
        {
            "Guides": [
                "guides/from-csv-to-a-choice.md",
                "guides/from-choice-to-a-service.md",
                "guides/from-streams-to-predictions.md",
                "guides/rows-that-count-more.md",
                "guides/your-own-learner.md",
                "guides/your-own-cluster.md",
                "datasets.md",
                "experiments.md",
                "protocols.md",
                "transforms.md",
                "tuning.md",
                "store.md",
                "models.md",
                "reports.md",
                "watching.md",
                "jobs.md",
                "object-storage.md",
                {
                    "Clusters": [
                        "cluster/README.md",
                        *_below(pages, "clusters"),
                    ]
                },
                "extending.md",
                "adding-a-learner.md",
                "contributing.md",
            ]
        },
        {
            "Concepts": [
                "weights.md",
                "supervision.md",
                "robustness.md",
                "replay-svm.md",
                "one-pass.md",
                "drift-ensemble.md",
                "soft-local.md",
                "kernel-learners.md",
                "networks.md",
            ]
        },
        {"Learners": ["learners.md", *(f"learners/{name}" for name in learners)]},
        {
            "Reference": [
                {"Commands": [f"reference/commands/{name}" for name in commands]},
                "reference/experiment.md",
                "reference/job.md",
                "reference/measures.md",
                "reference/transforms.md",
                "reference/formats.md",
                "reference/generators.md",
                "environment.md",
            ]
        },
        {"API": [f"api/{name}.md" for name in API]},
        {
            "Results": [
                "reproduction.md",
                "grand-comparison.md",
                "comparisons.md",
                "performance.md",
                "scaling.md",
                *_below(pages, "pipelines"),
            ]
        },
        {
            "Architecture": [
                "architecture.md",
                "design.md",
                "testing.md",
                "style.md",
                {"Decisions": [f"decisions/{name}" for name in decisions]},
            ]
        },
    ]


def _below(pages: Path, folder: str) -> list[str]:
    files = sorted((pages / folder).rglob("*.md"))
    return [file.relative_to(pages).as_posix() for file in files]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(
            "usage: python -m docs.site FOLDER, or python -m docs.site words"
        )
    if sys.argv[1] == "words":
        print_words()
    else:
        main(sys.argv[1])
