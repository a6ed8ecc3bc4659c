"""Make a kernel that calls a function once for each sample, so that nobody has to write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.types import Tensor, Texture, Tuple, Type, carries_gradient

if TYPE_CHECKING:
    from slangad.compiler.frontends.reading.signatures import CallSignature, Parameter


def sampling_kernel(signature: CallSignature, sampled: frozenset[str]) -> ir.Kernel:
    """Return the kernel: its threads run the function itself.

    Args:
        signature: The function's.
        sampled: The parameters with one value for each sample. The others have one value for all.
    """
    params = tuple(_param(one, sampled, differentiable=signature.differentiable) for one in signature.all_params)
    result = signature.result
    types = tuple(result.elements) if isinstance(result, Tuple) else (result,)
    names = [f"result.{index}" for index in range(len(types))] if isinstance(result, Tuple) else ["result"]
    results = tuple(ir.KernelResult(name, Memory.EACH, type_) for name, type_ in zip(names, types, strict=True))
    return ir.Kernel(signature.name, signature.key, params, results, 1, (64,))


def _param(one: Parameter, sampled: frozenset[str], *, differentiable: bool) -> ir.KernelParam:
    passive = one.no_diff or not differentiable
    memory = _memory(one.type, is_sampled=one.name in sampled, passive=passive)
    return ir.KernelParam(one.name, memory, one.type, passive or memory is Memory.UNIFORM, one.span)


def _memory(type_: Type, *, is_sampled: bool, passive: bool) -> Memory:
    if isinstance(type_, Texture):
        return Memory.TEXTURE2D
    if isinstance(type_, Tensor):
        return Memory.TENSOR
    if is_sampled:
        return Memory.EACH
    return Memory.UNIFORM if passive or not carries_gradient(type_) else Memory.PARAM
