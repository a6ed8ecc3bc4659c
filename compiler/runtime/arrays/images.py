"""Read pictures as arrays of floats, through Pillow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.runtime.arrays.files import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy.typing as npt
    from PIL.Image import Image

_KEPT: Final = ("L", "RGB", "RGBA")


def read_images(named: Iterable[tuple[str, Path]]) -> dict[str, npt.NDArray[Any]]:
    """Return pictures by key: rows from the top, numbers as stored, divided by the largest possible one.

    Grey pictures have the shape (height, width); others have an axis of 3 channels, or of 4 with transparency.

    Raises:
        CompileError: A file can't be read, or Pillow isn't there.
    """
    return {key: _read(path) for key, path in named}


def _read(path: Path) -> npt.NDArray[Any]:
    import numpy as np

    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise unreadable(path, "pictures need Pillow", "pip install 'slangad[images]'") from None
    try:
        with Image.open(path) as picture:
            if picture.mode.startswith("I;16"):
                return np.asarray(picture, np.float32) / 65535
            return np.asarray(_with_known_channels(picture), np.float32) / 255
    except UnidentifiedImageError:
        raise unreadable(path, "it is no picture that Pillow reads") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise unreadable(path, getattr(error, "strerror", None) or str(error)) from None


def _with_known_channels(picture: Image) -> Image:
    """Return a picture of grey, of colours, or of colours and transparency."""
    if picture.mode in _KEPT:
        return picture
    if picture.mode == "1":
        return picture.convert("L")
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")
