"""Methods of decorated objects in scripts, ``python -c``, standard input and notebook cells."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.notebooks import Notebook

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, float3
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.runtime.arrays.prepare import InputError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.toolchain, pytest.mark.usefixtures("cxx")]

SCRIPT = """
import numpy as np
import slangad as sa
from slangad import Each, Param, Sum


@sa.kernel
def fit(x: Each[float], a: Param[float]) -> Sum[float]:
    return (a * x - 1.0) ** 2


out = fit.backward(x=np.linspace(0, 1, 3), a=2.0, device="cpu")
print(out.result, out.grad.a)
"""
PRINTED = "2.0 2.0\n"


def _python(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, **options)


@pytest.fixture
def notebook() -> Notebook:
    made = Notebook()
    made.run("import numpy as np, slangad as sa\nfrom slangad import Each, Param, Sum")
    return made


# --- where a program may stand -----------------------------------------------------------------------------------


def test_backward__of_a_script_without_guard__runs(tmp_path: Path) -> None:
    (tmp_path / "fit.py").write_text(SCRIPT, encoding="utf-8")
    ended = _python(str(tmp_path / "fit.py"))
    assert (ended.stdout, ended.stderr) == (PRINTED, "")


def test_backward__of_a_command__runs() -> None:
    assert _python("-Bc", SCRIPT, "word").stdout == PRINTED


def test_backward__of_standard_input__runs_from_a_file_and_refuses_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "fit.py"
    path.write_text(SCRIPT, encoding="utf-8")
    with path.open(encoding="utf-8") as file:
        assert _python("-", stdin=file).stdout == PRINTED
    last = _python("-", input=SCRIPT).stderr.splitlines()[-2:]
    assert last[0].endswith("<stdin>:7:1: error[SA038]: the source of fit can't be read from <stdin>")
    assert last[1] == "  = help: a pipe can't be read twice: write a file, or python -c, or python - < FILE"


def test_backward__of_a_text_that_exec_runs__says_to_write_a_file() -> None:
    names: dict[str, Any] = {}
    exec(SCRIPT.partition("out =")[0], names)
    with pytest.raises(CompileError, match="put the definition into a file"):
        names["fit"].backward(x=[1.0], a=1.0, device="cpu")


# --- cells -------------------------------------------------------------------------------------------------------


def test_cells__a_name_that_changes_later__compiles_again(notebook: Notebook) -> None:
    notebook.run("SCALE = 2.0\n\n@sa.differentiable\ndef curve(x: float) -> float:\n    return SCALE * x")
    notebook.run(
        "@sa.kernel\ndef fit(x: Each[float], a: Param[float]) -> Sum[float]:\n"
        "    return a * curve(x)\n"
        "fit.backward(x=[1.0, 2.0], a=3.0, device='cpu').result"
    )
    call = "fit.backward(x=[1.0, 2.0], a=3.0, device='cpu').result"
    assert notebook.run(call) == 18.0
    assert notebook.run("fit.on('cpu').program is fit.on('cpu').program")
    assert notebook.run(f"SCALE = 5.0\n{call}") == 45.0
    assert notebook.run(f"@sa.differentiable\ndef curve(x: float) -> float:\n    return -x\n{call}") == -9.0
    again = notebook.run(
        "@sa.kernel\ndef fit(x: Each[float], a: Param[float]) -> Sum[float]:\n    return a + x\n" + call
    )
    assert again == 9.0


STRUCT_CELL = """
@sa.struct
class Lens:
    f: float
    def at(self, x: float) -> float:
        return x * self.f * FACTOR
"""


def test_cells__a_struct_that_is_defined_again__is_refused_by_an_earlier_kernel(notebook: Notebook) -> None:
    kernel = "@sa.kernel\ndef fit(lens: Param[Lens], x: Each[float]) -> Sum[float]:\n    return lens.at(x)\n"
    call = "fit.forward(Lens(2.0), [1.0, 2.0], device='cpu').result"
    notebook.run(STRUCT_CELL.replace("FACTOR", "1.0"))
    assert notebook.run(kernel + call) == 6.0
    notebook.run(STRUCT_CELL.replace("FACTOR", "1.0"))
    assert notebook.run(call) == 6.0
    notebook.run(STRUCT_CELL.replace("FACTOR", "10.0"))
    with pytest.raises(InputError, match="lens is of a class Lens that was defined after fit"):
        notebook.run(call)
    assert notebook.run(kernel + call) == 60.0


def test_cells__an_array_that_changes_in_place__compiles_again(notebook: Notebook) -> None:
    notebook.run(
        "W = np.float32([1, 2])\n@sa.kernel\ndef k(x: Each[float]) -> Each[float]:\n    return W[0] * x + W[1]"
    )
    assert notebook.run("k.forward([1.0], device='cpu').result").tolist() == [3.0]
    assert notebook.run("W[1] = 5\nk.forward([1.0], device='cpu').result").tolist() == [6.0]


def test_cells__errors__point_into_the_cell(notebook: Notebook) -> None:
    with pytest.raises(CompileError) as caught:
        notebook.run("@sa.kernel\ndef k(x: Each[float]) -> Each[float]:\n    return nothing(x)\nk.forward([1.0])")
    text = str(caught.value)
    assert f"{notebook.files[-1]}:3:12: error[SA010]: unknown name 'nothing'" in text
    assert "3 |     return nothing(x)" in text


def test_cells__a_factory__gives_one_kernel_for_equal_arguments(notebook: Notebook) -> None:
    notebook.run(
        "def power(n):\n    @sa.kernel\n    def raised(x: Each[float]) -> Each[float]:\n        r = 1.0\n"
        "        for i in range(n):\n            r *= x\n        return r\n    return raised"
    )
    assert notebook.run("power(3).forward([2.0], device='cpu').result").tolist() == [8.0]
    assert notebook.run("power(4).forward([2.0], device='cpu').result").tolist() == [16.0]
    assert notebook.run("power(3) is power(3)")


def test_cells__equal_text_in_two_cells__gives_equal_slang(notebook: Notebook) -> None:
    text = "@sa.kernel\ndef k(x: Each[float]) -> Each[float]:\n    return x * x\nk.slang"
    assert notebook.run(text) == notebook.run(text)


def test_cells__a_kernel_that_is_replaced__is_not_kept_alive(notebook: Notebook) -> None:
    notebook.run("@sa.kernel\ndef k(x: Each[float]) -> Each[float]:\n    return x * x\nk.forward([1.0], device='cpu')")
    gone = weakref.ref(notebook.names["k"])
    notebook.run("k = None")
    gc.collect()
    assert gone() is None


# --- objects of a module ---------------------------------------------------------------------------------------------


@sa.struct
class Material:
    albedo: float3
    gloss: float


@sa.differentiable
def shade(m: Material, cos_angle: float, power: float = 1.0) -> float3:
    """A diffuse colour and a highlight."""
    return m.albedo + sa.exp2(m.gloss * (cos_angle - 1.0)) * power


@sa.kernel
def fit(m: Param[Material], cos_angle: NoDiff[Each[float]], seen: NoDiff[Each[float3]]) -> Mean[float]:
    error = shade(m, cos_angle) - seen
    return sa.dot(error, error)


@sa.pipeline(optimizer=sa.Adam(lr=0.1))
def fitted(m: Param[Material], cos_angle: NoDiff[Each[float]], seen: NoDiff[Each[float3]]) -> Mean[float]:
    return fit(m, cos_angle, seen)


@sa.differentiable
def pair(x: float, w: Array[float, 2]) -> tuple[float, float]:
    return x * w[0], x * x * w[1]


ANGLES = np.linspace(0.0, 1.0, 6, dtype=np.float32)
SEEN = np.zeros((6, 3), np.float32)
MATERIAL = {"albedo": [0.2, 0.4, 0.6], "gloss": 0.3}


def test_methods__of_a_kernel__agree_with_a_loaded_file() -> None:
    file = sa.load(__file__, device="cpu").fit
    expected = file.backward(MATERIAL, ANGLES, SEEN)
    found = fit.backward(Material(float3(0.2, 0.4, 0.6), 0.3), ANGLES, SEEN, device="cpu")
    assert found.result == expected.result
    np.testing.assert_array_equal(found.grad.m.albedo, expected.grad["m"]["albedo"])
    np.testing.assert_array_equal(found.grad["m.albedo"], expected["grad.m.albedo"])
    assert ("m.gloss" in found.grad, "m.glos" in found.grad, found.grad.get("m.glos", 0.5)) == (True, False, 0.5)
    for names, wrong, there in ((found.grad, "m.glos", "m.gloss"), (found, "grad.m.glos", "grad.m.gloss")):
        with pytest.raises(KeyError, match=rf"there is no {wrong}; did you mean {there}\? it has: "):
            names[wrong]
    assert fit.forward(MATERIAL, ANGLES, SEEN, device="cpu").result == pytest.approx(float(expected.result))
    tangent = {"m": {"gloss": 1.0}}
    change = fit.jvp(MATERIAL, ANGLES, SEEN, tangent=tangent, device="cpu").jvp.result
    assert change == pytest.approx(float(expected.grad.m.gloss), rel=1e-5)
    assert fit.on("cpu", deterministic=True).backward(MATERIAL, ANGLES, SEEN).result == pytest.approx(expected.result)


def test_methods__of_a_pipeline__agree_with_its_kernel() -> None:
    found = fitted.backward(MATERIAL, ANGLES, SEEN, device="cpu")
    expected = fit.backward(MATERIAL, ANGLES, SEEN, device="cpu")
    assert found.grad.m.gloss == pytest.approx(float(expected.grad.m.gloss), rel=1e-6)
    assert repr(fitted) == "<pipeline fitted>"


def test_methods__of_many_threads__compile_once() -> None:
    @sa.kernel
    def cube(x: Each[float]) -> Each[float]:
        return x * x * x

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(cube.on("cpu").program)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(one) for one in found}) == 1


def test_map__of_a_function__is_its_value_for_each_sample() -> None:
    found = shade.map(MATERIAL, ANGLES.reshape(2, 3), device="cpu")
    assert found.shape == (2, 3, 3)
    expected = [shade(Material(float3(0.2, 0.4, 0.6), 0.3), float(angle)).data for angle in ANGLES]
    np.testing.assert_allclose(found.reshape(6, 3), expected, rtol=1e-6)
    np.testing.assert_allclose(shade.map(MATERIAL, 1.0, 2.0, device="cpu"), [2.2, 2.4, 2.6], rtol=1e-6)


def test_grad__of_a_function__sums_over_samples_where_one_value_is_for_all() -> None:
    found = shade.grad(MATERIAL, ANGLES, device="cpu")
    slope = 3.0 * 0.3 * np.log(2.0) * np.exp2(0.3 * (ANGLES - 1.0))
    np.testing.assert_allclose(found.grad.cos_angle, slope, rtol=1e-5)
    np.testing.assert_allclose(found.grad.m.albedo, [6.0, 6.0, 6.0], rtol=1e-6)
    weighted = shade.grad(MATERIAL, ANGLES, cotangent=[1.0, 0.0, 0.0], device="cpu")
    np.testing.assert_allclose(weighted.grad.cos_angle, slope / 3.0, rtol=1e-5)
    each = shade.grad({"albedo": np.zeros((6, 3)), "gloss": 0.3}, ANGLES, device="cpu")
    assert each.grad.m.albedo.shape == (6, 3)
    assert each.grad.m.gloss.shape == (6,)


def test_jvp__of_a_function_with_two_results__gives_both_changes() -> None:
    found = pair.jvp([1.0, 2.0], [3.0, 5.0], tangent={"x": 1.0}, device="cpu")
    assert [one.tolist() for one in found.result] == [[3.0, 6.0], [5.0, 20.0]]
    assert found["jvp.result.0"].tolist() == [3.0, 3.0]
    assert found["jvp.result.1"].tolist() == [10.0, 20.0]


def test_grad__of_a_method__has_the_object_among_its_parameters() -> None:
    found = Line(2.0, 1.0).at.grad(X, device="cpu")
    assert found.grad["self"].slope == pytest.approx(0.0, abs=1e-5)
    assert found.grad["self"].height == 50.0
    assert Line(2.0, 1.0).at.map(3.0, device="cpu") == 7.0


def test_grad__of_arrays_that_do_not_fit__is_refused() -> None:
    with pytest.raises(InputError, match=r"different numbers of samples: m\.gloss has 5, cos_angle has 6"):
        shade.grad({"albedo": [0.2, 0.4, 0.6], "gloss": np.zeros(5)}, ANGLES, device="cpu")
    with pytest.raises(InputError, match="cos_angle has 6, power has 7"):
        shade.grad(MATERIAL, ANGLES, np.zeros(7), device="cpu")
    with pytest.raises(TypeError, match="shade"):
        shade.grad(MATERIAL, ANGLES, 1.0, 2.0, device="cpu")


def test_slang__of_an_object__is_the_text_that_is_compiled() -> None:
    assert "float3 shade(Material m, float cos_angle" in shade.slang
    assert "fit_backward" not in shade.slang
    assert "void fit_backward(" in fit.slang
    assert repr(fit.slang) == fit.slang
    assert '<span style="color:#8250df">[Differentiable]</span>' in fit.slang._repr_html_()


def test_compile__for_targets__gives_outputs_by_name(tmp_path: Path) -> None:
    found = fit.compile("wgsl", "spirv", modes=("backward",))
    assert "@compute" in found["fit.fit.backward.wgsl"]
    assert found["fit.fit.backward.spv"][:4] == b"\x03\x02\x23\x07"
    written = found.save(tmp_path / "out")
    assert (tmp_path / "out" / "fit.slang") in written
    assert "fit.fit.backward.wgsl" in repr(found)
    with pytest.raises(TypeError, match="did you mean 'wgsl'"):
        fit.compile("wgls")
    with pytest.raises(TypeError, match="did you mean spirv or glsl"):
        fit.compile("vulkan")
    with pytest.raises(TypeError, match="targets are spirv, "):
        fit.compile("gpu")
    with pytest.raises(TypeError, match="has no mode=; it has modes="):
        fit.compile("wgsl", mode="backward")


def test_outcome__shows_its_values() -> None:
    found = fit.backward(MATERIAL, ANGLES, SEEN, device="cpu")
    lines = repr(found).splitlines()
    assert lines[0].split()[:2] == ["result", "float32"]
    assert lines[1].split()[:2] == ["grad.m.albedo", "float32[3]"]
    assert "<td" in found._repr_html_()
    with pytest.raises(AttributeError, match="there is no nothing; it has: m"):
        _ = found.grad.nothing


# --- training and checks -------------------------------------------------------------------------------------------


@sa.struct
class Line:
    slope: float
    height: float

    def at(self, x: float) -> float:
        return self.slope * x + self.height


@sa.kernel
def distance(line: Param[Line], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    return (line.slope * x + line.height - y) ** 2


@sa.pipeline(optimizer=sa.Adam(lr=0.05))
def line_fit(line: Param[Line], x: NoDiff[Each[float]], y: NoDiff[Each[float]]) -> Mean[float]:
    return distance(line, x, y)


X = np.linspace(-1.0, 1.0, 50, dtype=np.float32)


def test_train__of_a_pipeline_and_a_kernel__finds_the_line() -> None:
    seen: list[tuple[int, float]] = []
    found = line_fit.train(
        {"slope": 0.0, "height": 0.0}, X, 3.0 * X + 1.0, steps=2000, until_loss=1e-6, device="cpu",
        watch=lambda step, loss: seen.append((step, loss)),
    )  # fmt: skip
    assert found.parameters.line.slope == pytest.approx(3.0, abs=0.01)
    assert found.loss < 1e-6 < found.losses[-2]
    assert seen[-1][1] == found.loss
    assert repr(found).startswith(f"line_fit: {len(found.losses)} steps on cpu, loss ")
    assert "<polyline" in found._repr_html_()
    other = distance.train(x=X, y=3.0 * X + 1.0, optimizer=sa.SGD(lr=0.3), steps=300, device="cpu")
    assert other.arrays["line.height"] == pytest.approx(1.0, abs=0.01)
    assert other.notes == ("line.slope, line.height: not given, drawn at random with seed 0",)


def test_train__on_a_loader__takes_its_batches_in_order_and_begins_again() -> None:
    rows = [(X[k : k + 20], 3.0 * X[k : k + 20] + 1.0) for k in range(0, 50, 20)]  # the last has 10 elements
    start = {"line": {"slope": 0.0, "height": 0.0}, "optimizer": sa.SGD(lr=0.3), "device": "cpu"}
    found = distance.train(data=rows, steps=4, **start)
    one_by_one = [distance.train(line=start["line"], x=rows[0][0], y=rows[0][1], optimizer=sa.SGD(lr=0.3), steps=1)]
    for number in (1, 0, 1):
        now = one_by_one[-1].parameters.line
        line = {"slope": now.slope, "height": now.height}
        x, y = rows[number]
        one_by_one.append(distance.train(line=line, x=x, y=y, optimizer=sa.SGD(lr=0.3), steps=1, device="cpu"))
    assert found.losses == tuple(one.loss for one in one_by_one)
    by_name = distance.train(data=[{"y": y, "x": x} for x, y in rows], steps=4, **start)
    assert by_name.losses == found.losses
    targets = distance.train(x=X[:20], data=[y for _, y in rows], steps=1, **start)
    assert targets.losses[0] == found.losses[0]


def test_train__on_a_loader_that_does_not_fit__says_what_is_wrong() -> None:
    start = {"optimizer": sa.SGD(lr=0.3), "steps": 3, "device": "cpu"}
    for loader, words in (
        ([], "the loader gives no batch "),
        (iter([(X, X)]), "gives no batch of 50 elements .*give a DataLoader or a list, no generator"),
        ([(X[:20], X[:20]), (X, X)], "a batch of the loader has 50 elements, and the first had 20"),
        ([X], "a batch of the loader has 1 arrays, and 2 are wanted: x, y"),
    ):
        with pytest.raises(CompileError, match=words):
            distance.train(data=loader, **start)
    with pytest.raises(CompileError, match="batch= and data= are given"):
        distance.train(data=[(X, X)], batch=5, **start)


def test_train__distributed_in_a_process_that_is_no_rank__says_how_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ToolchainError, match=r"distributed=True in a process that is no rank[\s\S]*torchrun"):
        distance.train(x=X, y=X, optimizer=sa.SGD(lr=0.3), device="cpu", distributed=True)


def test_train__without_an_optimizer__says_what_to_give() -> None:
    with pytest.raises(CompileError, match=r"distance has no optimizer[\s\S]*optimizer=sa.Adam\(lr=0.01\)"):
        distance.train(x=X, y=X, device="cpu")


def test_train__of_a_parameter_with_the_name_of_a_setting__says_to_give_it_by_position() -> None:
    @sa.kernel
    def fall(x: NoDiff[Each[float]], speed: Param[float], steps: NoDiff[Param[float]]) -> Mean[float]:
        return speed * steps * x

    with pytest.raises(InputError, match=r"steps= is a setting of \.train: give the parameter steps by position"):
        fall.train(x=[1.0], speed=1.0, steps=5, device="cpu", optimizer=sa.Adam(lr=0.1))
    assert len(fall.train([1.0], 1.0, 5.0, steps=2, device="cpu", optimizer=sa.Adam(lr=0.1)).losses) >= 2


@sa.struct
class Fall:
    steps: float
    lr: float


def test_train__of_a_field_with_the_name_of_a_setting__says_how_to_give_it() -> None:
    @sa.kernel
    def fall(x: NoDiff[Each[float]], m: NoDiff[Param[Fall]], speed: Param[float]) -> Mean[float]:
        return m.steps * m.lr * x * speed

    given = {"x": [1.0], "speed": 1.0, "optimizer": sa.Adam(lr=0.1), "device": "cpu"}
    with pytest.raises(InputError) as refused:
        fall.train(steps=5, lr=0.1, **given)
    assert [problem.help for problem in refused.value.diagnostics] == [
        "steps= is a setting of .train: give the field in m=, or as **{'m.steps': …}",
        "lr= is a setting of .train: give the field in m=, or as **{'m.lr': …}",
    ]
    with pytest.raises(InputError, match="m is not trained, so it is not drawn"):
        fall.train(steps=5, m={"lr": 2.0}, **given)
    for fields in ({"m": Fall(1.0, 2.0)}, {"m.steps": 1.0, "m.lr": 2.0}):
        assert len(fall.train(steps=2, **given, **fields).losses) >= 2


def test_train__of_a_struct_with_the_name_of_a_setting__says_to_give_it_by_position() -> None:
    @sa.kernel
    def fall(x: NoDiff[Each[float]], steps: NoDiff[Param[Fall]], speed: Param[float]) -> Mean[float]:
        return steps.steps * steps.lr * x * speed

    given = {"speed": 1.0, "optimizer": sa.Adam(lr=0.1), "device": "cpu"}
    hint = r"steps= is a setting of \.train: give the parameter steps by position"
    for value in (5, Fall(1.0, 2.0), {"steps": 1.0, "lr": 2.0}):
        with pytest.raises(InputError, match=hint):
            fall.train(x=[1.0], steps=value, **given)
    assert len(fall.train([1.0], Fall(1.0, 2.0), steps=2, **given).losses) >= 2


def test_train__of_no_steps__gives_start_values_that_calls_take_by_key() -> None:
    start = distance.train(x=X, y=X, steps=0, device="cpu")
    assert start.losses == ()
    assert list(start.arrays) == ["line.slope", "line.height"]
    drawn = distance.forward(x=X, y=X, device="cpu", **start.arrays).result
    first = distance.train(x=X, y=X, steps=1, optimizer=sa.SGD(lr=0.3), device="cpu").losses
    assert drawn == pytest.approx(first[0])


@sa.differentiable
def halved(x: float) -> float:
    return x * x


@halved.backward
def halved_bwd(x: float, d_out: float) -> float:
    return x * d_out


def test_check__of_live_objects__gives_verdicts() -> None:
    found = line_fit.check(samples=20)
    assert found.ok
    assert {name: one.verdict.value for name, one in found.results.items()} == {"distance": "PASS", "line_fit": "PASS"}
    wrong = halved.check(samples=20, ranges={"x": (0.5, 2.0)})
    assert not wrong
    assert wrong.verdict.value == "FAIL"
    assert "d result / d x in reverse mode is wrong; a factor of 0.5" in repr(wrong)
    assert wrong._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(TypeError, match="has no sample=; it has samples="):
        halved.check(sample=3)


def test_call__of_a_torch_tensor_that_requires_a_gradient__keeps_the_graph() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loaded = distance.on("cpu")
    loss = loaded({"slope": 2.0, "height": 1.0}, X[:2], torch.zeros(2, requires_grad=True))
    assert loss.requires_grad is False or loss.grad_fn is not None
    with pytest.raises(InputError, match=r"distance.forward would lose the graph.*use distance.torch\(\)"):
        loaded.forward({"slope": x[0], "height": 1.0}, X[:2], X[:2])
    slope = torch.tensor(2.0, requires_grad=True)
    loaded({"slope": slope, "height": 1.0}, torch.tensor(X[:2]), torch.tensor(X[:2])).backward()
    expected = distance.backward({"slope": 2.0, "height": 1.0}, X[:2], X[:2], device="cpu").grad.line.slope
    assert slope.grad.item() == pytest.approx(float(expected))
    with pytest.raises(TypeError, match=r"requires a gradient, which Python execution loses: use \.torch"):
        distance({"slope": 2.0, "height": 1.0}, X[:2], torch.zeros(2, requires_grad=True))
    angle = torch.tensor([0.25, 0.5], requires_grad=True)
    shade.map(MATERIAL, angle, device="cpu").sum().backward()
    np.testing.assert_allclose(angle.grad, shade.grad(MATERIAL, angle.detach(), device="cpu").grad.cos_angle)
    with torch.no_grad():
        assert loaded.forward({"slope": slope, "height": 1.0}, X[:2], X[:2]).result > 0.0


def test_load__of_a_script_by_itself__uses_what_it_has_described(tmp_path: Path) -> None:
    text = SCRIPT.replace("out = fit.", "out = sa.load(__file__).fit.")
    (tmp_path / "own.py").write_text(text, encoding="utf-8")
    ended = _python(str(tmp_path / "own.py"))
    assert (ended.stdout, ended.stderr) == (PRINTED, "")
    imported = _python("-c", "import own", cwd=tmp_path)
    assert "own.py:12:7: error[SA005]: own.py loads itself while it is loaded" in imported.stderr
    assert "help: put the lines that run kernels under if __name__ == '__main__':" in imported.stderr


def test_errors__in_notebooks__show_the_users_lines_and_cells(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CompileError) as caught:
        notebook.run("@sa.kernel\ndef k(x: Each[float]) -> Each[float]:\n    return sa.vec3(x)\nk.forward([1.0])")
    shown = "\n".join(caught.value._render_traceback_())
    assert "slangad/compiler" not in shown
    assert f"{notebook.files[-1]}" in shown
    assert "help: write sa.float3" in shown

    def label(name: str) -> tuple[str, str] | None:
        return ("Cell", f"In[{notebook.files.index(name) + 1}]") if name in notebook.files else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=label))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    named = "\n".join(caught.value._render_traceback_())
    assert "  Cell In[2], line 4, in <module>" in named
    assert "In[2]:3:15: error[SA010]" in named
    assert "ipython-input" not in named


MISTAKES = {
    "fit.train(x=X, steps=3)": "help: give --optimizer adam --lr 0.01, in Python optimizer=sa.Adam(lr=0.01)",
    "fit.train(x=X, lr=0.1, optimizer='adamm')": "did you mean adam? it has: sgd, adam, adamw",
    "fit.train(x=X, lr=0.1, optimizer=sa.Adam)": "it is sa.Adam(lr=0.01), or a name: 'adam'",
    "fit.train(x=X, lr=0.1, steps='5')": "steps='5' [SA413]; it is a whole number from 0 on",
    "fit.train(x=X, lr=0.1, batch=-5)": "batch=-5 [SA413]; it is a whole number from 0 on",
    "fit.train(x=X, lr=0.1, until_loss='1')": "until_loss='1' [SA413]; it is a number",
    "fit.train(x=X, lr=0.1, step=5)": "it is no setting of a training [SA411]; did you mean steps?",
    "fit.check(ranges={'x': 3})": "the range of x is 3 [SA413]; write two numbers",
    "fit.check(ranges={'y': (0, 1)})": "fit has no parameter y to draw in a range [SA411]; did you mean x?",
    "fit.check(shapes={'x': (2, 3)})": "'fit' has no tensor or texture, so nothing in it has a shape.",
    "total.check(shapes={'w': (2, 3)})": 'has 1 axis, not 2. [SA412]; write shapes={"w": (16,)}',
    "fit.backward(x=X)": "a is missing: float32",
    "fit.forward(x=X, b=1.0)": "fit takes no b [SA411]; there are x, a",
    "fit.hvp(x=X, a=1.0)": 'in Python tangent={"x": …}',
    "at.backward(X)": "must be above a def (write it above def at_bwd(...); at.grad(…) computes gradients)",
    "fit.check(samples=-1)": "samples=-1 [SA413]; it is a whole number from 1 on",
    "at.grad(1.0, 2.0, device='gpuu')": "there is no device 'gpuu'",
    "sa.load('nope.py')": "error[SA002]: can't read nope.py",
    "sa.nn.Linear(2, -3)": "outputs of Linear is -3 (an integer from 1 to 16777216)",
}


def test_errors__of_calls_in_scripts__show_the_users_lines_and_a_remedy(tmp_path: Path) -> None:
    described = SCRIPT.partition("out = ")[0]
    described += "import sys\nX = [0.0, 1.0]\n"
    described += "@sa.differentiable\ndef at(a: float, x: float) -> float:\n    return a * x\n"
    described += "@sa.kernel\ndef total(w: sa.Tensor[float, 1], x: Each[float]) -> Sum[float]:\n    return w[0] * x\n"
    calls = "".join(f"try:\n    {one}\nexcept Exception:\n    sys.excepthook(*sys.exc_info())\n" for one in MISTAKES)
    (tmp_path / "tries.py").write_text(described + calls, encoding="utf-8")
    shown = _python("tries.py", cwd=tmp_path).stderr.split("Traceback (most recent call last):\n")[1:]
    assert len(shown) == len(MISTAKES)
    for text, (call, message) in zip(shown, MISTAKES.items(), strict=True):
        assert (text.count("  File "), call in text, message in text) == (1, True, True), text


def test_names__of_other_libraries__are_told_what_they_are_called() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'where'; write sa\.select\(c, a, b\)"):
        _ = sa.where
    with pytest.raises(
        AttributeError, match=r"a kernel or pipeline has no attribute 'grad': \.backward\(…\) computes gradients"
    ):
        _ = fit.grad
    with pytest.raises(AttributeError, match=r"a function has no attribute 'train': write a kernel that calls it"):
        _ = shade.train


@dataclass
class PlainLine:
    """A struct's fields under another class."""

    slope: float
    height: float


def test_structs__as_dataclasses__are_arguments() -> None:
    expected = distance.forward({"slope": 2.0, "height": 1.0}, X, X, device="cpu").result
    assert distance.forward(PlainLine(2.0, 1.0), X, X, device="cpu").result == expected
    assert distance({"slope": 2.0, "height": 1.0}, X, X) == pytest.approx(float(expected), rel=1e-6)


def test_check__of_a_function_in_a_cell__names_the_call_that_shows_it_again(notebook: Notebook) -> None:
    notebook.run("@sa.differentiable\ndef twice(x: float) -> float:\n    return 2.0 * x")
    notebook.run("@twice.backward\ndef twice_bwd(x: float, d_out: float) -> float:\n    return d_out")
    found = notebook.run("twice.check(samples=20, seed=3)")
    assert found.verdict.value == "FAIL"
    assert "reproduce  twice.check(samples=20, seed=3)" in repr(found)
    assert f"{notebook.files[2]}:3:12: FAIL twice: d result / d x" in repr(found)
    assert f"function   {notebook.files[1]}:2:5" in repr(found)
    notebook.run("@sa.kernel\ndef k(x: Each[float]) -> Each[float]:\n    return twice(x) + x")
    both = notebook.run("k.check(samples=20)")
    assert {name: one.verdict.value for name, one in both.results.items()} == {"twice": "FAIL", "k": "FAIL"}
