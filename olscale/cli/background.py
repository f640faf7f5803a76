"""``olscale background``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from olscale.cli.say import say

GENERATED = {
    "generated:ripples": "olscale.video.ripples:ripples",
    "generated:indoor": "olscale.video.indoor:indoor",
    "generated:indoor-nine": "olscale.video.indoor:indoor_nine",
}


@click.command(short_help="Tell moving things from the background in the frames of a video.")
@click.argument("frames")
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    required=True,
    help="New folder for the masks, an image a frame.",
)
@click.option(
    "--model",
    default="olk-n",
    show_default=True,
    metavar="NAME[:KEY=VALUE,...]",
    help="olk-n or norma-n.",
)
@click.option(
    "--truth",
    metavar="MASKS",
    help="Known masks, given as frames are: precision and recall are printed.",
)
@click.option(
    "--after",
    type=click.IntRange(0),
    default=0,
    help="First frames that precision and recall leave out.",
)
def background(frames: str, folder: str, model: str, truth: str | None, after: int) -> None:
    """Write a mask for each of FRAMES, 255 where a pixel is foreground, 0 where it is as in the frames before.

    FRAMES is a folder of images or .npy files, an .npy file of shape (frames, height, width[,
    channels]), or generated with known masks: generated:ripples, a body on rippling water,
    generated:indoor, one in a room, or generated:indoor-nine, nine frames of that. A frame is told
    first and then learned: one pass.
    """
    from math import isnan
    from tempfile import TemporaryDirectory
    from time import process_time

    from olscale.errors import DatasetError
    from olscale.video.agreement import Agreement
    from olscale.video.frames import write_mask

    told = _model(model)
    target = Path(folder)
    agreement = Agreement()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DatasetError(f"{folder} is there already; expected a new folder for the masks")
    seconds = 0.0
    number = 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(
        dir=target.parent, prefix=f".{target.name}-"
    ) as unfinished:  # all masks or none
        made = Path(unfinished) / "masks"
        made.mkdir()
        for number, (frame, known) in enumerate(_sequence(frames, truth), 1):
            begun = process_time()
            mask = told.learn(frame)
            seconds += (
                process_time() - begun if number > 1 else 0.0
            )  # the first waits for the compiler
            write_mask(mask, made, number)
            if known is not None and number > after:
                agreement.add(mask, known)
        if after >= number and truth:
            raise DatasetError(f"--after {after} leaves none of {number} frames, expected fewer")
        made.replace(target)
    speed = f", {(number - 1) / seconds:.0f} frames/s of processor time" if seconds else ""
    say(f"{number:,} masks in {folder}{speed}")
    if truth or frames in GENERATED:
        shares = {"precision": agreement.precision, "recall": agreement.recall, "F1": agreement.f1}
        shares["false alarms"] = agreement.false_alarms
        told_of = ", ".join(
            f"{name} {'-' if isnan(share) else f'{share:.3f}'}" for name, share in shares.items()
        )
        say(f"frames {after + 1:,} to {number:,}: {told_of}")


def _model(text: str) -> Any:
    from inspect import signature

    from olscale.errors import ParameterError, UnknownNameError
    from olscale.named_parameters import parse_named
    from olscale.video.background import MODELS

    name, pairs = parse_named(text)
    if name not in MODELS:
        raise UnknownNameError("model", name, list(MODELS))
    known = signature(MODELS[name]).parameters
    given = {}
    for key, value in pairs:
        if key not in known:
            raise UnknownNameError(f"parameter of {name}", key, list(known))
        kind = type(known[key].default)
        try:
            given[key] = kind(value or "")
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise ParameterError(f"{name}: {key} was {value!r}, expected {expected}") from None
    return MODELS[name](**given)


def _sequence(source: str, truth: str | None) -> Iterator[tuple[Any, Any]]:
    """Yield frames with their known masks, None where there are none."""
    from pkgutil import resolve_name

    from olscale.errors import DatasetError
    from olscale.video.frames import frames, masks

    if source in GENERATED:
        yield from resolve_name(GENERATED[source])()
    elif truth is None:
        yield from ((frame, None) for frame in frames(source))
    else:
        try:
            yield from zip(frames(source), masks(truth), strict=True)
        except ValueError:
            raise DatasetError(
                f"{truth} has not as many masks as {source} has frames; expected one for each"
            ) from None
