"""Every pixel of a sequence is told as the learner of one stream tells it; masks and frames come from where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.cli import olscale
from olscale.compiled.csr import read_only
from olscale.errors import DatasetError, FormatError, OlscaleError, ParameterError
from olscale.learners.registry import make_learner
from olscale.video.agreement import Agreement
from olscale.video.background import MODELS, OLKBackground
from olscale.video.frames import frames, masks, write_mask
from olscale.video.ripples import ripples

SEQUENCE = [frame for frame, _ in ripples(seed=1, count=30, height=50, width=70)]
PARAMS: list[tuple[str, dict[str, float]]] = [
    ("olk-n", {"p": 9.0, "C": 0.3, "v": 0.05, "r": 0.01}),
    ("norma-n", {"p": 9.0, "eta": 0.1, "lam": 0.5, "nu": 0.2}),
]


def _told(name: str, params: dict[str, Any], sequence: list[np.ndarray]) -> np.ndarray:
    model = MODELS[name](**params)
    return np.array([model.learn(frame) for frame in sequence])


@pytest.mark.parametrize(("name", "params"), PARAMS)
def test_a_pixel_is_told_as_a_stream_of_its_own(name: str, params: dict[str, float]) -> None:
    """float32 coefficients may decide otherwise only where a score is within their rounding of 0."""
    told = _told(name, params, SEQUENCE)
    for at in ((0, 0), (20, 35), (49, 69)):
        learner = make_learner(name, params)
        learner.begin(1, 2)
        stream = np.array([frame[at] for frame in SEQUENCE], dtype=np.float64)[:, None]
        scores = learner.learn(read_only(stream), read_only(np.zeros(30, dtype=np.int64)))[:, 0]
        sure = np.abs(scores) > 1e-6
        np.testing.assert_array_equal(told[sure, at[0], at[1]], scores[sure] < 0)
        assert sure.sum() >= 20


@pytest.mark.parametrize(("name", "params"), PARAMS)
def test_frames_go_on_from_a_state_and_pixels_do_not_matter_to_each_other(
    name: str, params: dict[str, float]
) -> None:
    told = _told(name, params, SEQUENCE)
    first, second = MODELS[name](**params), MODELS[name](**params)
    for frame in SEQUENCE[:11]:
        first.learn(frame)
    second.restore(first.state())
    np.testing.assert_array_equal([second.learn(frame) for frame in SEQUENCE[11:]], told[11:])
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
def test_frames_that_do_not_go_with_the_first_are_refused(frame: np.ndarray, why: str) -> None:
    model = OLKBackground()
    model.learn(SEQUENCE[0])
    with pytest.raises(FormatError, match=why):
        model.learn(frame)


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ParameterError, match="expected 0 <= v <= C"):
        OLKBackground(C=0.1, v=0.2)


def test_frames_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        np.save(tmp_path / f"frame{number}.npy", np.full((2, 3), number))
    (tmp_path / "notes.txt").write_text("no frame")
    assert [int(frame[0, 0]) for frame in frames(tmp_path)] == [1, 9, 10]
    np.save(tmp_path / "all.npy", np.arange(12).reshape(2, 2, 3))
    assert [frame.shape for frame in frames(tmp_path / "all.npy")] == [(2, 3), (2, 3)]
    with pytest.raises(DatasetError, match="neither a folder nor"):
        list(frames(tmp_path / "absent"))


def test_masks_are_read_as_they_are_written(tmp_path: Path) -> None:
    mask = np.arange(6).reshape(2, 3) > 2
    write_mask(mask, tmp_path, 1)
    np.testing.assert_array_equal(next(masks(tmp_path)), mask)
    np.save(tmp_path / "three.npy", np.arange(12).reshape(1, 3, 4))
    with pytest.raises(FormatError, match="expected \\(height, width\\), 0 and one other value"):
        list(masks(tmp_path / "three.npy"))
    for name, odd in (("shadows", [0.0, 50.0, 255.0]), ("missing", [0.0, np.nan])):
        np.save(tmp_path / f"{name}.npy", np.array(odd)[:, None, None] * np.ones((1, 3, 4)))
        with pytest.raises(
            FormatError, match="expected \\(height, width\\), 0 and one other value"
        ):
            list(masks(tmp_path / f"{name}.npy"))


@pytest.mark.parametrize("shape", [(0, 4, 5), (3, 0, 5)])
def test_an_array_without_pixels_is_no_video(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "none.npy", np.zeros(shape))
    with pytest.raises(DatasetError, match="has no pixels"):
        list(frames(tmp_path / "none.npy"))


def test_the_command_writes_masks_and_says_how_good_they_are(tmp_path: Path) -> None:
    made = list(ripples(count=60, height=100, width=120))
    np.save(tmp_path / "frames.npy", [frame for frame, _ in made])
    np.save(tmp_path / "truth.npy", [mask for _, mask in made])
    options = [
        "--to",
        str(tmp_path / "masks"),
        "--truth",
        str(tmp_path / "truth.npy"),
        "--model",
        "olk-n:p=10",
    ]
    call = ["background", str(tmp_path / "frames.npy"), *options, "--after", "40"]
    done = CliRunner().invoke(olscale, call, catch_exceptions=False, standalone_mode=False)
    agreement = Agreement()
    for written, (_, mask) in list(zip(masks(tmp_path / "masks"), made, strict=True))[40:]:
        agreement.add(written, mask)
    assert (
        f"frames 41 to 60: precision {agreement.precision:.3f}, recall {agreement.recall:.3f}"
        in done.output
    )
    assert agreement.f1 > 0.6
    with pytest.raises(DatasetError, match="is there already"):
        CliRunner().invoke(olscale, call, catch_exceptions=False, standalone_mode=False)


@pytest.mark.parametrize(
    ("frames_of", "masks_of", "more", "why"),
    [
        ([(4, 5), (4, 6)], None, [], r"0002.npy.*\(4, 6\), expected \(4, 5\) as 0001.npy"),
        ([(4, 5), (4, 5)], [(4, 5)], [], "not as many masks"),
        ([(4, 5), (4, 5)], [(4, 1), (4, 1)], [], r"mask of shape \(4, 1\), expected \(4, 5\)"),
        ([(4, 5)], [(4, 5)], ["--after", "1"], "--after 1 leaves none of 1 frames"),
    ],
    ids=["shape", "fewer-masks", "broadcast", "after"],
)
def test_masks_are_written_all_or_none(
    tmp_path: Path, frames_of: list[Any], masks_of: list[Any] | None, more: list[str], why: str
) -> None:
    for name, shapes in (("frames", frames_of), ("truth", masks_of or [])):
        (tmp_path / name).mkdir()
        for number, shape in enumerate(shapes, 1):
            np.save(tmp_path / name / f"{number:04d}.npy", np.zeros(shape, dtype=np.uint8))
    known = [] if masks_of is None else ["--truth", str(tmp_path / "truth")]
    call = ["background", str(tmp_path / "frames"), "--to", str(tmp_path / "masks"), *known, *more]
    with pytest.raises(OlscaleError, match=why):
        CliRunner().invoke(olscale, call, catch_exceptions=False, standalone_mode=False)
    assert {path.name for path in tmp_path.iterdir()} == {"frames", "truth"}


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("olk-n:gamma=1", "unknown parameter of olk-n 'gamma'; there are: C, p, r, terms, v"),
        ("olk-n:p=wide", "olk-n: p was 'wide', expected a number"),
        ("norma-n:terms=1.5", "norma-n: terms was '1.5', expected a whole number"),
        ("norma-n:eta", "norma-n: eta was None, expected a number"),
    ],
)
def test_a_parameter_that_is_none_is_one_line(tmp_path: Path, model: str, why: str) -> None:
    call = ["background", "generated:ripples", "--to", str(tmp_path / "masks"), "--model", model]
    with pytest.raises(OlscaleError) as refused:
        CliRunner().invoke(olscale, call, catch_exceptions=False, standalone_mode=False)
    assert str(refused.value) == why
