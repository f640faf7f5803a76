"""The first learner of an experiment against each other one, over the seeds of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import wilcoxon

from olscale.analysis.over_seeds import StreamComparison, compare_over_seeds
from olscale.results.settings import ExperimentSettings, Setting, SettingKey


def compared(errors: dict[tuple[str, int], list[float]]) -> list[StreamComparison]:
    """Compare learners whose errors over the seeds of a stream are given by name and delay."""
    settings = []
    figures: dict[SettingKey, dict[str, float]] = {}
    streams: dict[str, str] = {}
    for (learner, delay), values in errors.items():
        protocol: dict[str, Any] = {"order": "time"}
        if delay:
            protocol["delay"] = delay
        for seed, value in enumerate(values):
            name = f"sea-seed-{seed}"
            streams[name] = "sea"
            setting = Setting(name, (), learner, learner, "1", {}, protocol)
            settings.append(setting)
            # A store has the dataset's digest, and how an external model was treated.
            version = "1+adapter2" if learner == "forest" else "1"
            key = setting.key._replace(fingerprint="abc", version=version)
            figures[key] = {"{}": value}
    labels = frozenset(learner for learner, _ in errors)
    return compare_over_seeds(
        ExperimentSettings("tiny", labels, tuple(settings), streams), figures
    )


def test_pairs_are_tested_by_seed_and_corrected_for_the_learners_of_a_stream() -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(0.2, 0.01, 10)
    close = first + rng.normal(0.0003, 0.001, 10)
    far = first + rng.uniform(0.01, 0.02, 10)
    [comparison] = compared(
        {
            ("ours", 0): first.tolist(),
            ("close", 0): close.tolist(),
            ("far", 0): far.tolist(),
        }
    )
    p_close = wilcoxon(first, close).pvalue
    p_far = wilcoxon(first, far).pvalue
    assert (comparison.stream, comparison.delay) == ("sea", 0)
    assert [pair.b for pair in comparison.pairs] == ["close", "far"]
    assert [pair.p for pair in comparison.pairs] == pytest.approx([p_close, p_far])
    assert [pair.p_corrected for pair in comparison.pairs] == pytest.approx(
        [p_close, 2 * p_far]
    )
    assert comparison.pairs[1].difference == pytest.approx(np.mean(first - far))
    assert comparison.defeats == ()


def test_a_small_difference_in_all_seeds_is_a_defeat_and_one_by_chance_is_none() -> (
    None
):
    first = [0.2 + seed / 100 for seed in range(10)]
    steady = [error - 0.0002 - seed / 1e6 for seed, error in enumerate(first)]
    chance = [error - 0.0008 * (-1) ** seed - 1e-5 for seed, error in enumerate(first)]
    [comparison] = compared(
        {("ours", 0): first, ("steady", 0): steady, ("chance", 0): chance}
    )
    assert [pair.b for pair in comparison.defeats] == ["steady"]


def test_few_seeds_are_compared_but_not_tested() -> None:
    """Three seeds of a slow forest meet the same three of the first learner."""
    first = [0.2, 0.3, 0.4, 0.1, 0.1, 0.1]
    [comparison] = compared(
        {
            ("ours", 0): first,
            ("forest", 0): [0.19, 0.295, 0.398],
            ("other", 0): [error + 0.01 + error / 100 for error in first],
        }
    )
    forest, other = comparison.pairs
    assert (forest.losses, forest.difference) == (3, pytest.approx(0.017 / 3))
    assert np.isnan(forest.p_corrected)
    assert other.p_corrected == pytest.approx(2 / 2**6)
    assert comparison.defeats == (forest,)


def test_delays_of_a_stream_lie_side_by_side() -> None:
    comparisons = compared(
        {
            (name, delay): [0.1, 0.2]
            for delay in (1000, 0, 48)
            for name in ("ours", "other")
        }
    )
    assert [of.delay for of in comparisons] == [0, 48, 1000]


def test_learners_are_compared_over_the_permutations_that_both_have() -> None:
    """One whose hardest permutation failed is not the better one for it."""
    protocol = {"order": "permuted", "seed": 0}
    settings = tuple(
        Setting("sea", (), learner, learner, "1", {}, protocol)
        for learner in ("ours", "other")
    )
    ours, other = (setting.key._replace(fingerprint="abc") for setting in settings)
    figures = {ours: {"0": 0.1, "1": 0.4}, other: {"0": 0.2}}
    labels = frozenset(("ours", "other"))
    [comparison] = compare_over_seeds(
        ExperimentSettings("tiny", labels, settings, {}), figures
    )
    assert comparison.errors == {"ours": {"sea": 0.1}, "other": {"sea": 0.2}}
    assert comparison.defeats == ()
