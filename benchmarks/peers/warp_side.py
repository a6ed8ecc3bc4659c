"""Run ``warp.autograd.gradcheck`` on the zoo on the CPU, with its defaults.

Warp can't call the gradient of another function inside a custom one. Therefore a mutant changes gradients with
functions that return their argument and have a custom adjoint.
"""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import numpy as np
import warp as wp
import warp_kernels
from cases import STRUCTS, Case, InexpressibleError, edge, mask, step_away, until_refused
from warp.autograd import gradcheck
from warp_loading import loaded
from warp_text import Body, warp_type

if TYPE_CHECKING:
    from types import ModuleType

    from cases import Leaf
    from kernel_cases import KernelCase
    from support.zoo_animals import Animal

wp.config.quiet = True
VERSION = f"Warp {wp.config.version}"
TYPES = {f"vec{n}": wp.types.vector(length=n, dtype=wp.float32) for n in range(5, 9)}
TYPES |= {f"vec{n}": getattr(wp, f"vec{n}") for n in (2, 3, 4)} | {
    f"mat{n}{n}": getattr(wp, f"mat{n}{n}") for n in (2, 3, 4)
}
TYPES |= {
    "mat23": wp.types.matrix(shape=(2, 3), dtype=wp.float32),
    "float": wp.float32,
    "int": wp.int32,
    "bool": wp.bool,
}
HEAD = """import warp as wp
from warp_side import TYPES

globals().update({name: type_ for name, type_ in TYPES.items() if name not in ("float", "int", "bool")})
K = wp.constant(wp.vec4(0.5, -1.5, 2.0, 3.25))
"""
STRUCT_HEAD = """

@wp.struct
class Lamp:
    at: vec3
    power: float
    kind: int


@wp.struct
class Room:
    lamp: Lamp
    weights: vec3
    gain: float


@wp.struct
class Lobe:
    sharp: float
    weight: float


@wp.func
def made_Lamp(at: vec3, power: float, kind: int):
    made = Lamp()
    made.at = at
    made.power = power
    made.kind = kind
    return made


@wp.func
def copied_Lobe(lobe: Lobe):
    copy = Lobe()
    copy.sharp = lobe.sharp
    copy.weight = lobe.weight
    return copy


@wp.func
def Lobe_at(lobe: Lobe, x: float):
    return lobe.weight * wp.exp(lobe.sharp * (x - 1.0))


@wp.func
def Lobe_shared(x: float):
    return x * x * 0.5
"""
_FACTORS = {
    "sign": -1.0,
    "thousandth": 1.001,
    "double": 2.0,
    "missing": 0.0,
    "extra": 1.5,
    "branch": 1.25,
    "integer": 1.5,
}


def _function(animal: Animal, name: str, backward: str) -> str:
    types = {n: warp_type(t) for n, t in animal.types.items()}
    result = [warp_type(r) for r in _results(animal)]
    params = ", ".join(f"{n}: {t}" for n, t in types.items())
    lines = Body(types, {}, {}).text(animal.lines)
    text = f"@wp.func\ndef {name}({params}):\n" + "\n".join(lines) + "\n\n\n"
    if not backward:
        return text
    if any(t in STRUCTS for t in types.values()):
        raise InexpressibleError("an adjoint of a struct")
    single = len(result) == 1
    live = [n for n, t in types.items() if t not in ("int", "bool")]
    ends = lambda values: [f"wp.adjoint[{n}] += {v}" for n, v in zip(live, values, strict=True)]  # noqa: E731
    body = Body(
        {**types, "d_out": result[0] if single else "tuple"}, {animal.name: result[0]}, {"d_out": "adj_ret"}, ends
    )
    seeds = "adj_ret: " + result[0] if single else ", ".join(f"adj_ret_{k}: {r}" for k, r in enumerate(result))
    written = "\n".join(body.text(backward.split("\n")))
    plain = f"@wp.func\ndef {animal.name}({params}):\n" + "\n".join(lines) + "\n\n\n" if animal.name in written else ""
    own = f"@wp.func_grad({name})\ndef adj_{name}({params}, {seeds}):\n{written}\n\n\n"
    return f"{plain if name != animal.name else ''}{text}{own}"


def _results(animal: Animal) -> list[str]:
    inner = (
        animal.result.removeprefix("tuple[").removesuffix("]") if animal.result.startswith("tuple") else animal.result
    )
    return inner.split(", ") if animal.result.startswith("tuple") else [inner]


def _leaf_type(leaf: Leaf) -> str:
    if leaf.scalar != "float":
        return leaf.scalar
    return {0: "float", 1: "vec{}", 2: "mat{}{}"}[len(leaf.shape)].format(*leaf.shape)


def _element_type(leaf: Leaf) -> str:
    """Return the type of an array's elements; non-square matrices become numbers, because gradcheck refuses them."""
    return "float" if leaf.shape == (2, 3) else _leaf_type(leaf)


def _outputs(animal: Animal) -> dict[str, str]:
    """Return the values that a kernel stores, and their type: results, or the fields of a struct."""
    found = {}
    for k, result in enumerate(_results(animal)):
        fields = {f"r_{k}.{name}": type_ for name, type_ in STRUCTS.get(result, {}).items() if type_ != "int"}
        found |= fields or {f"r_{k}": result}
    return {place: warp_type(type_) for place, type_ in found.items()}


def _read(path: str, type_: str, live: set[str]) -> list[str]:
    """Return statements that read a parameter from arrays, a struct field by field."""
    name = path.replace(".", "_")
    if type_ == "float2x3":
        return [f"{name} = mat23({', '.join(f'{name}_in[{k}]' for k in range(6))})"]
    if type_ not in STRUCTS:
        return [f"{name} = {name}_in[at]"] if path in live else []
    lines = [f"{name} = {type_}()"]
    for field, inner in STRUCTS[type_].items():
        lines += _read(f"{path}.{field}", inner, live)
        lines.append(f"{name}.{field} = {name}_{field}")
    return lines


def _kernel(
    case: Case, called: str, before: str = "", arguments: dict[str, str] | None = None, around: str = "{0}"
) -> str:
    """Return a kernel that calls the function on one element of each array."""
    animal, changed = case.animal, arguments or {}
    names = {leaf.path: leaf.path.replace(".", "_") for leaf in case.leaves}
    params = [
        f"{names[leaf.path]}_in: wp.array(dtype={_element_type(leaf)})"
        if leaf.active
        else f"{names[leaf.path]}: {_leaf_type(leaf)}"
        for leaf in case.leaves
    ]
    stored = _outputs(animal)
    outs = [f"out_{k}: wp.array(dtype={type_})" for k, type_ in enumerate(stored.values())]
    live = {leaf.path for leaf in case.leaves if leaf.active}
    lines = ["at = wp.tid()", *(line for n, t in animal.types.items() for line in _read(n, t, live))]
    call = around.format(f"{called}({', '.join(changed.get(n, n) for n in animal.types)})")
    places = ", ".join(f"r_{k}" for k in range(len(_results(animal))))
    lines += [f"{places} = {call}", *(f"out_{k}[at] = {place}" for k, place in enumerate(stored))]
    body = "\n".join(f"    {line}" for line in lines)
    return f"{before}@wp.kernel\ndef kernel_{case.name}({', '.join([*params, *outs])}):\n{body}\n\n\n"


def _text(case: Case) -> str:
    """Return a case as Warp's Python, with the function of its animal."""
    animal = case.animal
    if not case.kind:
        return _kernel(case, animal.name)
    if case.kind.startswith("own_"):
        backward = animal.backward.replace(*animal.breaks[case.kind.removeprefix("own_")])
        return _kernel(
            case, case.name, _function(animal, case.name, backward).replace(f"{animal.name}(a)", f"{case.name}(a)")
        )
    word, _, name = case.kind.partition("_")
    types = {n: warp_type(t) for n, t in animal.types.items()}
    result = warp_type(animal.result) if not animal.result.startswith("tuple") else ""
    if word in ("seedless", "stale", "extra") and not result:
        raise InexpressibleError("several results, and a mutation of all of them")
    if word == "stale" and result in STRUCTS:
        raise InexpressibleError("an adjoint of a struct")
    if word == "seedless":
        return _kernel(
            case,
            animal.name,
            _relay(case, {"r": result}, "r", ["wp.adjoint[r] += 1.0"]),
            around=f"by_{case.name}({{0}})",
        )
    if word == "stale":
        relay = _relay(case, {"r": result, "s": result}, "r", ["wp.adjoint[s] += adj_ret"])
        moved = ", ".join(f"{n} + {step_away(case)!r}" if n == name else n for n in types)
        return _kernel(case, animal.name, relay, around=f"by_{case.name}({{0}}, {animal.name}({moved}))")
    if word == "swapped":
        return _swapped(case, types, name)
    params = {name: types[name]}
    if word == "integer":
        params |= {n: "int" for n, t in types.items() if t == "int"}
    relay = _relay(case, params, name, _adjoint(case, word, name, types))
    if word != "extra":
        return _kernel(case, animal.name, relay, {name: f"by_{case.name}({', '.join(params)})"})
    ghost = f"@wp.func\ndef ghost_{case.name}(x: float):\n    return 0.0\n\n\n@wp.func_grad(ghost_{case.name})\n"
    ghost += f"def adj_ghost_{case.name}(x: float, adj_ret: float):\n    wp.adjoint[x] += 0.25 * adj_ret\n\n\n"
    arguments = {name: f"by_{case.name}({name})"}
    return _kernel(case, animal.name, relay + ghost, arguments, f"{{0}} + ghost_{case.name}({name})")


def _swapped(case: Case, types: dict[str, str], name: str) -> str:
    a, b = name.rsplit("_", 1)
    both = {a: types[a], b: types[b]}
    text = _relay(case, both, a, [f"wp.adjoint[{b}] += adj_ret"]) + _relay(
        case, both, b, [f"wp.adjoint[{a}] += adj_ret"], "_too"
    )
    arguments = {a: f"by_{case.name}({a}, {b})", b: f"by_{case.name}_too({a}, {b})"}
    return _kernel(case, case.animal.name, text, arguments)


def _relay(case: Case, params: dict[str, str], returned: str, adjoint: list[str], suffix: str = "") -> str:
    """Return a function that returns one of its parameters, with a custom adjoint."""
    name = f"by_{case.name}{suffix}"
    said = ", ".join(f"{n}: {t}" for n, t in params.items())
    body = "\n".join(f"    {line}" for line in adjoint)
    return (
        f"@wp.func\ndef {name}({said}):\n    return {returned}\n\n\n@wp.func_grad({name})\n"
        f"def adj_{name}({said}, adj_ret: {params[returned]}):\n{body}\n\n\n"
    )


def _adjoint(case: Case, word: str, name: str, types: dict[str, str]) -> list[str]:
    if word == "transposed":
        return [f"wp.adjoint[{name}] += wp.transpose(adj_ret)"]
    if word in ("index", "forgotten"):
        entries = ", ".join(repr(float(e)) for e in mask(case).ravel())
        return [f"wp.adjoint[{name}] += wp.cw_mul(adj_ret, {types[name]}({entries}))"]
    changed = f"wp.adjoint[{name}] += adj_ret * {_FACTORS[word]!r}"
    if word == "branch":
        return [f"if {name} > {edge(case)!r}:", f"    {changed}", "else:", f"    wp.adjoint[{name}] += adj_ret"]
    if word == "integer":
        whole = next(n for n, t in types.items() if t == "int")
        return [f"if {whole} == 2:", f"    {changed}", "else:", f"    wp.adjoint[{name}] += adj_ret"]
    return [changed]


def _own_module(case: Case) -> ModuleType:
    case.refuse()
    own = case.kind.startswith("own_")
    text = ("" if own else _function(case.animal, case.animal.name, case.animal.backward)) + _text(case)
    structs = STRUCT_HEAD if any(leaf.path not in case.animal.types for leaf in case.leaves) else ""
    return loaded(f"zoo_{case.name}", f"{HEAD}{structs}\n\n{text}")


def verdicts(case: Case | KernelCase, _: str, samples: list) -> tuple[dict[str, list[bool]], list]:
    """Return gradcheck's answer for each input, and the gradients of a right case."""
    if case.family != "functions":
        return warp_kernels.verdicts(case, samples)
    kernel = getattr(_own_module(case), f"kernel_{case.name}")

    def check(values: list[np.ndarray]) -> bool:
        inputs, outputs = _arrays(case, values)
        with contextlib.redirect_stdout(io.StringIO()):
            return gradcheck(kernel, dim=1, inputs=inputs, outputs=outputs, raise_exception=False, show_summary=False)

    told = {"default": until_refused(check, samples)}
    return told, [] if case.kind else [_gradients(kernel, case, values) for values in samples]


def _arrays(case: Case, values: list[np.ndarray]) -> tuple[list, list]:
    inputs = []
    for leaf, value in zip(case.leaves, values, strict=True):
        type_ = TYPES[_element_type(leaf)]
        inputs.append(
            wp.array(value.ravel() if leaf.shape == (2, 3) else value[None], dtype=type_, requires_grad=True)
            if leaf.active
            else value.item()
        )
    results = [TYPES[type_] for type_ in _outputs(case.animal).values()]
    return inputs, [wp.zeros(1, dtype=r, requires_grad=True) for r in results]


def _gradients(kernel: wp.Kernel, case: Case, values: list[np.ndarray]) -> list[list[float]]:
    inputs, outputs = _arrays(case, values)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=inputs, outputs=outputs)
    tape.backward(grads={out: warp_kernels.seed(out, k) for k, out in enumerate(outputs)})
    return [i.grad.numpy().astype(np.float64).ravel().tolist() for i in inputs if isinstance(i, wp.array)]
