"""Print probes: identity functions whose derivative records the gradient, one for each element of the domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from slangad.compiler.emit.memory.buffers import buffer_scalar, element_type_of, shape_of
from slangad.compiler.emit.memory.tensors import print_attributes
from slangad.compiler.emit.model import EntryParameter, Mode, ParameterRole
from slangad.compiler.ir.calls import reached_in_order, value_callees
from slangad.compiler.ir.nodes import Probe
from slangad.compiler.ir.types import Type, show
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.memory.buffers import Accessors
    from slangad.compiler.emit.text.names import NameScope
    from slangad.compiler.emit.text.types import TypeSpeller
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Kernel, Module


ProbeKey: TypeAlias = "tuple[str, Type]"
"""A probe's name, and the type of its value."""


@dataclass(frozen=True, slots=True)
class ProbeNames:
    """The names of the parts of one probe in Slang."""

    function: str
    buffer: str


def probes_of(module: Module) -> tuple[ProbeKey, ...]:
    """Return the probes of a module. Probes of one name and type are one probe."""
    exprs = (e for f in module.functions for e in body_exprs(statements(f)))
    return tuple(dict.fromkeys((e.name, e.type) for e in exprs if isinstance(e, Probe)))


def name_probes(scope: NameScope, module: Module) -> dict[ProbeKey, ProbeNames]:
    """Return names for the function and the buffer of each probe."""
    return {
        (name, type_): ProbeNames(scope.fresh(f"probe_{name}"), scope.fresh(f"probe_{name}_grad"))
        for name, type_ in probes_of(module)
    }


@dataclass(frozen=True, slots=True)
class ProbePrinter:
    """One probe. It prints its buffer and function, and lists the parameters that entry points need for it."""

    name: str
    type: Type
    names: ProbeNames
    spell: TypeSpeller
    accessors: Accessors
    in_step: bool = False

    @property
    def kept(self) -> None:
        """Return None: groups keep no sums of it."""

    @property
    def written(self) -> bool:
        """Return False."""
        return False

    @property
    def together(self) -> bool:
        """Return False."""
        return False

    def used_by(self, module: Module, kernel: Kernel) -> bool:
        """Return True if the kernel has it."""
        functions = {f.key: f for f in module.functions}
        reached = reached_in_order(functions, kernel.function, value_callees)
        exprs = (expr for function in reached for expr in body_exprs(statements(function)))
        return any(isinstance(expr, Probe) and (expr.name, expr.type) == (self.name, self.type) for expr in exprs)

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the buffer, in backward mode."""
        if mode is Mode.BACKWARD:
            yield EntryParameter(
                name=self.names.buffer,
                role=ParameterRole.PROBE,
                parameter=self.name,
                path=(),
                scalar=buffer_scalar(self.type),
                shape=shape_of(self.type),
                type=self._buffer_type,
                access="add",
                shared=True,
            )

    def copies_parameters(self, mode: Mode) -> tuple[tuple[EntryParameter, ...], ...]:  # noqa: ARG002  (none in any)
        """Return no parameters: no two threads record the same element."""
        return ()

    @property
    def _buffer_type(self) -> str:
        return f"RWStructuredBuffer<{show(element_type_of(self.type))}>"

    def print(self, writer: Writer) -> None:
        """Print the buffer, then the identity with its derivatives."""
        function, pair = self.names.function, f"DifferentialPair<{self.spell.generic(self.type)}> value"
        writer.gap()
        writer.comment(f"The gradient of {self.name}, element by element.")
        writer.line(f"{self._buffer_type} {self.names.buffer};")
        writer.gap()
        print_attributes(writer, function)
        writer.line(f"{self.spell(self.type)} {function}({self.spell.declare(self.type, 'value')})")
        with writer.block():
            writer.line("return value;")
        writer.gap()
        writer.line(f"{pair.removesuffix(' value')} {function}_fwd({pair})")
        with writer.block():
            writer.line("return value;")
        writer.gap()
        writer.line(f"void {function}_bwd(inout {pair}, {self.spell.declare(self.type, 'd_out')})")
        with writer.block():
            if self.in_step:
                writer.line("if (sa.present)")
            with writer.indented(int(self.in_step)):
                writer.line(self.accessors.add(self.names.buffer, "sa.current_element", self.type, "d_out"))
            writer.line("value = diffPair(value.p, d_out);")
