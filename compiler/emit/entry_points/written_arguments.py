"""Print kernel arguments that the function writes: ``out`` and ``inout`` parameters of functions in Slang files.

Each uses the buffers of its result. In backward mode the cotangent is the input at the location of the result.
Slang's derivative functions take the cotangent of an ``out`` parameter, and omit one without derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.emit.entry_points.memory_classes import EachParam, ElementResult, KernelScope, load_value
from slangad.compiler.emit.model import EntryParameter, Mode, ParameterRole
from slangad.compiler.ir.types import Type, carries_gradient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Param


@dataclass(frozen=True, slots=True)
class OutArgument:
    """An ``out`` parameter: a local that the function sets."""

    scope: KernelScope
    param: Param
    part: ElementResult

    @property
    def differentiable(self) -> bool:
        """Return True if it can have a cotangent."""
        return _differentiable(self.param)

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the buffers of the result, its tangent or its cotangent."""
        yield from stored_parameters(self.part, mode, differentiable=self.differentiable)

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Do nothing."""

    def argument(self, writer: Writer, mode: Mode) -> str:
        """Declare and return the local; in backward mode only return the cotangent, or nothing if there is none."""
        if mode is Mode.BACKWARD:
            return self.part.seed(writer) if self.differentiable else ""
        pair = mode is Mode.JVP and self.differentiable
        spell = self.scope.names.spell
        if pair:
            writer.line(f"DifferentialPair<{spell.generic(self.param.type)}> {self._local(mode)};")
        else:
            writer.line(f"{spell.declare(self.param.type, self._local(mode))};")
        return self._local(mode)

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Print the store of the local."""
        store_result(self.part, writer, mode, self._local(mode), differentiable=self.differentiable)

    def _local(self, mode: Mode) -> str:
        suffix = "pair" if mode is Mode.JVP and self.differentiable else "value"
        return self.scope.local(f"{self.param.name}_{suffix}")


@dataclass(frozen=True, slots=True)
class InOutArgument:
    """An ``inout`` parameter: loaded as an input, stored as a result."""

    each: EachParam
    part: ElementResult

    @property
    def differentiable(self) -> bool:
        """Return True if it has a gradient."""
        return self.each.differentiable

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield those of an input, then those of a result."""
        yield from self.each.parameters(mode)
        yield from stored_parameters(self.part, mode, differentiable=self.differentiable)

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Do nothing."""

    def argument(self, writer: Writer, mode: Mode) -> str:
        """Return a local with the value; a pair of it and the tangent, or the cotangent of the result."""
        scope, param = self.each.scope, self.each.param
        if mode is Mode.BACKWARD and not self.differentiable:
            return self.each.argument(writer, mode)
        value = load_value(scope, writer, param.type, param.name, ParameterRole.INPUT)
        local = self._local(mode)
        if mode is Mode.FORWARD or not self.differentiable:
            if value != local:
                writer.line(f"{scope.names.spell.declare(param.type, local)} = {value};")
            return local
        if mode is Mode.JVP:
            other = load_value(scope, writer, param.type, param.name, ParameterRole.TANGENT)
        else:
            other = self.part.seed(writer)
        writer.line(f"DifferentialPair<{_generic(scope, param.type)}> {local} = diffPair({value}, {other});")
        return local

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Store the gradient, or the result."""
        self.each.finish(writer, mode)
        store_result(self.part, writer, mode, self._local(mode), differentiable=self.differentiable)

    def _local(self, mode: Mode) -> str:
        suffix = "value" if mode is Mode.FORWARD or not self.differentiable else "pair"
        return self.each.scope.local(f"{self.each.param.name}_{suffix}")


def stored_parameters(part: ElementResult, mode: Mode, *, differentiable: bool) -> Iterator[EntryParameter]:
    """Yield the buffers of a result; one without derivative has none in backward mode, and no tangent."""
    for parameter in part.parameters(mode):
        if differentiable or parameter.role is ParameterRole.RESULT:
            yield parameter


def store_result(part: ElementResult, writer: Writer, mode: Mode, local: str, *, differentiable: bool) -> None:
    """Print the stores of a local that the function wrote; of a pair in JVP mode."""
    if mode is Mode.FORWARD or (mode is Mode.JVP and not differentiable):
        part.store(writer, local)
    elif mode is Mode.JVP:
        part.store(writer, f"{local}.p")
        part.store_tangent(writer, f"{local}.d")


def _differentiable(param: Param) -> bool:
    return not param.no_diff and carries_gradient(param.type)


def _generic(scope: KernelScope, type_: Type) -> str:
    return scope.names.spell.generic(type_)
