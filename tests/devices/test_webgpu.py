"""What is WebGPU's own: limits that are told before the driver meets them, filters in the kernel, no wgpu."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import device_of, near

import slangad as sa
from slangad.compiler.api import load as calls
from slangad.compiler.api.program import read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.device.model import KernelLaunch
from slangad.compiler.runtime.device.open import open_device
from slangad.compiler.runtime.device.webgpu_device import WebgpuDevice
from slangad.compiler.runtime.device.webgpu_limits import check_shader
from slangad.compiler.runtime.device.wgsl import Shader
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.api.program import RunnableProgram

pytestmark = pytest.mark.toolchain
FOLDER = Path(__file__).parent
MANY = """
import slangad as sa
from slangad import Each

@sa.struct
class Wide:
    a: float
    b: float
    c: float
    d: float
    e: float

@sa.kernel
def wide(x: Each[Wide]) -> Each[float]:
    return x.a * x.b + x.c * x.d * x.e

@sa.kernel
def half(x: Each[sa.half]) -> Each[sa.half]:
    return x * x

@sa.kernel
def inside(x: Each[float]) -> Each[float]:
    return float(sa.double(x) * sa.double(x))

@sa.kernel(dims=2)
def plane(x: Each[float]) -> Each[float]:
    return x * x

@sa.kernel
def alone(x: Each[float], i: Each[int], w: sa.Tensor[sa.float2, 1]) -> Each[float]:
    return x * w[i].y if i >= 0 else x
"""


@pytest.fixture(scope="module")
def smallest(wgpu_device: object) -> Iterator[WebgpuDevice]:
    """A device with no feature, and no more buffers at once than every WebGPU has."""
    import wgpu

    adapter = wgpu.gpu.request_adapter_sync()
    limits = {"max-storage-buffers-per-shader-stage": 8, "max-compute-invocations-per-workgroup": 256}
    with WebgpuDevice(adapter.request_device_sync(required_limits=limits)) as device:
        yield device


@pytest.fixture
def program(tmp_path: Path) -> RunnableProgram:
    (tmp_path / "many.py").write_text(MANY, encoding="utf-8")
    return read_program(Input(tmp_path / "many.py"), Options(targets=(), cache=default_cache()))


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("wide_backward", "wide_backward needs 11 buffers at once, and this device has 8"),
        ("half_forward", "half_forward computes in half precision, which this device lacks"),
        ("inside_forward", "many.slang needs double, which it does not have"),
    ],
)
def test_load__more_than_the_device_has__names_it(
    smallest: WebgpuDevice, program: RunnableProgram, entry: str, reason: str
) -> None:
    with pytest.raises(ToolchainError, match=f"SA253.*{reason}"):
        program.load_on(smallest, (entry,))
    assert program.load_on(smallest, ("wide_forward",)).emitted is program.emitted


def test_submit__more_groups_than_an_axis_has__says_so(smallest: WebgpuDevice, program: RunnableProgram) -> None:
    loaded = program.load_on(smallest, ("plane_forward",))
    x, result = smallest.buffer(np.dtype("f4"), 4), smallest.buffer(np.dtype("f4"), 4)
    launch = KernelLaunch(loaded, "plane_forward", (2, 2, 1), {"domain": [2, 2], "x": x, "result": result})
    with pytest.raises(ToolchainError, match=r"SA253.*plane_forward needs \d+ groups along an axis.*has 65535"):
        smallest.submit([replace(launch, threads=(2, 1 << 24, 1))])
    x.upload(np.arange(4, dtype="f4"))
    smallest.submit([launch])
    assert result.download().tolist() == [0.0, 1.0, 4.0, 9.0]


def test_memory__larger_than_can_be_bound__is_refused(smallest: WebgpuDevice) -> None:
    most = smallest.handle.limits["max-storage-buffer-binding-size"]
    with pytest.raises(ToolchainError, match=r"SA251.*a buffer of .* MiB is needed, and one has .* MiB at most"):
        smallest.buffer(np.dtype("u1"), most + 4)
    texels = np.zeros((1, smallest.handle.limits["max-texture-dimension-2d"] + 1), "f4")
    with pytest.raises(ToolchainError, match=r"SA253.*a texture has 1 by \d+ texels"):
        smallest.texture(texels, sa.Texture2D)  # type: ignore[arg-type]  # not looked at


def test_halfs__in_rows_of_a_uniform_of_slang__are_refused(smallest: WebgpuDevice) -> None:
    shader = Shader("own", "struct M { @align(16) data_0 : array<vec8<f16>, i32(2)>, };", (64, 1, 1), ())
    with pytest.raises(ToolchainError, match=r"SA253.*own has a uniform of half matrices or arrays"):
        check_shader(shader, smallest.handle.limits, smallest.handle.features)


def test_buffers__of_odd_halves__keep_them_all(wgpu_device: object) -> None:
    with open_device("webgpu") as device:
        buffer = device.buffer(np.dtype("f2"), 3)
        buffer.upload(np.array([1.0, 2.0, 3.0]))
        assert buffer.download().tolist() == [1.0, 2.0, 3.0]


def test_textures__where_the_hardware_does_not_filter__are_filtered_in_the_kernel(
    smallest: WebgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    given = [rng.uniform(size=shape).astype("f4") for shape in ((500, 2), (5, 4, 3), (3, 6, 4))]
    given[0] = 3.0 * given[0] - 1.0
    expected = sa.load(FOLDER / "memories.py", "cpu").sample.backward(*given)
    monkeypatch.setitem(calls._OPEN, "webgpu", smallest)
    sample = sa.load(FOLDER / "memories.py", "webgpu").sample
    np.testing.assert_allclose(sample(*given), sa.load(FOLDER / "memories.py", "cpu").sample(*given), rtol=1e-4)
    found = sample.backward(*given)
    for key in ("uv", "t", "u"):
        scale = float(np.abs(expected.grad[key]).max())
        np.testing.assert_allclose(found.grad[key], expected.grad[key], rtol=1e-3, atol=1e-4 * scale)


def test_open__without_wgpu__tells_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wgpu", None)
    with pytest.raises(ToolchainError, match=r"SA249.*the device webgpu can't be used") as caught:
        open_device("webgpu")
    assert "pip install wgpu" in caught.value.diagnostics[0].help


def test_tensors__of_vectors_without_elements__are_bound(wgpu_device: object, program: RunnableProgram) -> None:
    alone = sa.load(program.file, "webgpu").alone
    out = alone.backward(np.ones(4, "f4"), np.full(4, -1), np.zeros((0, 2), "f4"))
    assert out.grad["x"].tolist() == [1.0] * 4
    assert out.grad["w"].shape == (0, 2)


NEGATED = """
[Differentiable]
float f(float2 a, float2 b, float3 c) {
    float2x2 m = float2x2(a, b), n = float2x2(b, a * 2);
    float2 d = float2(1, 2) - a;
    float2 negated = mul(-(m + n), -(a - b) * b);
    int2 i = -(int2(1, 2) + int2(3, 4));
    return dot(d, d) + negated.x + 3 * negated.y + float(i.x * i.y) - (-(c.x + c.y));
}
"""


@pytest.mark.parametrize("device", ["cpu", "webgpu"])
def test_negations__of_sums__are_those_of_whole_sums(cxx: object, tmp_path: Path, device: str) -> None:
    del cxx
    device_of(device)
    file = tmp_path / "f.slang"
    file.write_text(NEGATED)
    a, b, c = (np.array([v], np.float32) for v in ((0.5, 2.0), (3.0, -1.0), (1.0, 2.0, 4.0)))
    found = sa.load(file, device)["f"].backward(a=a, b=b, c=c)

    def value(a: np.ndarray, b: np.ndarray) -> complex:
        m, n, d = np.array([a, b]), np.array([b, 2 * a]), np.array([1, 2]) - a
        x, y = -(m + n) @ (-(a - b) * b)
        return complex(d @ d + x + 3 * y + 24 + 3)

    for name in ("a", "b"):
        for k in range(2):
            moved = {"a": a[0].astype(complex), "b": b[0].astype(complex)}
            moved[name][k] += 1e-30j
            near(found.grad[name][0, k], value(**moved).imag / 1e-30)
