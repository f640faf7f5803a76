"""The candidates of tuning: a grid, or draws from it and from ranges, and how halving thins them.

References
----------
- J. Bergstra and Y. Bengio, Random search for hyper-parameter optimization, JMLR 13, 2012.
- K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and hyperparameter
  optimization, AISTATS 2016 (Algorithm 1, successive halving).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log, prod
from typing import Any

import numpy as np

from olscale.data.splits import Part
from olscale.evaluation.experiment_sections import LearnerSpec, Range, TuningSpec
from olscale.storage.canonical_json import canonical_json

LEAST_ROWS = 250
"""Rows of the first rung of halving, at least: on fewer, chance decides."""

_TUNING = 0x54554E45
_TRIES = 20
"""Draws per candidate after which a space is taken to have no more of them."""


def candidates(
    spec: LearnerSpec, tuning: TuningSpec, seed: int
) -> list[dict[str, Any]]:
    """Return the parameters to compare, equal for all datasets.

    Parameters
    ----------
    spec : LearnerSpec
    tuning : TuningSpec
    seed : int
        Seed of the experiment, which decides the draws.

    Examples
    --------
    >>> spec = LearnerSpec(name="pa1", tune={"C": {"low": 0.01, "high": 100.0, "log": True}})
    >>> candidates(spec, TuningSpec(search="random", budget=3), seed=0)
    [{'C': 1.414}, {'C': 0.1643}, {'C': 8.797}]
    """
    if tuning.search == "grid":
        return spec.points()
    # The tag separates these draws from permutations and parts, which have seeds of their own.
    random = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([seed, _TUNING]))
    )
    lists = {
        name: values for name, values in spec.tune.items() if isinstance(values, list)
    }
    if (
        len(lists) == len(spec.tune)
        and prod(map(len, lists.values())) <= tuning.most_candidates
    ):
        return spec.points()
    drawn: dict[str, dict[str, Any]] = {}
    for _ in range(_TRIES * tuning.most_candidates):
        point = {name: _draw(values, random) for name, values in spec.tune.items()}
        drawn.setdefault(canonical_json(point), point)
        if len(drawn) == tuning.most_candidates:
            break
    return list(drawn.values())


def _draw(values: list[Any] | Range, random: np.random.Generator) -> Any:
    if isinstance(values, list):
        return values[int(random.integers(len(values)))]
    if values.whole:
        # As if the interval reached to the next number, so that both ends are as likely as others.
        low, high = int(values.low), int(values.high) + 1
        if not values.log:
            return int(random.integers(low, high))
        return min(int(exp(random.uniform(log(low), log(high)))), high - 1)
    if values.log:
        number = exp(random.uniform(log(values.low), log(values.high)))
    else:
        number = float(random.uniform(values.low, values.high))
    # Four figures are as good as sixteen, and a table has room for them.
    return min(max(float(f"{number:.4g}"), float(values.low)), float(values.high))


def rung_shares(tuning: TuningSpec, count: int, rows: int) -> tuple[float, ...]:
    """Return the share of the stream that the candidates of each rung learn; the last one is all.

    Parameters
    ----------
    tuning : TuningSpec
    count : int
        Candidates of the first rung; each further one has half of them.
    rows : int
        Rows of the training split.

    Examples
    --------
    >>> halving = TuningSpec(search="halving", budget=8)
    >>> rung_shares(halving, 8, 100_000), rung_shares(halving, 8, 1_000)
    ((0.125, 0.25, 0.5, 1.0), (0.5, 1.0))
    """
    if tuning.search != "halving":
        return (1.0,)
    length = rows * Part(tuning.split, 0, 0, tuning.folds).training_share
    shares = [1.0]
    while count > 1 and length * shares[0] / 2.0 >= LEAST_ROWS:
        shares.insert(0, shares[0] / 2.0)
        count = -(-count // 2)
    return tuple(shares)


def plain_space(tune: Mapping[str, list[Any] | Range]) -> dict[str, Any]:
    """Return lists and ranges as plain JSON values.

    Examples
    --------
    >>> plain_space({"C": [0.5, 1.0], "k": Range(low=1, high=9)})
    {'C': [0.5, 1.0], 'k': {'low': 1, 'high': 9, 'log': False}}
    """
    return {
        name: values if isinstance(values, list) else values.model_dump()
        for name, values in tune.items()
    }
