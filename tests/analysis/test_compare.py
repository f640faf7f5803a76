"""Comparisons over data sets, against the figures of other packages and of Demsar's paper."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.analysis import paired_tests
from olscale.analysis.compare import compare
from olscale.analysis.paired_tests import (
    corrected_t,
    differences_of,
    holm,
    sign_test,
    signed_rank,
    wilcoxon,
)
from olscale.analysis.rank_tests import friedman, rank

FIXTURE = json.loads(
    (Path(__file__).parent / "fixtures" / "comparisons.json").read_text("utf-8")
)
"""Made by fixtures/make_comparisons.py."""

DEMSAR = """
0.763 0.768 0.771 0.798   0.599 0.591 0.590 0.569   0.954 0.971 0.968 0.967   0.628 0.661 0.654 0.657
0.882 0.888 0.886 0.898   0.936 0.931 0.916 0.931   0.661 0.668 0.609 0.685   0.583 0.583 0.563 0.625
0.775 0.838 0.866 0.875   1.000 1.000 1.000 1.000   0.940 0.962 0.965 0.962   0.619 0.666 0.614 0.669
0.972 0.981 0.9751 0.975  0.957 0.978 0.946 0.970
"""
"""AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets: table 6 of Demsar 2006, whose ranks of the last two on voting
are 2 and 3 though their three digits are equal."""


@pytest.mark.parametrize("table", FIXTURE["tables"], ids=range(len(FIXTURE["tables"])))
def test_ranks_p_values_and_groups_are_those_of_scikit_posthocs_and_autorank(
    table: dict[str, Any],
) -> None:
    values = np.array(table["values"])
    names = [f"m{i}" for i in range(values.shape[1])]
    for test in ("wilcoxon", "nemenyi"):
        found = compare(values, names, [str(i) for i in range(len(values))], test=test)
        at = {name: i for i, name in enumerate(names)}
        expected_ranks = sorted(table["mean_ranks"])
        np.testing.assert_allclose(found.mean_ranks, expected_ranks)
        assert found.friedman.p == pytest.approx(table["friedman"], rel=1e-9)
        for pair in found.pairs:
            assert pair.p_corrected == pytest.approx(
                table[test][at[pair.a]][at[pair.b]], rel=1e-6, abs=1e-12
            )
        theirs = [
            {names[i] for i in clique}
            for clique in table[f"cliques_{test}"]
            if len(clique) > 1
        ]
        ours = [set(clique) for clique in found.cliques]
        places = {name: i for i, name in enumerate(found.learners)}
        together = [
            one
            for one in theirs
            if max(places[n] for n in one) - min(places[n] for n in one) == len(one) - 1
        ]
        assert all(one in ours for one in together)
        assert all(any(one <= other for other in theirs) for one in ours)
        if test == "nemenyi":
            # autorank has a table of q
            assert found.critical == pytest.approx(table["critical"], rel=1e-3)


def test_the_posterior_is_that_of_baycomp() -> None:
    for table in FIXTURE["tables"]:
        values = np.array(table["values"])
        [found] = signed_rank(values[None, :, 0] - values[None, :, 1], FIXTURE["rope"])
        np.testing.assert_allclose(found, table["first_minus_second"], atol=0.015)
        assert sum(found) == pytest.approx(1)


def test_demsars_example_comes_out_as_in_his_paper() -> None:
    """Mean ranks, chi-square 9.28 without regard to ties, Nemenyi's critical difference 1.25, Wilcoxon's T 12."""
    values = np.array(DEMSAR.split(), dtype=float).reshape(14, 4)
    found = compare(
        values,
        ["C4.5", "m", "cf", "m+cf"],
        [str(i) for i in range(14)],
        higher=True,
        test="nemenyi",
    )

    assert found.learners == ("m+cf", "m", "cf", "C4.5")
    np.testing.assert_allclose(found.mean_ranks, [1.964, 2.0, 2.893, 3.143], atol=5e-4)
    k = 4
    n = 14
    sizes = [np.unique(row, return_counts=True)[1] for row in values]
    ties = 1 - sum(int((size**3 - size).sum()) for size in sizes) / (
        n * k * (k * k - 1)
    )
    chi_square = found.friedman.statistic * ties
    assert chi_square == pytest.approx(9.28, abs=5e-3)
    assert (n - 1) * chi_square / (n * (k - 1) - chi_square) == pytest.approx(
        3.69, abs=5e-3
    )
    assert found.critical == pytest.approx(1.25, abs=5e-3)
    # His pairs differ by less than that, though the test over all learners says that some differ.
    assert found.friedman.f_p < 0.05
    assert found.cliques == (("m+cf", "m", "cf", "C4.5"),)
    # Of C4.5 and C4.5+m he has sums of ranks of 93 and 12: those of the two zeros, which `wilcoxon`
    # leaves out, are shared.
    step = differences_of(values[:, 1], values[:, 0])
    ranks = rank(np.abs(step))
    zeros = ranks[step == 0].sum() / 2
    assert (ranks[step > 0].sum() + zeros, ranks[step < 0].sum() + zeros) == (93, 12)
    assert wilcoxon(step[None])[0] < 0.05


def test_differences_that_are_equal_but_for_rounding_share_a_rank() -> None:
    """0.3 - 0.1 is not 0.8 - 0.6 to a computer."""
    step = differences_of(np.array([0.3, 0.8, 0.5]), np.array([0.1, 0.6, 0.5]))
    assert step[0] == step[1]
    assert step[2] == 0


def test_scales_of_data_sets_make_no_ties() -> None:
    """Beside figures of a hundred thousand, a difference of a third of 2e-8 is none of rounding: pairs agree with ranks."""
    figures = (
        np.array([[1e5, 1.1e5]] * 3 + [[2e-8, 3e-8]] * 6)
        * np.linspace(1, 2, 9)[:, None]
    )
    outcome = compare(figures, ["a", "b"], list("123456789"))
    [pair] = outcome.pairs
    assert (outcome.mean_ranks.tolist(), pair.wins, pair.ties, pair.p) == (
        [1.0, 2.0],
        9,
        0,
        2**-8,
    )


@given(
    st.lists(
        st.tuples(st.floats(0.01, 1.0), st.floats(0.0, 3e-12), st.integers(-12, 12)),
        min_size=1,
        max_size=8,
    )
)
def test_pairs_tie_where_ranks_do(rows: list[tuple[float, float, int]]) -> None:
    """Whatever the scale of the other data sets is, and however near two figures are."""
    figures = np.array([[value, value + step] for value, step, _ in rows])
    figures *= 10.0 ** np.array([[exponent] for *_, exponent in rows])
    tied = rank(figures)[:, 0] == 1.5
    assert (differences_of(figures[:, 0], figures[:, 1]) == 0).tolist() == tied.tolist()


def test_figures_that_are_equal_but_for_rounding_share_a_rank() -> None:
    """Pairs call them a tie, and so do ranks."""
    found = compare(
        np.array([[0.1 + 0.2, 0.3, 0.4], [0.3, 0.1 + 0.2, 0.4]]),
        list("abc"),
        list("xy"),
    )
    assert found.ranks.tolist() == [[1.5, 1.5, 3.0]] * 2
    assert (found.pairs[0].wins, found.pairs[0].ties, found.pairs[0].losses) == (
        0,
        2,
        0,
    )


def test_wilcoxon_counts_every_pattern_of_signs() -> None:
    """Against all 2^n signs, also where ranks are shared."""
    rng = np.random.default_rng(3)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 9)).reshape(9, -1).T
    for _ in range(20):
        step = rng.integers(-4, 5, 9).astype(float)
        kept = step[step != 0]
        ranks = rank(np.abs(kept))
        sums = (signs[:, : len(kept)] * ranks).sum(axis=1)
        expected = float(
            np.mean(np.abs(sums) >= abs((np.sign(kept) * ranks).sum()) - 1e-9)
        )
        assert wilcoxon(step[None])[0] == pytest.approx(expected)


def test_many_differences_take_the_normal_approximation() -> None:
    from scipy.stats import wilcoxon as theirs

    step = np.random.default_rng(0).normal(0.1, 1, 80)
    assert wilcoxon(step[None])[0] == pytest.approx(
        theirs(step, method="asymptotic").pvalue
    )


def test_small_tests_by_hand() -> None:
    assert wilcoxon(np.zeros((1, 4))).tolist() == [1.0]
    assert sign_test(np.array([[1.0] * 8 + [-1.0]])) == pytest.approx(2 * 10 / 2**9)
    # 2 to the 1200 is no float
    assert sign_test(np.tile([1.0, -1.0], (1, 600))).tolist() == [1.0]
    np.testing.assert_allclose(
        holm(np.array([0.01, 0.02, 0.9, 0.04])), [0.04, 0.06, 0.9, 0.08]
    )
    # Ten folds: the correction takes 1/10 to 1/10 + 1/9, so t falls by a factor of 1.453.
    step = np.random.default_rng(1).normal(0.5, 1, 10)
    from scipy.stats import t, ttest_1samp

    plain = ttest_1samp(step, 0).statistic
    assert corrected_t(step[None], 1 / 9) == pytest.approx(
        2 * t.sf(abs(plain) / math.sqrt(1 + 10 / 9), 9)
    )
    assert corrected_t(np.array([[0.0] * 5, [1.0] * 5]), 0.25).tolist() == [1.0, 0.0]


def test_friedman_where_all_agree_and_where_all_are_equal() -> None:
    same = np.tile([1.0, 2.0, 3.0], (6, 1))
    assert (friedman(same).f, friedman(same).f_p) == (math.inf, 0.0)
    assert friedman(np.full((6, 3), 2.0)).p == 1.0
    assert math.isnan(friedman(same[:, :2]).p)


def test_fewer_than_five_data_sets_are_ranked_and_not_tested() -> None:
    found = compare(np.random.default_rng(0).random((4, 3)), list("abc"), list("wxyz"))
    assert not found.tested
    assert found.cliques == ()
    assert math.isnan(found.friedman.p)
    assert all(math.isnan(pair.p) and pair.posterior is None for pair in found.pairs)
    assert [(pair.a, pair.b) for pair in found.pairs] == list(
        combinations(found.learners, 2)
    )


def test_a_part_has_the_ranks_and_p_values_that_it_has_among_all() -> None:
    rng = np.random.default_rng(3)
    values = rng.random((9, 6)) + 0.2 * np.arange(6)
    every = compare(values, list("abcdef"), list("123456789"))
    names = every.learners[1:4]
    part = every.part(names)
    assert part.learners == names
    assert part.mean_ranks.tolist() == every.mean_ranks[1:4].tolist()
    assert part.friedman == every.friedman
    assert part.pairs == tuple(
        pair for pair in every.pairs if {pair.a, pair.b} <= set(names)
    )
    assert part.cliques
    assert all(
        not set(one) < set(other) for one in part.cliques for other in part.cliques
    )


@pytest.mark.parametrize("rope", [0.0, 0.01])
@pytest.mark.parametrize("datasets", [5, 17])
def test_probabilities_of_a_pair_do_not_depend_on_the_other_pairs(
    datasets: int, rope: float
) -> None:
    """A page that shows twelve of many learners has the digits of the JSON that has all."""
    values = np.random.default_rng(5).normal(0.2, 0.02, (datasets, 20)).round(3)
    values[:, 1] = values[:, 0]
    every = compare(
        values, [f"m{i}" for i in range(20)], list(map(str, range(datasets)))
    )
    pairs = every.with_posteriors(every.pairs, rope)
    assert len(pairs) == 190
    for pair in pairs[::17]:
        assert pair.posterior is not None
        assert sum(pair.posterior) == pytest.approx(1)
        assert every.with_posteriors([replace(pair, posterior=None)], rope) == (pair,)
    part = every.part(every.learners[2:9])
    own = part.with_posteriors(part.pairs, rope)
    assert own == tuple(
        pair for pair in pairs if {pair.a, pair.b} <= set(part.learners)
    )


@pytest.mark.parametrize("rope", [0.0, 0.01])
def test_probabilities_are_the_shares_of_draws_counted_one_by_one(rope: float) -> None:
    """Weights of each draw, sums of each two differences, the largest of three shares: as Benavoli et al. write it."""
    differences = np.random.default_rng(6).normal(0.0, 0.02, (4, 7)).round(2)
    differences[0] = 0.0
    draws = np.random.default_rng(0).dirichlet([0.5, *[1.0] * 7], 10_000)
    for step, posterior in zip(
        differences, signed_rank(differences, rope), strict=True
    ):
        z = np.array([0.0, *step])
        sums = z[:, None] + z
        shares = [
            np.einsum("di,ij,dj->d", draws, np.heaviside(side - 2 * rope, 0.5), draws)
            for side in (-sums, sums)
        ]
        largest = np.argmax([shares[0], 1 - shares[0] - shares[1], shares[1]], axis=0)
        assert posterior == tuple(np.bincount(largest, minlength=3) / 10_000)


def test_groups_of_many_learners_are_the_longest_stretches_without_a_difference() -> (
    None
):
    rng = np.random.default_rng(7)
    found = compare(
        rng.random((16, 30)) + 0.08 * np.arange(30),
        [f"m{i}" for i in range(30)],
        list("abcdefghijklmnop"),
    )
    apart = {(pair.a, pair.b) for pair in found.pairs if pair.p_corrected <= 0.05}
    stretches = [
        found.learners[first:stop]
        for first in range(30)
        for stop in range(first + 2, 31)
        if not apart.intersection(combinations(found.learners[first:stop], 2))
    ]
    longest = [
        one
        for one in stretches
        if not any(set(one) < set(other) for other in stretches)
    ]
    assert len(longest) > 1
    assert list(found.cliques) == longest


def test_higher_is_better_turns_ranks_and_wins_but_no_p() -> None:
    values = np.random.default_rng(4).random((9, 3))
    low = compare(values, list("abc"), list("123456789"))
    high = compare(-values, list("abc"), list("123456789"), True)
    assert low.learners == high.learners
    for one, other in zip(low.pairs, high.pairs, strict=True):
        assert (one.wins, one.losses, one.p_corrected) == (
            other.wins,
            other.losses,
            other.p_corrected,
        )
        assert one.difference == -other.difference


@pytest.mark.parametrize("rope", [0.0, 0.05])
def test_posteriors_of_single_precision_are_those_of_double(
    monkeypatch: pytest.MonkeyPatch, rope: float
) -> None:
    differences = np.random.default_rng(0).normal(0.0, 0.1, (300, 8))
    differences[::3] = differences[::3].round(1)  # many sums on the border
    precisions = []
    count_draws = paired_tests._count_draws

    def watched(sums: Any, products: Any, *rest: Any) -> Any:
        precisions.append(products.dtype)
        return count_draws(sums, products, *rest)

    monkeypatch.setattr(paired_tests, "_count_draws", watched)
    quick = signed_rank(differences, rope)
    assert {*precisions} == {np.dtype(np.float32), np.dtype(np.float64)}
    monkeypatch.setattr(paired_tests, "_MOST_SLACK", 0.0)
    assert quick == signed_rank(differences, rope)
