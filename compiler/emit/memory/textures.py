"""Print textures: the texels and their filter, and a function with its derivatives for each way to read them.

The gradient of a sample is added to its texels and, where it is needed, to the coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.emit.memory.tensors import (
    copies_parameters,
    is_exact,
    kept_number,
    print_attributes,
    print_first,
    print_noted,
    print_scatter,
    scatter_call,
    totals_parameters,
)
from slangad.compiler.emit.model import EntryParameter, Mode, ParameterRole
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.memory.tensors import MemoryNames
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Buffer, Kernel, Module


@dataclass(frozen=True, slots=True)
class TexturePrinter:
    """One texture. It prints its declarations and functions, and lists the parameters that entry points need for it.

    ``sampled`` and ``loaded`` are True for functions that are called. ``kept`` is as in ``TensorPrinter``.
    """

    buffer: Buffer
    texture: types.Texture
    names: MemoryNames
    sampled: bool = True
    loaded: bool = True
    kept: int | None = None

    @property
    def written(self) -> bool:
        """Return False."""
        return False

    @property
    def together(self) -> bool:
        """Return False."""
        return False

    def used_by(self, module: Module, kernel: Kernel) -> bool:  # noqa: ARG002  (a probe has to ask the module)
        """Return True if it belongs to a kernel."""
        return kernel.name == self.buffer.kernel

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the texels, their filter and extents; then those of the tangent, or the totals."""
        yield self._parameter(self.names.values, ParameterRole.INPUT, self._texels, "texture", types.FLOAT)
        yield self._parameter(self.names.filter, ParameterRole.SAMPLER, "sa.Filter", "value", types.UINT)
        yield self._parameter(self.names.extents, ParameterRole.EXTENTS, "uint2", "value", types.UINT)
        if self.buffer.no_diff or mode is Mode.FORWARD:
            return
        if mode is Mode.JVP:
            yield self._parameter(self.names.tangent, ParameterRole.TANGENT, self._texels, "texture", types.FLOAT)
        else:
            yield from totals_parameters(self.buffer, self.names, self._shape)

    def copies_parameters(self, mode: Mode) -> Iterator[tuple[EntryParameter, ...]]:  # noqa: ARG002  (one with totals)
        """Yield the parameters of the entry point that adds up the copies."""
        yield copies_parameters(self.buffer, types.FLOAT, self._shape)

    def _parameter(
        self, name: str, role: ParameterRole, type_: str, access: str, scalar: types.Scalar
    ) -> EntryParameter:
        value = access == "value"
        shape = (2,) if role is ParameterRole.EXTENTS else () if value else self._shape
        return EntryParameter(
            name, role, self.buffer.param, (), scalar, shape, type_, access, axes=0 if value else 2, shared=True
        )

    @property
    def _scatter(self) -> str:
        extents, totals = self.names.extents, self.names.gradient
        channels = (str(self._channels),) if self._channels > 1 else ()
        size = " * ".join((*channels, self.names.copies, f"{extents}.x", f"{extents}.y"))
        return scatter_call(self.buffer, self.names, totals, size, self.kept)

    @property
    def _channels(self) -> int:
        return self.texture.element.size if isinstance(self.texture.element, types.Vector) else 1

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self._channels,) if self._channels > 1 else ()

    @property
    def _texels(self) -> str:
        return f"sa.Texels{4 if self._channels == 3 else self._channels}"

    @property
    def _address(self) -> str:
        return f"sa.{self.texture.address.upper()}"

    @property
    def _value(self) -> str:
        """Return the type of a texel."""
        return types.show(self.texture.element)

    def _as_value(self, text: str) -> str:
        """Return a texel as the user's type."""
        part = f"{text}.xyz" if self._channels == 3 else text
        element = (
            self.texture.element.element if isinstance(self.texture.element, types.Vector) else self.texture.element
        )
        return f"{self._value}({part})" if element != types.FLOAT else part

    def _texel(self, texels: str, at: str) -> str:
        return self._as_value(f"sa.texel({texels}, {at}, {self.names.extents})")

    def _filtered(self, texels: str, uv: str) -> str:
        if self.texture.filter == "nearest":
            return self._texel(texels, f"sa.nearest({uv}, {self.names.extents}, {self._address})")
        arguments = (texels, self.names.filter, uv, self.names.extents, self._address)
        return self._as_value(f"sa.filtered({', '.join(arguments)})")

    # --- text ---

    def print(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        """Print the declarations for some modes, then the functions."""
        declared = {p.name: p.type for mode in modes for p in self.parameters(mode)}
        writer.gap()
        writer.line(f"// {self.buffer.param} of {self.buffer.kernel}: {types.show(self.texture)}.")
        for name, type_ in declared.items():
            writer.line(f"{'' if 'RW' in type_ else 'uniform '}{type_} {name};")
        print_noted(writer, self.names, declared)
        if self.names.gradient in declared:
            print_first(writer, self.names)
        if self.loaded:
            self._print_read(writer, modes)
        if self.sampled:
            self._print_sample(writer, modes)

    def _derived(self, modes: tuple[Mode, ...]) -> bool:
        return bool(modes) and modes != (Mode.FORWARD,)

    def _print_read(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        name, at = self.names.read, "uint2(uint(i), uint(j))"
        derived = self._derived(modes) and not self.buffer.no_diff
        writer.gap()
        if derived:
            print_attributes(writer, name)
        writer.line(f"{self._value} {name}(int i, int j)")
        with writer.block():
            writer.line(f"return {self._texel(self.names.values, at)};")
        if not derived:
            return
        writer.gap()
        writer.line(f"DifferentialPair<{self._value}> {name}_fwd(int i, int j)")
        with writer.block():
            tangent = self._texel(self.names.tangent, at) if Mode.JVP in modes else f"{self._value}(0)"
            writer.line(f"return diffPair({self._texel(self.names.values, at)}, {tangent});")
        writer.gap()
        writer.line(f"void {name}_bwd(int i, int j, {self._value} d_out)")
        with writer.block():
            if Mode.BACKWARD in modes:
                writer.line(f"uint at = {self._place('uint(i)', 'uint(j)')};")
                print_scatter(writer, self._scatter, "at", self.texture.element, "d_out")

    def _place(self, row: str, column: str) -> str:
        """Return the number of a texel's first scalar among the totals."""
        extents = self.names.extents
        place = f"{self.names.first} + {row} * {extents}.y + {column}"
        return f"{self._channels} * ({place})" if self._channels > 1 else place

    def first_of(self, group: str) -> str:
        """Return the number of the first texel of a group's copy of the totals."""
        return f"({group} % {self.names.copies}) * {self.names.extents}.x * {self.names.extents}.y"

    def _print_sample(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        name = self.names.sample
        writer.gap()
        if self._derived(modes):
            print_attributes(writer, name)
        writer.line(f"{self._value} {name}({self._coordinates('float2')})")
        with writer.block():
            writer.line(f"return {self._filtered(self.names.values, 'uv')};")
        if not self._derived(modes):
            return
        self._print_sample_forward(writer, modes)
        self._print_sample_backward(writer, modes)

    def _coordinates(self, type_: str) -> str:
        return f"{type_} uv" if self.buffer.followed else "no_diff float2 uv" if type_ == "float2" else "float2 uv"

    def _print_sample_forward(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        uv = "uv.p" if self.buffer.followed else "uv"
        writer.gap()
        parameter = self._coordinates("DifferentialPair<float2>")
        writer.line(f"DifferentialPair<{self._value}> {self.names.sample}_fwd({parameter})")
        with writer.block():
            tangent = f"{self._value}(0)"
            if Mode.JVP in modes and not self.buffer.no_diff:
                tangent = self._filtered(self.names.tangent, uv)
            writer.line(f"{self._value} tangent = {tangent};")
            if self.buffer.followed and self.texture.filter == "bilinear":
                writer.line(self._corners(uv))
                self._print_each_corner(writer)
                with writer.block():
                    texel = f"sa.texel({self.names.values}, corners.at[k], {self.names.extents})"
                    writer.line(f"tangent += {self._as_value(f'dot(corners.slope[k], uv.d) * {texel}')};")
            writer.line(f"return diffPair({self._filtered(self.names.values, uv)}, tangent);")

    def _corners(self, uv: str) -> str:
        return f"sa.Corners corners = sa.bilinear({uv}, {self.names.extents}, {self._address});"

    def _print_each_corner(self, writer: Writer, step: int = 1) -> None:
        writer.line("[ForceUnroll]")
        writer.line(f"for (int k = 0; k < 4; {'++k' if step == 1 else f'k += {step}'})")

    def _print_sample_backward(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        followed = self.buffer.followed
        uv = "uv.p" if followed else "uv"
        writer.gap()
        parameter = self._coordinates("inout DifferentialPair<float2>")
        writer.line(f"void {self.names.sample}_bwd({parameter}, {self._value} d_out)")
        with writer.block():
            if followed:
                writer.line("float2 d_uv = float2(0.0);")
            if Mode.BACKWARD in modes:
                if self.texture.filter == "nearest":
                    self._print_nearest(writer, uv)
                else:
                    self._print_bilinear(writer, uv)
            if followed:
                writer.line("uv = diffPair(uv.p, d_uv);")

    def _print_nearest(self, writer: Writer, uv: str) -> None:
        if not self.buffer.no_diff:
            writer.line(f"uint2 texel = sa.nearest({uv}, {self.names.extents}, {self._address});")
            writer.line(f"uint at = {self._place('texel.x', 'texel.y')};")
            print_scatter(writer, self._scatter, "at", self.texture.element, "d_out")

    def _print_bilinear(self, writer: Writer, uv: str) -> None:
        if self.buffer.no_diff and not self.buffer.followed:
            return
        writer.line(self._corners(uv))
        if self.buffer.followed:
            self._print_each_corner(writer)
            with writer.block():
                texel = self._texel(self.names.values, "corners.at[k]")
                moved = f"dot({texel}, d_out)" if self._channels > 1 else f"{texel} * d_out"
                writer.line(f"d_uv += corners.slope[k] * float({moved});")
        if self.buffer.no_diff:
            return
        in_pairs = not is_exact(self.buffer)
        self._print_each_corner(writer, 2 if in_pairs else 1)
        with writer.block():
            shares = [f"{self._value}(corners.weight[{k}]) * d_out" for k in ("k", "k + 1")]
            places = [self._place(f"corners.at[{k}].x", f"corners.at[{k}].y") for k in ("k", "k + 1")]
            if in_pairs:
                self._print_row(writer, places, shares)
            else:
                writer.line(f"uint at = {places[0]};")
                print_scatter(writer, self._scatter, "at", self.texture.element, f"({shares[0]})")

    def _print_row(self, writer: Writer, places: list[str], shares: list[str]) -> None:
        """Print the additions to two texels of one row."""
        number = kept_number(self.buffer, self.kept)
        floats = f"float{self._channels if self._channels > 1 else ''}"
        if floats != self._value:
            shares = [f"{floats}({share})" for share in shares]
        writer.line(f"uint2 at = {{ {', '.join(places)} }};")
        writer.line(f"sa.scatter_two({self.names.gradient}, {number}, at[0], {shares[0]}, at[1], {shares[1]});")
