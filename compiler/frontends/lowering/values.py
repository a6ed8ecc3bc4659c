"""Arguments of kernels in a pipeline: a value or constant is converted for a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.constants import is_default_for, table_of
from slangad.compiler.ir import types
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.pipelines import Fixed, ValueArgument

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.nodes import KernelParam
    from slangad.compiler.ir.pipelines import Argument

TENSORS: Final = (Memory.TENSOR, Memory.OUT_TENSOR, Memory.INOUT_TENSOR)
ARRAYS: Final = (Memory.EACH, *TENSORS)
"""The memories with one element per index of some axes."""
_WRITABLE: Final = (Memory.OUT_TENSOR, Memory.INOUT_TENSOR)
_FITTING: Final[dict[Memory, tuple[Memory, ...]]] = {
    Memory.EACH: ARRAYS,
    Memory.TENSOR: ARRAYS,
    Memory.OUT_TENSOR: _WRITABLE,
    Memory.INOUT_TENSOR: _WRITABLE,
    Memory.TEXTURE2D: (Memory.TEXTURE2D,),
    Memory.PARAM: (Memory.PARAM, Memory.SUM, Memory.MEAN),
    Memory.UNIFORM: (Memory.UNIFORM,),
}
"""The memories of values that can be passed for a kernel's parameter in a memory."""
_HELP: Final = {
    Memory.OUT_TENSOR: "a tensor that a kernel writes must be an OutTensor or InOutTensor parameter of the pipeline",
    Memory.INOUT_TENSOR: "a tensor that a kernel writes must be an OutTensor or InOutTensor parameter of the pipeline",
    Memory.UNIFORM: "make it a Uniform of the pipeline, or a number",
    Memory.PARAM: "make it a Param of the pipeline, or the Sum or Mean of a kernel",
    Memory.TEXTURE2D: "make it a texture of the pipeline",
}
_WORDS: Final = {
    Memory.EACH: "an Each",
    Memory.UNIFORM: "a Uniform",
    Memory.PARAM: "a Param",
    Memory.TENSOR: "a Tensor",
    Memory.OUT_TENSOR: "an OutTensor",
    Memory.INOUT_TENSOR: "an InOutTensor",
    Memory.TEXTURE2D: "a texture",
    Memory.SUM: "a Sum",
    Memory.MEAN: "a Mean",
}


@dataclass(frozen=True, slots=True)
class PipelineValue:
    """A value of a pipeline; ``axes`` is 0 for any number of axes (an ``Each`` parameter)."""

    memory: Memory
    type: types.Type
    name: str
    rank: int = 0

    @property
    def axes(self) -> int:
        """The number of axes before those of an element; 0 if it is not known."""
        return self.type.rank if isinstance(self.type, types.Tensor) else self.rank


def element(type_: types.Type) -> types.Type:
    """Return the type of a memory's elements, or the type itself."""
    return type_.element if isinstance(type_, (types.Tensor, types.Texture)) else type_


def bind(value: PipelineValue, param: KernelParam, dims: int, where: Span, problems: Problems) -> Argument:
    """Return a value for a kernel's parameter.

    Raises:
        Rejected: It does not fit.
    """
    if value.memory not in _FITTING[param.memory]:
        message = f"'{param.name}' is {_WORDS[param.memory]}, this is {_WORDS[value.memory]}"
        raise problems.error("SA014", where, message, help=_HELP.get(param.memory, "make it a Tensor of the pipeline"))
    if element(value.type) != element(param.type):
        message = f"'{param.name}' holds {types.show(element(param.type))}, this {types.show(element(value.type))}"
        raise problems.error("SA014", where, message, help="kernels do not convert their arguments")
    wanted = param.type.rank if isinstance(param.type, types.Tensor) else dims if param.memory is Memory.EACH else 0
    if wanted and value.axes and value.axes != wanted:
        message = f"'{param.name}' has {wanted} axes, this has {value.axes}"
        raise problems.error("SA014", where, message, help="an Each has as many axes as its kernel has dims")
    return ValueArgument(value.name)


def constant_argument(value: object, param: KernelParam, where: Span, problems: Problems) -> Argument:
    """Return a constant for a kernel's parameter.

    Raises:
        Rejected: It does not fit.
    """
    if param.memory is not Memory.UNIFORM:
        message = f"'{param.name}' is {_WORDS[param.memory]}; a number can only be given to a Uniform"
        help_ = _HELP.get(param.memory, "make it a Tensor of the pipeline")
        raise problems.error("SA014", where, message, help=help_)
    table = table_of(value)
    if table is None or not is_default_for(value, param.type):
        raise problems.error(
            "SA014", where, f"'{param.name}' takes {types.show(param.type)}", label=type(value).__name__
        )
    floats = isinstance(param.type, types.Scalar) and types.is_floating(param.type)
    return Fixed(tuple(float(n) for n in table[1]) if floats else table[1])
