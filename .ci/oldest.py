"""Print the dependencies of the quick start at the oldest versions that pyproject.toml allows."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
for bound in project["dependencies"] + project["optional-dependencies"]["report"]:
    print(bound.replace(">=", "=="))
