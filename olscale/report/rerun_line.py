"""The command that evaluates a run again, from nothing but its definition."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from olscale.storage.canonical_json import canonical_json

# Of the options of a protocol, those that are flags of `olscale evaluate` under their own names,
# and those that only a file or `--set` can say.
_FLAGS = (
    *("order", "split", "folds", "window", "fading", "delay", "batch"),
    *("holdout_every", "holdout_rows"),
    *("drift", "measures", "positive", "threshold", "burn_in", "mcnemar", "weights"),
    *("weighted_measures", "test_only"),
)
_SET = ("passes", "costs", "epsilon")
_FOLLOW = ("delay_position", "drift_version", "transforms_version", "split_seed")
"""What follows from the other options and the data set."""

_COUNTED = ("permutation", "fold", "projection", "seed")


def rerun_line(run: Mapping[str, Any]) -> str:
    """Return the ``olscale evaluate`` command whose runs have the run of a definition among them.

    The data set stands in it by its name, since a definition knows no folder. Empty where options
    cannot say it, such as a protocol that begins with a saved model.

    Examples
    --------
    >>> learner = {"name": "pa1", "version": 1, "params": {"C": 0.5}}
    >>> protocol = {"order": "permuted", "seed": 0, "permutation": 3}
    >>> run = {"dataset": {"name": "digits"}, "learner": learner, "protocol": protocol}
    >>> rerun_line(run | {"transforms": ["bias"]})
    'olscale evaluate --dataset digits --learner pa1:C=0.5 --transform bias --order permuted ...'
    """
    protocol: Mapping[str, Any] = run["protocol"]
    if not protocol.keys() <= {*_FLAGS, *_SET, *_FOLLOW, *_COUNTED}:
        return ""
    learner = _learner_text(run["learner"])
    if not learner:
        return ""
    words = ["olscale", "evaluate", "--dataset", str(run["dataset"].get("name", ""))]
    words += ["--learner", learner]
    for transform in run.get("transforms", ()):
        words += ["--transform", str(transform)]
    for name in _FLAGS:
        if name in protocol:
            words += _flag(name, protocol[name])
    for name in _SET:
        if name in protocol:
            words += ["--set", f"protocol.{name}={canonical_json(protocol[name])}"]
    if "permutation" in protocol:
        words += ["--permutations", str(_repeats(protocol))]
    if "projection" in protocol and "permutation" not in protocol:
        words += ["--projections", str(_repeats(protocol))]
    seed = protocol.get("seed", protocol.get("split_seed"))
    if seed is not None:
        words += ["--seed", str(seed)]
    return shlex.join([*words, "--store", "again"])


def _repeats(protocol: Mapping[str, Any]) -> int:
    """Return how many permutations (or projections) a stream needs to have that of this run."""
    index = int(protocol.get("permutation", protocol.get("projection", 0)))
    fold = int(protocol.get("fold", 0))
    # Each fold has a range of numbers of its own, as long as that of the first.
    if (
        fold
        and "share" not in protocol
        and not str(protocol.get("split", "")).startswith("preq")
    ):
        return max(1, index // fold)
    return index + 1


def _flag(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return [flag]
    if isinstance(value, str | int | float):
        return [flag, str(value)]
    return [flag, ",".join(map(str, value))]


def _learner_text(learner: Mapping[str, Any]) -> str:
    """Return ``NAME:param=value,param=value``; nothing where a value cannot be written so."""
    pairs = []
    for name, value in learner["params"].items():
        text = _value_text(value)
        if text is None:
            return ""
        pairs.append(f"{name}={text}")
    return ":".join(filter(None, [str(learner["name"]), ",".join(pairs)]))


def _value_text(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str) and "," not in value:
        return value
    return None
