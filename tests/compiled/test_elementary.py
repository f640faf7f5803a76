"""Elementary functions are as exact as they say, and loops call none of the C library, whose versions differ in bits."""

from __future__ import annotations

import hashlib
import math
import pickle
from typing import Any

import numpy as np
import pytest

from olscale.compiled.decorator import compiled
from olscale.compiled.elementary import (
    falling_power,
    logarithm,
    logarithm_of_sum,
)
from olscale.learners.kernel import kernel_loop
from olscale.learners.linear import regression
from olscale.learners.local import ollc
from olscale.learners.registry import LEARNERS

C_LIBRARY = {
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "pow",
    "sin",
    "cos",
    "tan",
    "tanh",
}

LOOPS = {
    "ollc": ollc._learn_and_score,
    "norma": kernel_loop.learn_and_score,
    "sgd-r": regression.learn_targets,
}

# Made by exact steps alone: NumPy's powers have other last bits on other machines.
MANTISSAS = 1.0 + np.arange(20) / 20.0
UP_TO_1E15 = np.ldexp(MANTISSAS, np.arange(50)[:, None]).ravel()
FROM_1E_300 = np.ldexp(MANTISSAS, -20 * np.arange(1, 51)[:, None]).ravel()[::-1]
NUMBERS = np.concatenate([np.arange(1.0, 1000.0), UP_TO_1E15, FROM_1E_300])
SHARES = np.concatenate([np.arange(1000.0) / 999.0, FROM_1E_300])
STEPS = NUMBERS[NUMBERS >= 1.0].round()
POWERS = (0.0, 0.3, 0.5, 0.75, 1.0)


@compiled
def _fill(
    numbers: np.ndarray, shares: np.ndarray, steps: np.ndarray, powers: Any, out: Any
) -> None:
    logarithms, of_sums, falling = out
    for i in range(len(numbers)):
        logarithms[i] = logarithm(numbers[i])
    for i in range(len(shares)):
        of_sums[i] = logarithm_of_sum(shares[i])
    for i in range(len(steps)):
        for n in range(len(powers)):
            falling[n, i] = falling_power(steps[i], powers[n])


@pytest.fixture(scope="module")
def values() -> tuple[np.ndarray, ...]:
    sizes = len(NUMBERS), len(SHARES), (len(POWERS), len(STEPS))
    out = tuple(np.empty(size) for size in sizes)
    _fill(NUMBERS, SHARES, STEPS, np.array(POWERS), out)
    return out


def test_they_are_exact(values: tuple[np.ndarray, ...]) -> None:
    logarithms, of_sums, falling = values
    np.testing.assert_allclose(
        logarithms, list(map(math.log, NUMBERS)), rtol=3e-16, atol=0.0
    )
    np.testing.assert_allclose(
        of_sums, list(map(math.log1p, SHARES)), rtol=3e-16, atol=0.0
    )
    for power, got in zip(POWERS, falling, strict=True):
        expected = [math.pow(t, -power) for t in STEPS]
        exact = power in (0.0, 0.5, 1.0)
        tolerance = 4e-16 if exact else 3e-16 * (1.0 + power * math.log(STEPS.max()))
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=0.0)


def test_their_bits_are_fixed(values: tuple[np.ndarray, ...]) -> None:
    digests = [hashlib.sha256(array.tobytes()).hexdigest()[:16] for array in values]
    assert digests == ["97f16ad582858809", "5a2383bf8e148692", "f8b07b312a5d3797"]


def machine_code(loop: Any, signature: Any) -> bytes:
    """Return what the cache has for a compiled loop: names of the functions that it calls stand in it as they are."""
    key = loop._cache._index_key(signature, loop.targetctx.codegen())
    return pickle.dumps(loop._cache._cache_file.load(key))


@pytest.mark.parametrize("name", list(LOOPS))
def test_learners_call_no_function_of_the_c_library(name: str) -> None:
    learner = LEARNERS.load(name)()
    learner.begin(2, 2)
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [0.5, 1.5]])
    rows.flags.writeable = False
    labels = np.array([0, 1, 0])
    learner.learn(rows, labels.astype(np.float64) if name.endswith("-r") else labels)
    loop: Any = LOOPS[name]
    called = {
        function
        for signature in loop.overloads
        for function in C_LIBRARY
        if b"\0" + function.encode() + b"\0" in machine_code(loop, signature)
    }
    assert loop.overloads
    assert called == set()
