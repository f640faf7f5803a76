"""Every target by its name."""

from __future__ import annotations

from tests.fuzz import (
    arrays,
    begun,
    datasets,
    models,
    stores,
    streams,
    svmlight_loop,
    table_loop,
    texts,
    vw_loop,
)
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (
        texts,
        svmlight_loop,
        table_loop,
        vw_loop,
        arrays,
        streams,
        datasets,
        stores,
        models,
        begun,
    )
    for target in module.TARGETS
}
