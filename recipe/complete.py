"""Print recipe.yaml for a release.

``python recipe/complete.py SDIST --home URL --maintainer NAME``
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

RECIPE = Path(__file__).with_name("recipe.yaml")


def complete(sdist: Path, home: str, maintainer: str) -> str:
    """Return the recipe with the checksum of a source distribution, its home and its maintainer.

    Raises
    ------
    SystemExit
        If the recipe is of another version than the source distribution.
    """
    text = RECIPE.read_text(encoding="utf-8")
    version = sdist.name.removeprefix("olscale-").removesuffix(".tar.gz")
    if f'version: "{version}"' not in text:
        raise SystemExit(
            f"{RECIPE.name} is of another version than {sdist.name}; change it there"
        )
    checksum = hashlib.sha256(sdist.read_bytes()).hexdigest()
    for word, value in (
        ("SHA256", checksum),
        ("HOMEPAGE", home),
        ("MAINTAINER", maintainer),
    ):
        text = text.replace(f": {word}\n", f": {value}\n").replace(
            f"- {word}\n", f"- {value}\n"
        )
    return text.partition("\n")[2]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sdist", type=Path)
    parser.add_argument("--home", required=True, help="address of the project")
    parser.add_argument("--maintainer", required=True, help="name on GitHub")
    options = parser.parse_args()
    print(complete(options.sdist, options.home, options.maintainer), end="")
