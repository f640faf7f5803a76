"""Examples 4 and 5 of the OLK paper, the background of videos: ``python pipelines/olk-2013 OUT``.

Writes figures 10, 12 and 13 to the folder OUT, and prints how far masks agree with the known ones.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from background import BackgroundModel, NORMABackground, OLKBackground
from numpy.typing import NDArray
from sequences import Frames, indoor, indoor_nine, ripples

from olscale.report.figures.style import panels, styled

Masks = list[NDArray[np.bool_]]

MODELS: dict[str, Callable[[], BackgroundModel]] = {
    "OLK-N, p = 5": OLKBackground,
    "OLK-N, p = 10": lambda: OLKBackground(p=10.0),
    "NORMA, p = 15": NORMABackground,
    "NORMA, p = 8": lambda: NORMABackground(p=8.0),
}
FEW: dict[str, Callable[[], BackgroundModel]] = {
    "OLK-N, p = 20, C = 0.5": lambda: OLKBackground(p=20.0, C=0.5),
    "OLK-N, p = 5": OLKBackground,
}
EXAMPLES: dict[
    str,
    tuple[
        Callable[[], Frames],
        dict[str, Callable[[], BackgroundModel]],
        tuple[int, ...],
        int,
    ],
] = {
    "olk-2013-fig10": (ripples, MODELS, (45, 75, 105), 51),
    "olk-2013-fig12": (indoor, MODELS, (45, 70, 95), 51),
    "olk-2013-fig13": (indoor_nine, FEW, (5, 7, 9), 5),
}
"""Of each figure: frames, models, numbers of the frames it shows, and the first that counts."""


def main(folder: Path) -> None:
    """Draw all figures and print the table of agreement."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        sys.exit(
            f"cannot write figures to {folder}: {fault.strerror}; give another folder"
        )
    print("figure | model | precision | recall | F1 | false alarms")
    for name, (sequence, models, shown, first) in EXAMPLES.items():
        made = list(sequence())
        truth = [mask for _, mask in made]
        masks = {label: learned(make(), made) for label, make in models.items()}
        for label, told in masks.items():
            shares = agreement(told[first - 1 :], truth[first - 1 :])
            print(" | ".join([name, label, *(f"{share:.3f}" for share in shares)]))
        draw(folder / f"{name}.png", [frame for frame, _ in made], masks, shown)


def learned(
    model: BackgroundModel, sequence: list[tuple[NDArray[np.uint8], object]]
) -> Masks:
    """Return the masks of frames, each as it is before the frame is learned."""
    return [model.learn(frame) for frame, _ in sequence]


def agreement(masks: Masks, truth: Masks) -> tuple[float, float, float, float]:
    """Return precision, recall and F1 of the foreground, and the share of false alarms.

    Examples
    --------
    >>> masks = [np.array([[True, True], [False, False]])]
    >>> agreement(masks, [np.array([[True, False], [True, False]])])
    (0.5, 0.5, 0.5, 0.5)
    """
    told = np.array(masks)
    known = np.array(truth)
    hits = int((told & known).sum())
    false = int((told & ~known).sum())
    missed = int((~told & known).sum())
    quiet = int((~told & ~known).sum())
    return (
        hits / (hits + false),
        hits / (hits + missed),
        2 * hits / (2 * hits + false + missed),
        false / (false + quiet),
    )


def draw(
    file: Path,
    frames: list[NDArray[np.uint8]],
    masks: dict[str, Masks],
    shown: tuple[int, ...],
) -> None:
    """Draw frames, and below them what each model takes for foreground, white."""
    with styled():
        count = len(shown) * (len(masks) + 1)
        figure, axes = panels(count, width=1.8, height=1.5, across=len(shown))
        for line, (label, pictures) in enumerate({"frame": frames, **masks}.items()):
            # Without limits a mask that is all foreground would be black.
            white = 255 if label == "frame" else 1
            for column, number in enumerate(shown):
                axis = axes[line * len(shown) + column]
                axis.imshow(pictures[number - 1], cmap="gray", vmin=0, vmax=white)
                title = f"frame {number}" if label == "frame" else label
                axis.set(title=title, xticks=[], yticks=[])
        figure.savefig(file)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(
            f"got {len(sys.argv) - 1} arguments, expected a folder: python {sys.argv[0]} OUT"
        )
    main(Path(sys.argv[1]))
