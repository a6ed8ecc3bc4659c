"""Kernels made of functions in Slang files: they compile for every target, and their gradients are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import Checker, build_beside
from support.slang_files import SHADERS, Loader

from slangad.compiler.emit import EmittedModule, EntryParameter, Mode, emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.verify.module import verify
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.driver.slang_compilers import SlangCompilers
    from slangad.compiler.ir.nodes import Module

pytestmark = pytest.mark.toolchain

SPECIALIZED = {
    "members": (
        "total<float, 3>",
        "twice<float>",
        "Table<float, 2>.first",
        "Table<float,2>.fixed_point",
    )
}
EXPECTED = {
    "shapes": (
        "scalars vectors matrices arrays nested_arrays array_result halves doubles with_default constants unnamed count"
    ),
    "directions": "polar advance everything bounce array_out",
    "structs": (
        "Material_shade Material_fresnel Material_scale Settings_amplify whole mixed swapped both passive "
        "own_differential constructed"
    ),
    "members": (
        "outer_cube outer_inner_Frame_along outer_inner_turn over_float over_float3 over_float_float total_float_3 "
        "twice_float Table_float_2_first Table_float_2_fixed_point look_up made_by_macro Disc_size"
    ),
    "derivatives": (
        "both_modes reverse_only forward_only forward_automatic backward_automatic beside_automatic named_elsewhere"
    ),
    "hidden": "inside outside named_alike reads_global part",
}
NARROW = {"halves", "doubles"}
"""Kernels that have no float64 twin: their types stay what they are."""

WHOLE = [
    (name, kernel)
    for name, kernels in EXPECTED.items()
    for kernel in kernels.split()
    if name != "hidden"
    and kernel not in NARROW | {"passive"}
    and not kernel.startswith(("reverse_", "forward_", "named_"))
]


@pytest.fixture(scope="module")
def modules(load_slang: Loader) -> dict[str, Module]:
    """Every shader, loaded."""
    return {name: run_passes(load_slang(f"{name}.slang", *SPECIALIZED.get(name, ()))) for name in EXPECTED}


@pytest.fixture(scope="module")
def checkers(modules: dict[str, Module]) -> dict[str, Checker]:
    """Every shader, built for the CPU in float32 and float64."""
    emitted = {name: emit_module(module) for name, module in modules.items()}
    return {
        name: Checker(build_beside(text, SHADERS), build_beside(text, SHADERS, wide=True))
        for name, text in emitted.items()
    }


def values(parameter: EntryParameter, count: int, rng: np.random.Generator) -> np.ndarray:
    shape = (count, *parameter.shape)
    if parameter.scalar.name in ("int", "uint"):
        return rng.integers(0, 2, shape)
    return rng.uniform(0.4, 1.6, shape)


def given(emitted: EmittedModule, kernel: str, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    entry = next(e for e in emitted.entry_points if (e.kernel, e.mode) == (kernel, Mode.FORWARD))
    return {p.name: values(p, count, rng) for p in entry.parameters if p.role.value == "input"}


@pytest.mark.parametrize("name", EXPECTED)
def test_kernels__of_a_file__are_those_of_its_functions(modules: dict[str, Module], name: str) -> None:
    module = modules[name]
    assert [kernel.name for kernel in module.kernels] == EXPECTED[name].split()
    assert verify(module) == []
    assert parse(show(module)) == module


@pytest.mark.parametrize("name", EXPECTED)
def test_kernels__of_a_file__compile_for_every_target(
    modules: dict[str, Module], compilers: SlangCompilers, name: str
) -> None:
    emitted = emit_module(modules[name])
    targets = tuple(target.name for target in TARGETS.values() if not target.tool)
    job = CompileJob(
        emitted.file_name,
        emitted.text,
        symbols(emitted.entry_points),
        targets,
        include_dirs=(str(SHADERS),),
    )
    (result,) = compilers.compile([job])
    made = {(artefact.target, artefact.entry) for artefact in result.artefacts}
    missing = {(target, entry) for target, entry in job.units() if (target, entry) not in made}
    assert {target for target, _ in missing} <= {"metal", "wgsl"}, result.messages
    assert {entry.rpartition("_")[0] for _, entry in missing} <= {"doubles"}


@pytest.mark.parametrize(("name", "kernel"), WHOLE)
def test_gradient__of_a_function_in_a_file__is_that_of_differences(
    checkers: dict[str, Checker], name: str, kernel: str
) -> None:
    checker = checkers[name]
    checker.check(kernel, given(checker.program.emitted, kernel, 5))


def test_gradient__of_doubles__is_right_to_their_precision(checkers: dict[str, Checker]) -> None:
    x, y, seed = (np.array(v) for v in ([1.5, -0.25], [0.5, 2.0], [1.0, 3.0]))
    run = checkers["shapes"].program.run
    found = run("doubles", Mode.BACKWARD, {"x": x, "y": y, "result_cotangent": seed}, (2,))
    np.testing.assert_allclose(found["x_grad"], 2.0 * x * y * seed, rtol=1e-15)
    np.testing.assert_allclose(found["y_grad"], x * x * seed, rtol=1e-7)


def test_gradient__of_halves__is_right(checkers: dict[str, Checker]) -> None:
    v, k, seed = np.array([[1.0, 2.0, 0.5]]), np.array([1.5]), np.array([[1.0, 2.0, 4.0]])
    run = checkers["shapes"].program.run
    found = run("halves", Mode.BACKWARD, {"v": v, "k": k, "result_cotangent": seed}, (1,))
    np.testing.assert_array_equal(found["v_grad"], 1.5 * seed)
    np.testing.assert_array_equal(found["k_grad"], [1.0 + 4.0 + 2.0])


def test_gradient__of_an_inout_parameter__takes_its_cotangent_in(checkers: dict[str, Checker]) -> None:
    names = ("position", "velocity", "dt", "position_out_cotangent", "velocity_out_cotangent")
    rng = np.random.default_rng(5)
    given_ = {name: rng.normal(size=(4, 3)) for name in names}
    given_["dt"] = dt = rng.uniform(0.1, 0.2, 4)
    found = checkers["directions"].program.run("advance", Mode.BACKWARD, given_, (4,))
    p, v = given_["position_out_cotangent"], given_["velocity_out_cotangent"]
    into_velocity = v + p * dt[:, None]
    np.testing.assert_allclose(found["velocity_grad"], into_velocity * (1.0 - 0.1 * dt[:, None]), rtol=1e-5)
    np.testing.assert_allclose(found["position_grad"], p - into_velocity * dt[:, None], rtol=1e-5)


def test_results__of_out_parameters_without_derivative__are_stored(checkers: dict[str, Checker]) -> None:
    program = checkers["directions"].program
    inputs = {"x": [2.0], "m": [5], "w": [1.5], "v": [3.0]}
    given_ = {name: np.array(value) for name, value in inputs.items()}
    moved = {**given_, "x_tangent": np.array([1.0]), "v_tangent": np.array([0.0])}
    for mode in (Mode.FORWARD, Mode.JVP):
        found = program.run("everything", mode, moved if mode is Mode.JVP else given_, (1,))
        plain = {name: value.item() for name, value in found.items() if not name.endswith("_tangent")}
        assert plain == {"y": 4.0, "z": 3.0, "n": 4, "m_out": 6, "w_out": 3.5, "v_out": 6.0, "result": 12.0}
    assert {name: value.item() for name, value in found.items() if name.endswith("_tangent")} == {
        "y_tangent": 4.0,
        "v_out_tangent": 3.0,
        "result_tangent": 12.0,
    }


@pytest.mark.parametrize(
    ("kernel", "modes"),
    [
        ("both_modes", ["forward", "backward", "jvp"]),
        ("reverse_only", ["forward", "backward"]),
        ("forward_only", ["forward", "jvp"]),
        ("forward_automatic", ["forward", "jvp"]),
        ("backward_automatic", ["forward", "backward", "jvp"]),
        ("named_elsewhere", ["forward", "backward"]),
        ("beside_automatic", ["forward", "backward", "jvp"]),
    ],
)
def test_modes__of_a_derivative_of_its_own__are_those_slang_has(
    checkers: dict[str, Checker], kernel: str, modes: list[str]
) -> None:
    emitted = checkers["derivatives"].program.emitted
    assert [entry.mode.value for entry in emitted.entry_points if entry.kernel == kernel] == modes


@pytest.mark.parametrize(
    ("kernel", "mode", "given_", "wanted"),
    [
        ("reverse_only", Mode.BACKWARD, {"result_cotangent": [2.0]}, {"x_grad": 12.0}),
        ("named_elsewhere", Mode.BACKWARD, {"result_cotangent": [2.0]}, {"x_grad": 54.0}),
        ("forward_only", Mode.JVP, {"x_tangent": [2.0]}, {"result": 9.0, "result_tangent": 12.0}),
        ("forward_automatic", Mode.JVP, {"x_tangent": [2.0]}, {"result": 9.0, "result_tangent": 12.0}),
    ],
)
def test_gradient__of_one_mode_alone__is_right(
    checkers: dict[str, Checker], kernel: str, mode: Mode, given_: dict[str, list[float]], wanted: dict[str, float]
) -> None:
    arrays = {name: np.array(value) for name, value in {"x": [3.0], **given_}.items()}
    found = checkers["derivatives"].program.run(kernel, mode, arrays, (1,))
    assert {name: value.item() for name, value in found.items()} == pytest.approx(wanted)


def test_forward__of_a_function_without_gradient__is_the_only_mode(checkers: dict[str, Checker]) -> None:
    program = checkers["structs"].program
    assert [e.mode for e in program.emitted.entry_points if e.kernel == "passive"] == [Mode.FORWARD]
    found = program.run("passive", Mode.FORWARD, {"x": np.array([1.0])}, (1,))
    assert {name: value.tolist() for name, value in found.items()} == {
        "result_gain": [1.0],
        "result_offset": [[2.0, 3.0]],
    }


def test_gradient__of_a_struct_that_is_not_differentiable__is_nowhere(checkers: dict[str, Checker]) -> None:
    entries = checkers["structs"].program.emitted.entry_points
    (entry,) = [e for e in entries if (e.kernel, e.mode) == ("whole", Mode.BACKWARD)]
    gradients = [p.name for p in entry.parameters if p.role.value == "gradient"]
    assert not [name for name in gradients if name.startswith("s_")]
    assert "m_coat_weight_grad" in gradients
    assert "m_coat_thickness_grad" not in gradients


@pytest.mark.parametrize(
    ("kernel", "slope"),
    [
        ("outside", lambda x: 6.0 * (4.0 * x**3 + 2.0 * x)),
        ("part", lambda x: 2.0 * x),
        ("reads_global", lambda x: 2.0 * x * 0.5),
    ],
)
def test_gradient__of_a_module_that_hides_names__is_right_with_its_global_buffer_bound(
    checkers: dict[str, Checker], kernel: str, slope: Callable[[np.ndarray], np.ndarray]
) -> None:
    program = checkers["hidden"].program
    x, grad = np.array([3.0, 4.0], np.float32), np.zeros(2, np.float32)
    buffers = {
        "x": x,
        "x_grad": grad,
        "result_cotangent": np.ones(2, np.float32),
        "lookup": np.array([0.5], np.float32),
    }
    names = {p.role.value: p.name for p in program.entry(kernel, Mode.BACKWARD).parameters}
    program.device.launch(f"{kernel}_backward", (2, 1, 1), buffers, {names["domain"]: 2}, workers=1)
    np.testing.assert_allclose(grad, slope(x), rtol=1e-5)
