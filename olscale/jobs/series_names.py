"""Short names of series: the labels of learners and data sets, and what tells settings apart."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from olscale.errors import OlscaleError
from olscale.jobs.home import JobHome
from olscale.jobs.series import NightSeries
from olscale.report.labels import value_text
from olscale.results.opening import open_store
from olscale.results.plans import TUNING, read_plans
from olscale.storage.canonical_json import canonical_json

Labels = Mapping[tuple[str, str, str, str], tuple[str, str]]
"""Labels of dataset and learner, by dataset, transforms, learner and parameters of a setting."""


def labels_of_night(home: JobHome) -> Labels:
    """Return the labels that the experiments of the last night give; none without its store."""
    labels: dict[tuple[str, str, str, str], tuple[str, str]] = {}
    path = home.latest_store()
    if path is None:
        return labels
    try:
        plans = read_plans(open_store(path), "skip")
    except OlscaleError:  # names are no reason for a night to fail
        return labels
    for plan in plans:
        if plan.experiment.endswith(TUNING):
            continue
        for learner in plan.learners:
            params = canonical_json(dict(learner.params))
            for dataset in (plan.datasets[place] for place in learner.datasets):
                setting = (
                    dataset.name,
                    ", ".join(dataset.transforms),
                    learner.name,
                    params,
                )
                named = (dataset.label or dataset.name, learner.label or learner.name)
                labels.setdefault(setting, named)
    return labels


def short_names(
    series: Iterable[NightSeries], labels: Labels | None = None
) -> dict[str, str]:
    """Return a short name for the name of each series, with the labels of its setting.

    It has the parameters that differ among the settings of a learner, and transforms and protocol
    if these differ.

    Examples
    --------
    >>> params = [f'{{"C": {C}, "dtype": "float64"}}' for C in (0.5, 1.0)]
    >>> settings = [("xor", "bias", "pa1", text, "{}") for text in params]
    >>> list(short_names(NightSeries("error", f"{s}", setting=s) for s in settings).values())
    ['pa1 C=0.5 on xor', 'pa1 C=1 on xor']
    """
    setting_by_name = {quantity.name: quantity.setting for quantity in series}
    settings = [setting for setting in setting_by_name.values() if setting]
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    transforms_of: dict[str, set[str]] = defaultdict(set)
    called = {
        setting: (labels or {}).get(
            (setting[0], setting[1], setting[2], setting[3]), (setting[0], setting[2])
        )
        for setting in settings
    }
    for setting, (dataset, learner) in called.items():
        transforms_of[dataset].add(setting[1])
        for name, value in _params(setting[3]).items():
            values[learner, name].add(json.dumps(value))
    many_protocols = len({setting[4] for setting in settings}) > 1

    def short(setting: tuple[str, ...]) -> str:
        dataset, learner = called[setting]
        _, transforms, _, params, protocol = setting
        own = [
            f"{name}={value_text(value)}"
            for name, value in _params(params).items()
            if len(values[learner, name]) > 1
        ]
        how = []
        if len(transforms_of[dataset]) > 1:
            how = [f"({transforms or 'raw'})"]
        words = [learner, *own, "on", dataset, *how]
        if many_protocols:
            words.append(protocol)
        return " ".join(words)

    # Benchmarks have no setting, and names that are short already.
    names = {name: name for name in setting_by_name}
    return names | {
        name: short(setting) for name, setting in setting_by_name.items() if setting
    }


def _params(text: str) -> dict[str, Any]:
    params: dict[str, Any] = json.loads(text or "{}")
    return params
