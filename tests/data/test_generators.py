"""Generators: the same seed gives the same dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.data.generators import gaussian_xor, generate
from olscale.data.generators.rotating_xor import batches
from olscale.errors import ParameterError, UnknownNameError


def test_same_seed_same_dataset(tmp_path: Path):
    for name in ("gaussian-xor", "rotating-xor"):
        made = [
            generate(name, tmp_path / f"{name}{i}", seed=i // 2, rows=120)
            for i in range(3)
        ]
        assert made[0].fingerprint == made[1].fingerprint != made[2].fingerprint


def test_rotating_xor_is_as_the_paper_says(tmp_path: Path):
    """1,000 rows in two dimensions, two classes, a turn after every 100 rows."""
    dataset = generate("rotating-xor", tmp_path / "xor")
    assert (dataset.rows(), dataset.columns, dataset.classes) == (1000, 2, (-1, 1))
    assert dataset.segments() == tuple((str(i), 100 * i) for i in range(10))


def test_rotating_xor_turns_counterclockwise():
    """Turned back by 18 degrees a segment, every segment is the XOR of the first."""
    for segment, batch in enumerate(batches(2000, seed=1)):
        angle = -np.pi / 10 * segment
        back = np.array(
            [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        )
        corners = batch.X @ back.T
        agree = np.sign(corners[:, 0] * corners[:, 1]) == batch.target
        assert agree.mean() > 0.97


def test_gaussian_xor_has_a_gaussian_in_each_quadrant_labelled_by_the_product_of_its_signs():
    (first, second) = gaussian_xor.batches(2000, seed=1)
    X = np.concatenate([first.X, second.X])
    y = np.concatenate([first.target, second.target])
    assert (np.sign(X.prod(axis=1)) == y).mean() > 0.99
    for corner in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
        of = X[(np.sign(X) == corner).all(axis=1)]
        assert len(of) == pytest.approx(500, abs=80)
        np.testing.assert_allclose(of.mean(axis=0), corner, atol=0.06)


def test_fewer_rows_are_the_beginning_of_more():
    few, many = (
        np.concatenate([batch.X for batch in batches(rows, seed=3)])
        for rows in (150, 400)
    )
    np.testing.assert_array_equal(few, many[:150])


def test_further_arguments_of_batches_are_options(tmp_path: Path):
    wide = generate("two-gaussians:deviation=0.6", tmp_path / "wide", rows=100)
    narrow = generate("two-gaussians-narrow", tmp_path / "narrow", rows=100)
    assert (
        wide.manifest.sources[0].name
        == "generator:two-gaussians:seed=0,rows=100,deviation=0.6"
    )
    rows = [next(iter(made.chunks("train"))).X for made in (wide, narrow)]
    np.testing.assert_array_equal(*rows)


def test_wrong_arguments_leave_nothing(tmp_path: Path):
    with pytest.raises(UnknownNameError, match="did you mean 'rotating-xor'"):
        generate("rotating-xr", tmp_path / "d")
    for arguments in ({"rows": 0}, {"seed": -1}):
        with pytest.raises(ParameterError):
            generate("rotating-xor", tmp_path / "d", **arguments)
    assert not (tmp_path / "d").exists()
