"""One program, two executions: Python's values and gradients are those of the emitted Slang on the CPU."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cpu import Program, build
from support.wrapping import with_kernels

import slangad as sa
from slangad.compiler.emit import Mode, ParameterRole
from slangad.compiler.frontends.python.module import load_python
from slangad.compiler.ir import types as ir
from slangad.compiler.lang.decorators.signature import signature_of
from slangad.compiler.lang.types.construct import annotation_of, from_host, zero
from slangad.compiler.lang.types.values import convert

if TYPE_CHECKING:
    from types import ModuleType

pytestmark = pytest.mark.toolchain
FILE = Path(__file__).parent / "described" / "everything.py"
THREADS = 24
Arrays = dict[str, np.ndarray]
NAMES = (
    "arithmetic", "integers", "branches", "loops", "vectors", "matrices", "arrays", "structs", "transcendental",
    "own_derivatives", "slope", "gradients", "steep", "measured", "quantized", "hard",
)  # fmt: skip


@pytest.fixture(scope="module")
def described() -> ModuleType:
    spec = importlib.util.spec_from_file_location("everything", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def program() -> Program:
    return build(with_kernels(load_python(FILE)))


def draw(type_: ir.Type, random_: random.Random) -> object:
    """A value of a type: floats away from integers and each other's ties, small ints."""
    match type_:
        case ir.Scalar("int"):
            return np.int32(random_.randint(0, 3))
        case ir.Scalar():
            return np.float32(random_.uniform(-1.4, 1.4))
        case ir.Struct():
            value = zero(type_)
            for field in type_.fields:
                setattr(value, field.name, draw(field.type, random_))
            return value
        case _:
            count = len(list(ir.leaves(type_)))
            cls: Any = annotation_of(type_)
            return cls(*(draw(ir.FLOAT, random_) for _ in range(count)))


def part(value: object, path: tuple[str | int, ...]) -> object:
    for step in path:
        value = getattr(value, step) if isinstance(step, str) else value[step]
    return value


def flat(value: object) -> np.ndarray:
    return np.ravel(np.asarray(value, dtype=float))


def gradient_parts(gradient: object, names: list[str]) -> dict[str, object]:
    return dict(zip(names, gradient if isinstance(gradient, tuple) else (gradient,), strict=True))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_function__in_python_and_on_the_cpu__agrees(
    name: str, seed: int, described: ModuleType, program: Program
) -> None:
    function = getattr(described, name)
    signature = signature_of(function)
    random_ = random.Random(f"{name} {seed}")
    calls = [[draw(p.type, random_) for p in signature.parameters] for _ in range(THREADS)]
    results = [function(*args) for args in calls]
    inputs = _inputs(program, name, Mode.FORWARD, signature, calls)
    found = program.run(f"run_{name}", Mode.FORWARD, inputs, (THREADS,))
    entry = program.entry(f"run_{name}", Mode.FORWARD)
    for p in entry.parameters:
        if p.role is ParameterRole.RESULT:
            expected = [flat(part(_result(r, p.parameter), p.path)) for r in results]
            values = found[p.name].reshape(THREADS, -1)
            np.testing.assert_allclose(values, expected, rtol=2e-5, atol=2e-5, err_msg=p.name)
    if function.differentiable and signature.differentiable and ir.carries_gradient(signature.result):
        _compare_gradients(program, function, signature, calls, inputs)


def _result(value: object, name: str) -> object:
    return value[int(name.partition(".")[2])] if "." in name else value


def _inputs(program: Program, name: str, mode: Mode, signature: Any, calls: list[list[object]]) -> Arrays:
    places = {p.name: i for i, p in enumerate(signature.parameters)}
    entry = program.entry(f"run_{name}", mode)
    return {
        p.name: np.array([flat(part(args[places[p.parameter]], p.path)) for args in calls])
        for p in entry.parameters
        if p.role is ParameterRole.INPUT
    }


def _compare_gradients(
    program: Program, function: Any, signature: Any, calls: list[list[object]], inputs: Arrays
) -> None:
    kernel = f"run_{function.name}"
    backward = program.entry(kernel, Mode.BACKWARD)
    rng = np.random.default_rng(4)
    cotangents = {
        p.name: rng.normal(size=(THREADS, p.components)).astype(np.float32)
        for p in backward.parameters
        if p.role is ParameterRole.COTANGENT
    }
    found = program.run(kernel, Mode.BACKWARD, {**inputs, **cotangents}, (THREADS,))
    names = [p.name for p in signature.differentiable]
    expected: dict[str, list[np.ndarray]] = {}
    for thread, args in enumerate(calls):
        seed = _cotangent(signature.result, backward, cotangents, thread)
        gradients = gradient_parts(sa.bwd_diff(function)(*args, seed), names)
        for p in backward.parameters:
            if p.role is ParameterRole.GRADIENT:
                expected.setdefault(p.name, []).append(flat(part(gradients[p.parameter], p.path)))
    assert expected
    for name, wanted in expected.items():
        np.testing.assert_allclose(found[name].reshape(THREADS, -1), wanted, rtol=2e-4, atol=2e-4, err_msg=name)


def _cotangent(type_: ir.Type, entry: Any, cotangents: dict[str, np.ndarray], thread: int) -> object:
    parts = type_.elements if isinstance(type_, ir.Tuple) else (type_,)
    values = [zero(t) for t in parts]
    for p in entry.parameters:
        if p.role is ParameterRole.COTANGENT:
            index = int(p.parameter.partition(".")[2] or 0)
            numbers = cotangents[p.name][thread].reshape(p.shape)
            values[index] = convert(from_host(numbers if p.shape else numbers[()], parts[index]), parts[index])
    return tuple(values) if isinstance(type_, ir.Tuple) else values[0]
