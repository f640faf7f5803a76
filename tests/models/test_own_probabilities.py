"""Models whose learners have probabilities of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.data.ingest.ingest import ingest
from olscale.models.file import load_model
from tests.models.test_saved_models import run_through


@pytest.mark.parametrize("name", ["logistic", "adagrad", "ftrl"])
def test_a_saved_model_predicts_and_learns_with_them(name: str, tmp_path: Path) -> None:
    dataset = ingest("sklearn:digits", tmp_path / "digits")
    _, model = run_through(dataset, name, ("unit-norm",))
    model.save(tmp_path / "model.olscale")
    loaded = load_model(tmp_path / "model.olscale")
    chunk = next(iter(dataset.chunks("train")))
    powers = np.exp(model.decision_function(chunk.X, encoded=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    before = loaded.predict_proba(chunk.X[:1], encoded=True)
    np.testing.assert_allclose(
        loaded.predict_proba(chunk.X, encoded=True), expected, rtol=1e-9
    )
    [learned] = loaded.learn(chunk.X[:1], chunk.y[:1])
    assert learned.probabilities is not None
    np.testing.assert_array_equal(learned.probabilities, before)
