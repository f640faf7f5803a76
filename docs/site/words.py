"""Count the words of the documentation that people write and read as prose."""

from __future__ import annotations

from docs.site.repository import ROOT

LIMIT = 30_000
"""Most words of prose in all pages: neither tables, blocks of code nor what commands write."""


def prose_words(text: str) -> int:
    r"""Return the number of words of a page outside of tables and blocks of code.

    Nor are words counted that a command writes, from ``<!-- NAME -->`` to ``<!-- end -->``.

    Examples
    --------
    >>> prose_words("# Two words\n\n| a | table |\n```python\nx = 1\n```\n- and three more\n")
    7
    >>> prose_words("<!-- speeds -->\nfast\n<!-- end -->\nby hand")
    2
    """
    count = 0
    is_code = False
    is_made = False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("```"):
            is_code = not is_code
        elif stripped.startswith("<!-- "):
            is_made = stripped != "<!-- end -->"
        elif not is_code and not is_made and not stripped.startswith("|"):
            count += len(stripped.split())
    return count


def words_of_pages() -> dict[str, int]:
    """Return the words of each page below ``docs``, the longest page first."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    counts = {
        page.relative_to(ROOT).as_posix(): prose_words(page.read_text(encoding="utf-8"))
        for page in pages
    }
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def print_words() -> None:
    """Print the words of each page, their sum and the limit.

    Raises
    ------
    SystemExit
        If the pages together are over the limit.
    """
    counts = words_of_pages()
    for page, words in counts.items():
        print(f"{words:6,} {page}")
    total = sum(counts.values())
    print(f"{total:6,} of at most {LIMIT:,}")
    if total > LIMIT:
        raise SystemExit(f"the pages are {total - LIMIT:,} words over the limit")
