"""Print values that all threads share: ``Param`` with its gradient, and the results that are sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.emit.entry_points.memory_classes import KernelScope, buffer_parameter, load_value
from slangad.compiler.emit.entry_points.sums import Slots, print_additions
from slangad.compiler.emit.memory.buffers import buffer_leaves
from slangad.compiler.emit.model import EntryParameter, Mode, ParameterRole
from slangad.compiler.emit.print.differentials import spell_differential
from slangad.compiler.ir import types
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import KernelParam, KernelResult


@dataclass(frozen=True, slots=True)
class SharedParam:
    """One value for all threads; its gradient is a sum over them."""

    scope: KernelScope
    param: KernelParam
    slots: Slots

    @property
    def differentiable(self) -> bool:
        """Return True if it has a gradient."""
        return not self.param.no_diff and types.carries_gradient(self.param.type)

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield its buffers and those of its tangent; the entry point of the totals has those of the gradient."""
        scope = self.scope.shared
        for leaf in buffer_leaves(self.param.type):
            yield buffer_parameter(scope, self.param.name, leaf, ParameterRole.INPUT, writes=False)
        if mode is Mode.JVP and self.differentiable:
            for leaf in buffer_leaves(self.param.type):
                if not leaf.no_diff:
                    yield buffer_parameter(scope, self.param.name, leaf, ParameterRole.TANGENT, writes=False)

    def count(self, mode: Mode) -> None:
        """Add the slots of the sums."""
        if mode is Mode.BACKWARD and self.differentiable:
            self.slots.add(self.param.name, ParameterRole.GRADIENT, self.param.type, added=True)

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Load the value into a local, and the tangent."""
        names, type_ = self.scope.names, self.param.type
        self._load(writer, ParameterRole.INPUT, self._value, names.spell.declare(type_, self._value))
        if mode is Mode.JVP and self.differentiable:
            declared = f"{spell_differential(names, type_)} {self._tangent}"
            self._load(writer, ParameterRole.TANGENT, self._tangent, declared)

    def _load(self, writer: Writer, role: ParameterRole, local: str, declared: str) -> None:
        """Print the load into a local, which loading may declare itself."""
        value = load_value(self.scope.shared, writer, self.param.type, self.param.name, role)
        if value != local:
            writer.line(f"{declared} = {value};")

    def argument(self, writer: Writer, mode: Mode) -> str:
        """Return the value; a pair where derivatives are wanted."""
        if mode is Mode.FORWARD or not self.differentiable:
            return self._value
        if mode is Mode.JVP:
            return f"diffPair({self._value}, {self._tangent})"
        spelled = self.scope.names.spell.generic(self.param.type)
        writer.line(f"DifferentialPair<{spelled}> {self._pair} = diffPair({self._value});")
        return self._pair

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Add this element's gradient to the thread's sums."""
        if mode is Mode.BACKWARD and self.differentiable:
            key = (self.param.name, ParameterRole.GRADIENT)
            print_additions(self.scope, writer, self.slots, key, self.param.type, f"{self._pair}.d")

    @property
    def _value(self) -> str:
        return self.scope.local(f"{self.param.name}_value")

    @property
    def _tangent(self) -> str:
        return self.scope.local(f"{self.param.name}_direction")

    @property
    def _pair(self) -> str:
        return self.scope.local(f"{self.param.name}_pair")


@dataclass(frozen=True, slots=True)
class SumPart:
    """A result that is added up or averaged over all elements; ``access`` selects it in the function's result."""

    scope: KernelScope
    result: KernelResult
    access: str
    slots: Slots

    @property
    def differentiable(self) -> bool:
        """Return True if it can have a cotangent."""
        return types.carries_gradient(self.result.type)

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the cotangent's buffers; the entry point of the totals has those of the totals."""
        if mode is Mode.BACKWARD and self.differentiable:
            for leaf in buffer_leaves(self.result.type):
                if not leaf.no_diff:
                    yield buffer_parameter(
                        self.scope.shared, self.result.name, leaf, ParameterRole.COTANGENT, writes=False
                    )

    def count(self, mode: Mode) -> None:
        """Add the slots of the sums."""
        self.slots.add(self.result.name, ParameterRole.RESULT, self.result.type, mean=self._is_mean)
        if mode is Mode.JVP and self.differentiable:
            self.slots.add(self.result.name, ParameterRole.RESULT_TANGENT, self.result.type, mean=self._is_mean)

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Load the cotangent; every element of a mean gets a part of it."""
        if mode is not Mode.BACKWARD or not self.differentiable:
            return
        type_ = self.result.type
        value = load_value(self.scope.shared, writer, type_, self.result.name, ParameterRole.COTANGENT)
        if value != self._seed:
            declared = f"{spell_differential(self.scope.names, type_)} {self._seed}"
            writer.line(f"{declared} = {value};")
        if self._is_mean:
            self._scale(writer, type_, self._seed)

    def _scale(self, writer: Writer, type_: types.Type, value: str) -> None:
        """Print the division of every part of the cotangent by the number of elements."""
        match type_:
            case types.Struct(fields=fields):
                for field in fields:
                    if not field.no_diff and types.carries_gradient(field.type):
                        self._scale(writer, field.type, f"{value}.{self.scope.names.field(type_, field.name)}")
            case types.Array(element, size):
                counter = self.scope.local(f"n{value.count('[')}")
                writer.line(f"for (uint {counter} = 0; {counter} < {size}; ++{counter})")
                with writer.block():
                    self._scale(writer, element, f"{value}[{counter}]")
            case _:
                writer.line(_divided(value, type_, self.scope.local("count")))

    def seed(self, writer: Writer) -> str:  # noqa: ARG002  (as results of elements have it)
        """Return the cotangent."""
        return self._seed

    def store(self, writer: Writer, value: str) -> None:
        """Add the element's result to the thread's sums; ``value`` is the function's result."""
        self._add(writer, f"{value}{self.access}", ParameterRole.RESULT)

    def store_tangent(self, writer: Writer, tangent: str) -> None:
        """Add the tangent of the element's result."""
        if self.differentiable:
            self._add(writer, f"{tangent}{self.access}", ParameterRole.RESULT_TANGENT)

    def _add(self, writer: Writer, value: str, role: ParameterRole) -> None:
        print_additions(self.scope, writer, self.slots, (self.result.name, role), self.result.type, value)

    @property
    def _is_mean(self) -> bool:
        return self.result.memory is Memory.MEAN

    @property
    def _seed(self) -> str:
        return self.scope.local(f"{self.result.name}_seed")


def _divided(value: str, type_: types.Type, count: str) -> str:
    """Return the statement that divides a number, vector or matrix; halves are divided as floats for accuracy."""
    element = types.element_of(type_)
    if element == types.HALF:
        return f"{value} = {types.show(type_)}({types.show(type_).replace('half', 'float')}({value}) / float({count}));"
    return f"{value} /= {'double' if element == types.DOUBLE else 'float'}({count});"
