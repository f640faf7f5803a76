"""Build hook: a wheel has the code that `olscale warm --for-wheel` made, and its name says so."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface):
    """Add the folder of machine code to the wheel, if there is one of these sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse the code of other sources: it would never be used."""
        package = Path(self.root) / "olscale"
        if version == "editable":
            return
        levels = sorted(package.glob("machine_code/*/sources.txt"))
        if not levels:
            return
        for stamp in levels:
            if stamp.read_text() != _digest(package):
                raise ValueError(
                    f"{stamp.parent} is of other sources: make it anew with olscale warm "
                    "--for-wheel"
                )
        build_data["artifacts"].append("olscale/machine_code/**")
        build_data["pure_python"] = False
        build_data["tag"] = (
            f"cp{sys.version_info.major}{sys.version_info.minor}-none-manylinux_2_28_x86_64"
        )


def _digest(package: Path) -> str:
    """Return the digest that the package computes of its sources, without its dependencies."""
    spec = importlib.util.spec_from_file_location(
        "source_digest", package / "system" / "source_digest.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    digest: str = module.package_digest(*module.STAMPED)
    return digest
