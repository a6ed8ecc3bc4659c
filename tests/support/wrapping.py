"""Kernels around functions, so that tests can run and differentiate every function of a module on a device."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.nodes import External, Kernel, KernelParam, KernelResult, Memory, Module, Role
from slangad.compiler.ir.types import DiffPair, Tensor, Texture, Tuple, Type, Void

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.nodes import Function


def with_kernels(module: Module) -> Module:
    """The module with a kernel ``run_<name>`` per plain function whose values fit into buffers."""
    taken = {kernel.function for kernel in module.kernels}
    names = Counter[str]()
    added = []
    for function in module.functions:
        if function.key not in taken and _fits(function):
            names[function.name] += 1
            number = names[function.name]
            added.append(_kernel(function, function.name if number == 1 else f"{function.name}_{number}"))
    return replace(module, kernels=(*module.kernels, *added))


def _fits(function: Function) -> bool:
    if function.role is not Role.PLAIN or function.owner or isinstance(function.body, External):
        return False
    return bool(function.params) and all(
        not isinstance(t, (DiffPair, Tuple, Void, Tensor, Texture))
        for t in (*(p.type for p in function.params), *_results(function))
    )


def _results(function: Function) -> tuple[Type, ...]:
    return function.result.elements if isinstance(function.result, Tuple) else (function.result,)


def _kernel(function: Function, name: str) -> Kernel:
    params = tuple(KernelParam(p.name, Memory.EACH, p.type, p.no_diff) for p in function.params)
    return Kernel(f"run_{name}", function.key, params, tuple(_kernel_results(function)))


def _kernel_results(function: Function) -> Iterator[KernelResult]:
    if not isinstance(function.result, Tuple):
        yield KernelResult("result", Memory.EACH, function.result)
        return
    for index, type_ in enumerate(function.result.elements):
        yield KernelResult(f"result.{index}", Memory.EACH, type_)
