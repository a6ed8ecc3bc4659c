"""Read and write pictures as arrays of floats, through Pillow."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.runtime.arrays.array_keys import PREFIXES
from slangad.compiler.runtime.arrays.files import unreadable, write_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from types import ModuleType

    import numpy.typing as npt
    from PIL.Image import Image

_KEPT: Final = ("L", "RGB", "RGBA", "F", "I")
_CHANNELS: Final = (1, 3, 4)
_OTHERS: Final = frozenset((".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".exr", ".hdr", ".pfm", ".svg"))


def read_images(named: Iterable[tuple[str, Path]]) -> dict[str, npt.NDArray[Any]]:
    """Return pictures by key: rows from the top, numbers as stored, divided by the largest possible one.

    Numbers of pictures of floats stay as they are. Photos are upright, as their EXIF orientation says.
    Grey pictures have the shape (height, width); others have an axis of 3 channels, or of 4 with transparency.

    Raises:
        CompileError: A file can't be read, or Pillow isn't there.
    """
    return {key: _read(path) for key, path in named}


def _read(path: Path) -> npt.NDArray[Any]:
    import numpy as np

    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise unreadable(path, "pictures need Pillow", "pip install 'slangad[images]'") from None
    try:
        with Image.open(path) as stored:
            white = np.float32(_white(path, stored))
            return np.asarray(_with_known_channels(ImageOps.exif_transpose(stored)), np.float32) / white
    except UnidentifiedImageError:
        raise unreadable(path, "it is no picture that Pillow reads") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise unreadable(path, getattr(error, "strerror", None) or str(error)) from None


def _white(path: Path, picture: Image) -> int:
    """Return the number that becomes 1.

    Raises:
        CompileError: The numbers have 32 bits: nothing says which of them is white.
    """
    if picture.mode == "I" and picture.format != "PNG":
        why = "its numbers have 32 bits, and nothing says which of them is white"
        raise unreadable(path, why, "write them as floats to an .npz file, and give that with -i")
    return {"F": 1, "I": 65535}.get(picture.mode.partition(";")[0], 255)


def _with_known_channels(picture: Image) -> Image:
    """Return a picture of grey, of colours, or of colours and transparency."""
    if picture.mode in _KEPT or picture.mode.startswith("I;16"):
        return picture
    if picture.mode == "1":
        return picture.convert("L")
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def is_picture_file(path: Path) -> bool:
    """Return True if an output file is a picture by its name."""
    return path.suffix.lower() == ".png"


def check_output(path: Path) -> None:
    """Refuse an output file that could not be written after the run.

    Raises:
        CompileError: It is a picture of another kind than ``.png``, or Pillow isn't there.
    """
    if path.suffix.lower() in _OTHERS:
        raise _unwritable(path, "pictures are written as .png", f"-o {path.with_suffix('.png')}, or .npz for arrays")
    if is_picture_file(path):
        _pillow(path)


def _pillow(path: Path) -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise _unwritable(path, "pictures need Pillow", "pip install 'slangad[images]'") from None
    return Image


def array_writer(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> Callable[[IO[bytes]], object]:
    """Return what writes an output file: a picture if its name says so, else all arrays.

    Raises:
        CompileError: No array is a picture, or several are, or Pillow isn't there.
    """
    picture = as_picture(path, arrays)
    return (lambda file: write_arrays(file, arrays)) if picture is None else (lambda file: file.write(picture))


def as_picture(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes | None:
    """Return the contents of an output file whose name ends in ``.png``; None for other names.

    A picture has the only float array with rows, columns, and perhaps 1, 3 or 4 channels; results come before
    gradients and tangents. Numbers from 0 to 1 become bytes, others the nearest of these, and NaN 0.

    Raises:
        CompileError: No array is a picture, or several are, or Pillow isn't there.
    """
    if not is_picture_file(path):
        return None
    import numpy as np

    image = _pillow(path)
    array = np.nan_to_num(np.asarray(_picture(path, arrays), np.float64), nan=0.0)
    levels = np.rint(np.clip(array, 0.0, 1.0) * 255.0).astype(np.uint8)
    stream = io.BytesIO()
    image.fromarray(levels[..., 0] if levels.shape[2:] == (1,) else levels).save(stream, "PNG")
    return stream.getvalue()


def _picture(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the array that is written as a picture."""
    pictures = {key: array for key, array in arrays.items() if is_picture(array)}
    results = {key: array for key, array in pictures.items() if not key.startswith(tuple(PREFIXES.values()))}
    chosen = results or pictures
    if len(chosen) == 1:
        return next(iter(chosen.values()))
    shown = ", ".join(f"{key} {tuple(array.shape)}" for key, array in (chosen or arrays).items())
    why = "several outputs are pictures" if chosen else "no output is a float array of rows and columns"
    raise _unwritable(path, f"{why}: {shown}", "write all arrays to a file that ends in .npz")


def is_picture(array: npt.NDArray[Any]) -> bool:
    """Return True for a float array with rows, columns, and perhaps 1, 3 or 4 channels."""
    shaped = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in _CHANNELS)
    return array.dtype.kind == "f" and shaped and array.size > 0


def _unwritable(path: Path, why: str, help_: str) -> CompileError:
    return CompileError([Diagnostic("SA405", f"can't write {path}: {why}", help=help_)])
