"""Hold the state of printing one function: the names of the module and of the function, and the writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.ir.nodes import External
from slangad.compiler.ir.types import Array, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.emit.memory.probes import ProbeKey, ProbeNames
    from slangad.compiler.emit.memory.tensors import MemoryNames
    from slangad.compiler.emit.text.names import NameScope
    from slangad.compiler.emit.text.types import TypeSpeller
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.layers import Layer
    from slangad.compiler.ir.nodes import Function


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The emitted names of a module's declarations, by key, and the functions themselves.

    ``gradients`` has the functions that return gradients as values, by the function that is differentiated.
    ``converters`` has the two conversions between a type and its differential. ``external`` has the keys of structs of
    Slang files, and ``taken`` the names that those files declare. ``memory`` has the names of each tensor and texture,
    ``probes`` those of each probe. ``wrappers`` has the functions that are differentiated in place of ambiguous ones.
    ``integers`` has the values of the constants of type int, ``layers`` the layer of each matrix. ``tables`` has the
    names of functions that return what a table has at no index, at one, and so on, by the table's key, and ``rows``
    those that printed text calls: the key and the number of indices.
    """

    functions: Mapping[str, Function]
    structs: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]]
    constants: Mapping[str, str]
    function_names: Mapping[str, str]
    gradients: Mapping[str, str]
    to_differential: str
    from_differential: str
    spell: TypeSpeller
    external: frozenset[str] = frozenset()
    taken: tuple[str, ...] = ()
    memory: Mapping[str, MemoryNames] = field(default_factory=dict)
    probes: Mapping[ProbeKey, ProbeNames] = field(default_factory=dict)
    wrappers: Mapping[str, str] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)
    layers: Mapping[str, Layer] = field(default_factory=dict)
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: set[tuple[str, int]] = field(default_factory=set)

    def has_external(self, type_: Type) -> bool:
        """Return True if a type contains a struct from a Slang file; only Slang knows its differential."""
        match type_:
            case Struct(key=key, fields=fields):
                return key in self.external or any(self.has_external(f.type) for f in fields)
            case Array(element=element):
                return self.has_external(element)
            case _:
                return False

    def field(self, type_: Type, name: str) -> str:
        """Return the emitted name of a struct's field."""
        if not isinstance(type_, Struct):
            raise TypeError(f"{type_} has no fields")
        return self.fields[type_.key][name]

    def call(self, function: Function) -> str:
        """Return the name that calls a function; that of a static method is qualified by its struct."""
        through_wrapper = isinstance(function.body, External) and function.body.call
        return self.reference(function) if function.static or through_wrapper else self.function_names[function.key]

    def method(self, function: Function) -> str:
        """Return the name of a method after its object."""
        name = self.function_names[function.key]
        return name[name.rfind(f".{function.name}") + 1 :]

    def reference(self, function: Function) -> str:
        """Return the name of a function where it is differentiated; that of a method is qualified by its struct."""
        if function.key in self.wrappers:
            return self.wrappers[function.key]
        name = self.function_names[function.key]
        inside = function.owner and function.owner not in self.external
        return f"{self.structs[function.owner]}.{name}" if inside else name


@dataclass(frozen=True, slots=True)
class PrintContext:
    """The state of printing one function.

    ``self_name`` is the parameter that is spelled ``this``. ``dims`` is the number of the kernel's axes, or 0 without.
    ``differentiable`` says whether Slang differentiates the function.
    """

    names: ModuleNames
    locals: NameScope
    writer: Writer
    self_name: str = ""
    dims: int = 0
    differentiable: bool = False

    def local(self, name: str) -> str:
        """Return the emitted name of a parameter or local; the first use selects it."""
        if name == self.self_name:
            return "this"
        if name not in self.locals:
            return self.locals.give(name, name.strip())
        return self.locals[name]

    def thread(self, name: str, axis: int) -> str:
        """Return a component of the kernel's thread index or domain."""
        local = self.local(f" {name}")
        return local if self.dims == 1 else f"{local}[{axis}]"
