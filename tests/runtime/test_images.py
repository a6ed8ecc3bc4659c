"""Pictures as inputs: what Pillow wrote is read with its channels; anything else is one clear message."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.runtime.arrays.images import as_picture, read_images

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = np.random.default_rng(3).integers(0, 256, (5, 7, 4)).astype(np.uint8)


@pytest.mark.parametrize(("mode", "channels"), [("L", 0), ("RGB", 3), ("RGBA", 4)])
def test_picture__of_some_channels__has_its_numbers_by_row(tmp_path: Path, mode: str, channels: int) -> None:
    stored = NUMBERS[..., :channels] if channels else NUMBERS[..., 0]
    Image.fromarray(stored, mode).save(tmp_path / "a.png")
    found = read_images([("seen", tmp_path / "a.png")])["seen"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, stored.astype(np.float32) / 255)


def test_picture__of_16_bits__goes_from_0_to_1(tmp_path: Path) -> None:
    stored = np.array([[0, 1, 32768], [65535, 300, 7]], np.uint16)
    Image.fromarray(stored).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_images([("x", tmp_path / "a.png")])["x"], stored.astype(np.float32) / 65535)


def test_picture__of_floats__has_its_numbers(tmp_path: Path) -> None:
    stored = np.random.default_rng(5).uniform(-1.0, 3.0, (5, 7)).astype(np.float32)
    Image.fromarray(stored).save(tmp_path / "a.tiff")
    np.testing.assert_array_equal(read_images([("x", tmp_path / "a.tiff")])["x"], stored)


def test_picture__of_integers_of_32_bits__is_refused(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1, 70000]], np.int32)).save(tmp_path / "a.tiff")
    with pytest.raises(CompileError, match="nothing says which of them is white"):
        read_images([("x", tmp_path / "a.tiff")])


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_photo__of_a_turned_camera__is_upright(tmp_path: Path, orientation: int) -> None:
    picture = Image.fromarray(NUMBERS[..., :3], "RGB")
    exif = picture.getexif()
    exif[0x0112] = orientation
    picture.save(tmp_path / "a.png", exif=exif)
    turns = {1: 0, 3: 2, 6: 3, 8: 1}[orientation]
    expected = np.rot90(NUMBERS[..., :3], turns).astype(np.float32) / 255
    np.testing.assert_array_equal(read_images([("x", tmp_path / "a.png")])["x"], expected)


def test_picture__of_other_modes__has_three_channels_or_four_or_is_grey(tmp_path: Path) -> None:
    palette = Image.fromarray(NUMBERS[..., :3], "RGB").quantize(8)
    palette.save(tmp_path / "a.png")
    palette.save(tmp_path / "b.png", transparency=0)
    Image.fromarray(NUMBERS[..., 0] > 100).save(tmp_path / "c.png")
    found = read_images((name, tmp_path / f"{name}.png") for name in "abc")
    assert [found[name].shape for name in "abc"] == [(5, 7, 3), (5, 7, 4), (5, 7)]
    assert set(np.unique(found["c"])) == {0.0, 1.0}
    np.testing.assert_array_equal(found["a"], np.asarray(palette.convert("RGB"), np.float32) / 255)


def test_no_picture__missing_or_cut_off_or_text__is_refused(tmp_path: Path) -> None:
    Image.fromarray(NUMBERS[..., :3], "RGB").save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:90])
    (tmp_path / "text.png").write_text("no picture")
    for name, why in (("cut", "can't read"), ("text", "no picture that Pillow reads"), ("gone", "No such file")):
        with pytest.raises(CompileError) as refused:
            read_images([("x", tmp_path / f"{name}.png")])
        assert refused.value.diagnostics[0].code == "SA415"
        assert why in refused.value.diagnostics[0].message


def test_picture__without_pillow__names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(CompileError) as refused:
        read_images([("x", tmp_path / "a.png")])
    assert refused.value.diagnostics[0].help == "pip install 'slangad[images]'"


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (5, 7, 3), (5, 7, 4)])
def test_output__of_rows_and_columns__is_a_picture(tmp_path: Path, shape: tuple[int, ...]) -> None:
    stored = np.random.default_rng(4).integers(0, 256, shape).astype(np.uint8)
    path = tmp_path / "a.PNG"
    arrays = {"image": stored.astype(np.float32) / 255, "grad.image": np.zeros(shape), "counts": np.zeros((5, 7), int)}
    path.write_bytes(as_picture(path, arrays) or b"")
    found = read_images([("image", path)])["image"]
    np.testing.assert_array_equal(found.reshape(shape), stored.astype(np.float32) / 255)


def test_output__beyond_0_to_1__is_the_nearest_number(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(as_picture(path, {"grad.x": np.array([[-3.0, 0.5, 7.0, np.nan, np.inf]])}) or b"")
    np.testing.assert_array_equal(np.asarray(Image.open(path)), [[0, 128, 255, 0, 255]])


def test_output__of_no_picture_or_several__is_refused(tmp_path: Path) -> None:
    flat, picture = np.zeros(3, np.float32), np.zeros((2, 2), np.float32)
    assert as_picture(tmp_path / "a.npz", {"x": flat}) is None
    with pytest.raises(CompileError, match=r"no output is a float array of rows and columns: x \(3,\)"):
        as_picture(tmp_path / "a.png", {"x": flat})
    with pytest.raises(CompileError, match=r"several outputs are pictures: x \(2, 2\), y \(2, 2\)"):
        as_picture(tmp_path / "a.png", {"x": picture, "y": picture, "grad.x": picture})
