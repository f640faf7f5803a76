"""Files of the repository as pages and files of the site, with their links."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from docs.site.equations import with_formulas

ROOT = Path(__file__).parents[2]

_FOLDERS = ("pipelines", "cluster")
_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
_SOURCE = re.compile(r"""(src(?:set)?=")([^"]+)""")


def place_of(path: str) -> str | None:
    """Return where the site has a file of the repository, None where it has it not.

    Examples
    --------
    >>> place_of("docs/jobs.md"), place_of("README.md"), place_of("olscale/measures.py")
    ('jobs.md', 'index.md', None)
    """
    if path == "README.md":
        return "index.md"
    if path in _PAGES:
        return _PAGES[path]
    folder, _, rest = path.partition("/")
    if not (ROOT / path).is_file() or folder not in ("docs", *_FOLDERS):
        return None
    return rest if folder == "docs" else path


def copy_pages(target: Path) -> None:
    """Copy the pages of the documentation, and the files that they link to, into a folder."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "site" not in path.parts]
    pages += [ROOT / name for name in _PAGES]
    pages += [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.md")]
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        place = place_of(name)
        assert place is not None
        text = page.read_text(encoding="utf-8")
        _write(target / place, with_formulas(with_links_of_site(text, name, place)))
    for folder in ("docs/pictures", *_FOLDERS):
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and file.suffix not in (".md", ".pyc"):
                copy = target / file.relative_to(ROOT).as_posix().removeprefix("docs/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)


def with_links_of_site(text: str, name: str, place: str) -> str:
    """Return the text of a page of the repository whose relative links are those of the site.

    What the site has not is named without a link.
    """

    def moved(address: str) -> str | None:
        path, hash_sign, anchor = address.partition("#")
        if ":" in address or not path:
            return address
        of_repository = posixpath.normpath(
            posixpath.join(posixpath.dirname(name), path)
        )
        there = place_of(of_repository)
        if there is None and (ROOT / of_repository / "README.md").is_file():
            there = place_of(f"{of_repository}/README.md")
        if there is None:
            return None
        return (
            posixpath.relpath(there, posixpath.dirname(place) or ".")
            + hash_sign
            + anchor
        )

    def link(match: re.Match[str]) -> str:
        address = moved(match[2])
        if address is None:
            return match[1].strip("[]")
        return f"{match[1]}({address})"

    def source(match: re.Match[str]) -> str:
        return match[1] + (moved(match[2]) or match[2])

    fenced = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    for number in range(0, len(fenced), 2):
        fenced[number] = _SOURCE.sub(source, _LINK.sub(link, fenced[number]))
    return "".join(fenced)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
