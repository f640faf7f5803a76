"""The palette can be told apart, on both grounds, by people who see colours otherwise, and in any legend."""

from __future__ import annotations

import numpy as np
import pytest

from olscale.analysis.summary import Summary
from olscale.learners.registry import learner_class, learner_names
from olscale.report.charts.spec import by_learner
from olscale.report.figures.looks import Looks
from olscale.report.palette import BASELINES, COLOURS, GREY

GROUNDS = ("#ffffff", "#121212")

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "deuteranope": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanope": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    share = XYZ @ np.clip(light, 0, 1) / (XYZ @ np.ones(3))
    x, y, z = np.where(
        share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    dark, bright = sorted(
        float(XYZ[1] @ linear(colour)) + 0.05 for colour in (one, other)
    )
    return bright / dark


@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_colours_are_far_apart(sight):
    places = [lab(SIGHTS[sight] @ linear(colour)) for colour in COLOURS]
    distances = [
        float(np.linalg.norm(one - other))
        for i, one in enumerate(places)
        for other in places[:i]
    ]

    assert min(distances) >= 20


def test_the_distance_is_that_of_cie76():
    black, white = lab(linear("#000000")), lab(linear("#ffffff"))

    assert np.linalg.norm(black - white) == pytest.approx(100)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("ground", GROUNDS)
def test_every_colour_stands_on_white_and_on_nearly_black(ground):
    assert min(contrast(colour, ground) for colour in (*COLOURS, GREY)) >= 3


def of(learner: str, mean: float = 0.2, **params: float) -> Summary:
    return Summary(
        "letter",
        "f",
        (),
        learner,
        "1",
        params,
        {"order": "permuted"},
        "test_error",
        mean,
        0.0,
        1,
    )


@pytest.mark.parametrize("count", range(2, 41))
def test_no_two_entries_of_a_legend_are_alike(count):
    shown = {f"l{i}": of(f"l{i}") for i in range(count - 1)} | {
        "majority": of("majority")
    }
    looks = Looks(shown.values()).of(shown)
    encoding = by_learner(looks, list(shown), "strokeDash")
    lines = zip(
        *(encoding[name]["scale"]["range"] for name in ("color", "strokeDash")),
        strict=True,
    )

    assert len({(colour, tuple(dash)) for colour, dash in lines}) == count
    assert len({tuple(look.values()) for look in looks.values()}) == count


def test_settings_beside_many_learners_are_told_apart():
    shown = {f"l{i} C={C}": of(f"l{i}", C=C) for i in range(12) for C in range(3)}
    looks = Looks(shown.values()).of(shown)

    assert len({tuple(look.values()) for look in looks.values()}) == 36


def test_the_best_of_many_learners_have_the_first_colours():
    shown = {f"l{i}": of(f"l{i}", mean=(40 - i) / 100) for i in range(30)}
    looks = Looks(shown.values()).of(shown)

    assert [looks[f"l{i}"]["color"] for i in range(29, 19, -1)] == list(COLOURS)
    few = dict(list(shown.items())[:5])
    assert [look["color"] for look in Looks(few.values()).of(few).values()] == list(
        COLOURS[:5]
    )


def test_baselines_are_those_of_the_registry():
    assert {
        name
        for name in learner_names()
        if getattr(learner_class(name), "baseline", False)
    } == BASELINES
