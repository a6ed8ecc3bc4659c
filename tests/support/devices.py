"""Devices that tests run on, kernels loaded on them once, and how near float64 their sums have to be.

A device that is absent, or whose adapter lacks a feature that the test needs, skips the test with the reason. With
``SLANGAD_REQUIRE_TOOLCHAIN=1`` it fails the test where software provides such a device.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pytest

from slangad.compiler.api.load import LoadedFile, opened_device
from slangad.compiler.api.program import read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.ir.targets import UNROLLED
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.api.program import RunnableProgram
    from slangad.compiler.runtime.device.model import Device

GPUS = ("vulkan", "cuda", "webgpu")
DEVICES = ("cpu", *GPUS)
SOFTWARE = ("vulkan", "webgpu")
"""Devices that every machine for tests has, in software."""
AS_ON_GPUS = " as on GPUs"
"""Ends the name of a device in software for which products of matrices are written out, as for GPUs."""
TINY = 1e-30


def device_of(name: str) -> Device:
    """A device, opened once in this process."""
    found = _opened(name)
    if isinstance(found, str):
        lacking(name, f"no {name} device: {found}")
    return found


def need_half(device: Device) -> None:
    """Skip or fail the test if the device's adapter has no half precision."""
    if not _has_half(device):
        lacking(device.name, f"the {device.name} adapter {device.adapter} has no half precision")


def _has_half(device: Device) -> bool:
    """Return True if the adapter says so; CUDA and the CPU always compute in half precision."""
    if device.name == "webgpu":
        return "shader-f16" in device.handle.features
    if device.name == "vulkan":
        import slangpy

        return slangpy.Feature.half in device.handle.features
    return True


def lacking(name: str, why: str) -> NoReturn:
    """Skip the test, or fail it where the device and its features must be there."""
    if name in SOFTWARE and os.environ.get("SLANGAD_REQUIRE_TOOLCHAIN") == "1":
        pytest.fail(why)
    pytest.skip(why)


@cache
def _opened(name: str) -> Device | str:
    try:
        return opened_device(name)
    except ToolchainError as error:
        return str(error)


@cache
def loaded(file: Path, name: str, *, deterministic: bool = False) -> LoadedFile:
    """The kernels of a file on a device, read once in this process.

    A name that ends in ``AS_ON_GPUS`` has the products of GPUs on a device in software.
    """
    device = device_of(name.removesuffix(AS_ON_GPUS)).name
    return LoadedFile(_read(file, is_unrolled=name.endswith(AS_ON_GPUS), deterministic=deterministic), device)


@cache
def _read(file: Path, *, is_unrolled: bool, deterministic: bool) -> RunnableProgram:
    """A description, which takes up to five seconds: all devices have the same."""
    defines = ((UNROLLED, ""),) if is_unrolled else ()
    return read_program(Input(file), Options((), defines=defines, cache=default_cache(), deterministic=deterministic))


def near(found: object, wanted: object, tolerance: float = 1e-5, *, size: object = None) -> None:
    """Asserts agreement of every element by itself.

    ``size`` is what the tolerance is relative to: the sum of what an element's parts are without their signs where
    these may cancel, or ``largest(wanted)``; the element itself where there is none.
    """
    expected = np.asarray(wanted, np.float64)
    assert np.shape(found) == expected.shape
    far = np.abs(np.asarray(found, np.float64) - expected)
    allowed = tolerance * np.maximum(np.abs(expected if size is None else np.asarray(size, np.float64)), TINY)
    assert np.all(far <= allowed), f"off by {float((far / allowed).max()):.2g} of what is allowed"


def largest(array: object) -> float:
    """The largest of the absolute values."""
    return float(np.abs(np.asarray(array, np.float64)).max(initial=0.0))


def near_all(found: object, exact: np.ndarray, least: float = 1e-3) -> bool:
    """True if all entries are near: by a thousandth of the largest of them, or of ``least`` if that is larger."""
    return bool((np.abs(np.asarray(found) - exact) <= 1e-3 * max(largest(exact), least)).all())
