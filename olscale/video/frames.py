"""Frames of a sequence: images of a folder, arrays of one, or those of one array; masks go where frames come from."""

import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.errors import DatasetError, FormatError

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif", ".pgm", ".ppm")


def frames(source: str | Path) -> Iterator[NDArray[Any]]:
    """Yield the frames of `source`, of shape (height, width) or (height, width, channels).

    Parameters
    ----------
    source : path
        A folder of images (which Pillow reads) or of ``.npy`` files, a frame each, in the order of
        their names with numbers counted as numbers; or one ``.npy`` file of shape (frames, height,
        width[, channels]).

    Raises
    ------
    DatasetError, FormatError
        For a source without frames, and for a file that is none or differs from the first in shape.
    """
    path = Path(source)
    if path.is_file():
        stack = _array(path)
        if stack.ndim not in (3, 4):
            raise FormatError(
                str(path),
                f"an array of shape {stack.shape}, expected (frames, height, width[, channels])",
            )
        if not stack.size:
            raise DatasetError(
                f"{path} has no pixels: its shape is {stack.shape}; expected a frame at least"
            )
        yield from stack
        return
    files = frame_files(path)
    shape: tuple[int, ...] = ()
    for file in files:
        frame = _array(file) if file.suffix == ".npy" else _image(file)
        if frame.ndim not in (2, 3):
            raise FormatError(
                str(file), f"a frame of shape {frame.shape}, expected (height, width[, channels])"
            )
        if (shape := shape or frame.shape) != frame.shape:
            raise FormatError(
                str(file), f"a frame of shape {frame.shape}, expected {shape} as {files[0].name}"
            )
        yield frame


def masks(source: str | Path) -> Iterator[NDArray[np.bool_]]:
    """Yield known masks, given as `frames` are: True where the number is not 0.

    Raises
    ------
    FormatError
        For masks with more than one number besides 0: it is not known which of them are foreground.
    """
    known: set[float] = {0}
    for number, mask in enumerate(frames(source), 1):
        known |= set(np.unique(mask).tolist())
        if mask.ndim != 2 or len(known) > 2 or not all(map(isfinite, known)):
            found = f"shape {mask.shape}, and the values so far are {sorted(known)[:5]}"
            raise FormatError(
                f"{source}: mask {number}",
                f"{found}; expected (height, width), 0 and one other value",
            )
        yield mask != 0


def frame_files(folder: Path) -> list[Path]:
    """Return the files of a folder that are frames, in the order of the frames."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} is neither a folder nor an .npy file; expected frames")
    files = [
        file
        for file in folder.iterdir()
        if file.suffix.lower() in (".npy", *IMAGES) and file.is_file()
    ]
    if not files:
        raise DatasetError(
            f"{folder} has no frames; expected .npy files or images ({', '.join(IMAGES)})"
        )
    return sorted(
        files,
        key=lambda file: [
            int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", file.name)
        ],
    )


def write_mask(mask: NDArray[np.bool_], folder: Path, number: int) -> Path:
    """Write a mask, 255 for foreground, as an image, or as an array where Pillow is not installed."""
    values = np.where(mask, 255, 0).astype(np.uint8)
    path = folder / f"mask-{number:06d}.png"
    try:
        from PIL import Image
    except ImportError:
        path = path.with_suffix(".npy")
        np.save(path, values)
    else:
        Image.fromarray(values).save(path)
    return path


def _array(path: Path) -> NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FormatError(str(path), f"not an .npy file of numbers ({error})") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "buif":
        raise FormatError(str(path), "not an array of numbers")
    return array


def _image(path: Path) -> NDArray[Any]:
    try:
        from PIL import Image
    except ImportError:
        raise DatasetError(
            f"{path}: images need Pillow, pip install pillow; or give frames as .npy files"
        ) from None
    try:
        with Image.open(path) as image:
            grey = image.mode in ("1", "L", "I;16", "I", "F")
            return np.asarray(
                image if grey and image.mode != "1" else image.convert("L" if grey else "RGB")
            )
    except (OSError, ValueError) as error:
        raise FormatError(str(path), f"not an image ({error})") from None
