"""Every pixel of a sequence is told as the learner of one stream tells it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from olscale.compiled.csr import read_only
from olscale.errors import FormatError, ParameterError
from olscale.learners.registry import make_learner

FOLDER = Path(__file__).parents[2] / "pipelines" / "olk-2013"


def _module(name: str) -> ModuleType:
    spec = spec_from_file_location(f"olk_2013_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


background = _module("background")
MODELS = {"olk-n": background.OLKBackground, "norma-n": background.NORMABackground}
OLKBackground = background.OLKBackground
ripples = _module("sequences").ripples

SEQUENCE = [frame for frame, _ in ripples(seed=1, count=30, height=50, width=70)]
PARAMS: list[tuple[str, dict[str, float]]] = [
    ("olk-n", {"p": 9.0, "C": 0.3, "v": 0.05, "r": 0.01}),
    ("norma-n", {"p": 9.0, "eta": 0.1, "lam": 0.5, "nu": 0.2}),
]


def _told(name: str, params: dict[str, Any], sequence: list[np.ndarray]) -> np.ndarray:
    model = MODELS[name](**params)
    return np.array([model.learn(frame) for frame in sequence])


@pytest.mark.parametrize(("name", "params"), PARAMS)
def test_a_pixel_is_told_as_a_stream_of_its_own(
    name: str, params: dict[str, float]
) -> None:
    """float32 coefficients may decide otherwise only where a score is within their rounding of 0."""
    told = _told(name, params, SEQUENCE)
    for at in ((0, 0), (20, 35), (49, 69)):
        learner = make_learner(name, params)
        learner.begin(1, 2)
        stream = np.array([frame[at] for frame in SEQUENCE], dtype=np.float64)[:, None]
        scores = learner.learn(
            read_only(stream), read_only(np.zeros(30, dtype=np.int64))
        )[:, 0]
        sure = np.abs(scores) > 1e-6
        np.testing.assert_array_equal(told[sure, at[0], at[1]], scores[sure] < 0)
        assert sure.sum() >= 20


@pytest.mark.parametrize(("name", "params"), PARAMS)
def test_pixels_do_not_matter_to_each_other(
    name: str, params: dict[str, float]
) -> None:
    told = _told(name, params, SEQUENCE)
    part = _told(name, params, [frame[7:31, 5:44] for frame in SEQUENCE])
    np.testing.assert_array_equal(part, told[:, 7:31, 5:44])


def test_the_oldest_frame_makes_room() -> None:
    model = OLKBackground(terms=4, r=0.0, p=1.0, C=0.5, v=0.5)
    frame = np.zeros((1, 1), dtype=np.uint8)
    for value in (9, 9, 9, 0, 0, 0):
        model.learn(frame + np.uint8(value))
    assert not model.learn(frame)[0, 0]
    assert model.learn(frame + np.uint8(9))[0, 0]


def test_colours_are_one_distance() -> None:
    """A grey picture in three channels is that of a width smaller by the root of three."""
    grey = _told("olk-n", {"p": 5.0}, SEQUENCE)
    colour = _told(
        "olk-n",
        {"p": 5.0 * np.sqrt(3.0)},
        [np.repeat(frame[..., None], 3, axis=2) for frame in SEQUENCE],
    )
    assert (grey != colour).mean() < 1e-3


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (
            np.zeros((70, 50), dtype=np.uint8),
            r"shape \(70, 50\), expected uint8 of shape \(50, 70\)",
        ),
        (np.zeros((50, 70)), "float64 of shape"),
        (np.full((50, 70), np.nan), "no numbers"),
    ],
)
def test_frames_that_do_not_go_with_the_first_are_refused(
    frame: np.ndarray, why: str
) -> None:
    model = OLKBackground()
    model.learn(SEQUENCE[0])
    with pytest.raises(FormatError, match=why):
        model.learn(frame)


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ParameterError, match="expected 0 <= v <= C"):
        OLKBackground(C=0.1, v=0.2)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "got 0 arguments, expected a folder"),
        (["/dev/null/x"], "give another folder"),
    ],
)
def test_a_bad_call_is_one_line(arguments: list[str], line: str) -> None:
    called = subprocess.run(
        [sys.executable, str(FOLDER), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert called.returncode == 1
    [message] = called.stderr.splitlines()
    assert line in message
