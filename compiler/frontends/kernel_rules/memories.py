"""Rules for the memories of parameters and results, the same for every front end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.reading.signatures import CallSignature, Parameter
from slangad.compiler.ir import types
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.lang.types.annotations import Memory as Annotation
from slangad.compiler.lang.types.annotations import parameter_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.nodes import KernelParam, KernelResult
    from slangad.compiler.lang.types.annotations import TextureOptions

RESULT_MEMORIES: Final = (Memory.EACH, Memory.SUM, Memory.MEAN)
TENSORS: Final = (Memory.TENSOR, Memory.OUT_TENSOR, Memory.INOUT_TENSOR)
_TEXELS: Final = ("half", "float")

Spelling = Callable[[Memory], str]
"""The user's word for a memory."""


def type_in(memory: Memory, element: types.Type, rank: int, options: TextureOptions | None) -> types.Type:
    """Return the type of a parameter in a memory: of the value one thread sees, or the tensor or texture."""
    return parameter_type(Annotation(memory.value, None, rank=rank, options=options), element)


def check_param_memory(memory: Memory, element: types.Type, spell: Spelling, where: Span, problems: Problems) -> bool:
    """Return True if a kernel's parameter may have this memory and type, else report it."""
    if memory in (Memory.SUM, Memory.MEAN):
        problems.error("SA031", where, f"{spell(memory)} is for results", help=f"write {spell(Memory.EACH)} here")
        return False
    if memory in TENSORS:
        return _check_tensor(element, where, problems)
    return memory is not Memory.TEXTURE2D or _check_texture(element, where, problems)


def check_function_memory(
    memory: Memory, element: types.Type, spell: Spelling, where: Span, problems: Problems
) -> bool:
    """Return True if a function that is not a kernel may take this memory and type, else report it."""
    if memory is Memory.TENSOR:
        return _check_tensor(element, where, problems)
    if memory is Memory.TEXTURE2D:
        return _check_texture(element, where, problems)
    if memory in TENSORS:
        message, help_ = f"only a kernel takes an {spell(memory)}", "return the value and store it in the kernel"
    else:
        message = "only a kernel's parameters declare memory"
        help_ = "take the value itself, for example float3"
    problems.error("SA031", where, message, help=help_)
    return False


def _check_tensor(element: types.Type, where: Span, problems: Problems) -> bool:
    if not _holds_struct(element):
        return True
    problems.error("SA031", where, f"a tensor can't hold {types.show(element)}", help="make one tensor per field")
    return False


def _holds_struct(type_: types.Type) -> bool:
    return isinstance(type_, types.Struct) or (isinstance(type_, types.Array) and _holds_struct(type_.element))


def _check_texture(element: types.Type, where: Span, problems: Problems) -> bool:
    scalar = types.element_of(element)
    if isinstance(element, (types.Scalar, types.Vector)) and scalar is not None and scalar.name in _TEXELS:
        return True
    help_ = "texels are float, float2, float3, float4 or the same of half"
    problems.error("SA031", where, f"a texture can't hold {types.show(element)}", help=help_)
    return False


def check_result_memory(memory: Memory, type_: types.Type, spell: Spelling, where: Span, problems: Problems) -> bool:
    """Return True if a kernel's result may have this memory and type, else report it."""
    if memory not in RESULT_MEMORIES:
        words = ", ".join(spell(m) for m in RESULT_MEMORIES)
        help_ = f"results are {words}; a tensor that the kernel writes is a parameter"
        problems.error("SA031", where, f"{spell(memory)} is for parameters", help=help_)
        return False
    if memory is Memory.EACH:
        return True
    word = "added up" if memory is Memory.SUM else "averaged"
    if _holds_struct(type_) or types.BOOL in types.count_scalars(type_):
        help_ = "return its numbers, a tuple for several results"
        problems.error("SA031", where, f"{types.show(type_)} can't be {word}", help=help_)
        return False
    if memory is Memory.MEAN and not types.carries_gradient(type_):
        problems.error("SA031", where, f"{types.show(type_)} can't be averaged", help="convert to float in the kernel")
        return False
    return True


def check_has_output(
    name: str, params: Sequence[KernelParam], results: Sequence[KernelResult], where: Span, problems: Problems
) -> None:
    """Report a kernel that neither returns nor writes anything."""
    if not results and not any(is_written(p.type) for p in params):
        problems.error(
            "SA030", where, f"kernel '{name}' returns nothing", help="return a value, or write into an OutTensor"
        )


def is_written(type_: types.Type) -> bool:
    """Return True if kernels write to the memory."""
    return isinstance(type_, types.Tensor) and type_.writes


def is_active(params: Sequence[KernelParam], result: types.Type) -> bool:
    """Return True if a kernel has a derivative: an input and an output carry gradient."""
    active = [p.type for p in params if types.carries_gradient(p.type) and not p.no_diff]
    taken = any(not isinstance(t, types.Tensor) or t.reads for t in active)
    return taken and (types.carries_gradient(result) or any(is_written(t) for t in active))


def kernel_signature(
    key: str, name: str, params: tuple[KernelParam, ...], results: tuple[KernelResult, ...]
) -> CallSignature:
    """Return the signature of the function that one thread of a kernel runs."""
    if not results:
        result: types.Type = types.VOID
    elif results[0].name == "result":
        result = results[0].type
    else:
        result = types.Tuple(tuple(r.type for r in results))
    return CallSignature(key, name, tuple(Parameter(p.name, p.type, p.no_diff, span=p.span) for p in params), result)


def yaml_spelling(memory: Memory) -> str:
    """Return ``inout_tensor``: the spelling of a memory in YAML descriptions."""
    return memory.value


def python_spelling(memory: Memory) -> str:
    """Return ``InOutTensor`` for ``inout_tensor``: the spelling of a memory in Python annotations."""
    return {Memory.INOUT_TENSOR: "InOutTensor", Memory.TEXTURE2D: "Texture2D"}.get(
        memory, memory.value.title().replace("_", "")
    )
