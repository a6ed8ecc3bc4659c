"""Read the declarations of a checked Slang module through Slang's reflection, and return them as JSON.

Runs in worker processes, beside ``library``. Only accessors that are safe are called (docs/slang-notes.md): generics
tell their names alone, types are looked at only where a function can be called as it stands or was asked for by name.
"""

from __future__ import annotations

import ctypes
import json
from collections import Counter
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Json = dict[str, Any]

_SIGNATURES: Final = {
    "spReflectionDecl_getChildrenCount": (c_uint, (c_void_p,)),
    "spReflectionDecl_getChild": (c_void_p, (c_void_p, c_uint)),
    "spReflectionDecl_getName": (c_char_p, (c_void_p,)),
    "spReflectionDecl_getKind": (c_uint, (c_void_p,)),
    "spReflectionDecl_castToFunction": (c_void_p, (c_void_p,)),
    "spReflectionDecl_castToGeneric": (c_void_p, (c_void_p,)),
    "spReflectionGeneric_GetInnerDecl": (c_void_p, (c_void_p,)),
    "spReflectionFunction_GetName": (c_char_p, (c_void_p,)),
    "spReflectionFunction_FindModifier": (c_void_p, (c_void_p, c_uint)),
    "spReflectionFunction_GetParameterCount": (c_uint, (c_void_p,)),
    "spReflectionFunction_GetParameter": (c_void_p, (c_void_p, c_uint)),
    "spReflectionFunction_GetResultType": (c_void_p, (c_void_p,)),
    "spReflectionFunction_isOverloaded": (c_bool, (c_void_p,)),
    "spReflectionFunction_getOverloadCount": (c_uint, (c_void_p,)),
    "spReflectionFunction_getOverload": (c_void_p, (c_void_p, c_uint)),
    "spReflectionVariable_GetName": (c_char_p, (c_void_p,)),
    "spReflectionVariable_GetType": (c_void_p, (c_void_p,)),
    "spReflectionVariable_FindModifier": (c_void_p, (c_void_p, c_uint)),
    "spReflectionType_GetKind": (c_uint, (c_void_p,)),
    "spReflectionType_GetFullName": (c_int, (c_void_p, POINTER(c_void_p))),
    "spReflectionType_GetFieldCount": (c_uint, (c_void_p,)),
    "spReflectionType_GetFieldByIndex": (c_void_p, (c_void_p, c_uint)),
    "spReflectionType_GetElementCount": (c_size_t, (c_void_p,)),
    "spReflectionType_GetElementType": (c_void_p, (c_void_p,)),
    "spReflectionType_GetRowCount": (c_uint, (c_void_p,)),
    "spReflectionType_GetColumnCount": (c_uint, (c_void_p,)),
    "spReflectionType_GetScalarType": (c_uint, (c_void_p,)),
    "spReflection_getTypeFromDecl": (c_void_p, (c_void_p,)),
    "spReflection_FindFunctionByName": (c_void_p, (c_void_p, c_char_p)),
    "spReflection_FindTypeByName": (c_void_p, (c_void_p, c_char_p)),
    "spReflection_GetTypeLayout": (c_void_p, (c_void_p, c_void_p, c_uint)),
    "spReflectionTypeLayout_GetFieldCount": (c_uint, (c_void_p,)),
    "spReflection_isSubType": (c_bool, (c_void_p, c_void_p, c_void_p)),
}

_STRUCT, _FUNCTION, _MODULE, _GENERIC, _NAMESPACE = 1, 2, 3, 4, 6
"""Kinds of declarations (slang.h, SlangDeclKind)."""

_IS_STRUCT, _IS_ARRAY, _IS_MATRIX, _IS_VECTOR, _IS_SCALAR = 1, 2, 3, 4, 5
"""Kinds of types (slang.h, SlangTypeKind)."""

_NO_DIFF, _STATIC, _DIFFERENTIABLE, _MUTATING, _OUT, _INOUT = 1, 2, 6, 7, 9, 10
"""Modifiers (slang.h, SlangModifierID)."""

_SCALARS: Final = {1: "void", 2: "bool", 3: "int", 4: "uint", 7: "half", 8: "float", 9: "double"}
"""Scalar types (slang.h, SlangScalarType) that have a name in slangad."""

_MOST = 1 << 31


class DeclarationReader:
    """Reads modules of one loaded library.

    Args:
        library: The Slang library.
        take: Turns an output blob into text, and releases it.
    """

    def __init__(self, library: ctypes.CDLL, take: Callable[[c_void_p], str]) -> None:
        self._library = library
        self._take = take
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def read(self, module: int, layout: int, asked: tuple[str, ...]) -> str:
        """Return all declarations of a module, as JSON.

        Args:
            module: The reflection of the module's declaration.
            layout: The reflection of the module as a program, for look-ups by name.
            asked: Functions to look up by name, such as ``f<float, 4>``.
        """
        walk = _Walk(self._library, self._take, layout)
        return json.dumps(
            {
                "functions": list(walk.functions(module, (), "")),
                "names": list(dict.fromkeys(walk.names(module))),
                "extensions": list(walk.extensions(module)),
                "asked": [{"text": text, "functions": walk.find(text)} for text in asked],
                "structs": walk.structs,
            }
        )


class _Walk:
    """One reading; ``structs`` fills with every struct that a type mentions."""

    def __init__(self, library: ctypes.CDLL, take: Callable[[c_void_p], str], layout: int) -> None:
        self._library = library
        self._take = take
        self._layout = layout
        self._differentiable = library.spReflection_FindTypeByName(layout, b"IDifferentiable")
        self.structs: dict[str, Json] = {}

    def names(self, module: int) -> Iterator[str]:
        """Yield the names a module declares at its top."""
        for child in self._children(module):
            name = self._name(child)
            if self._is_file(child):
                yield from self.names(child)
            elif name and not name.startswith("$"):
                yield name

    def functions(self, parent: int, path: tuple[str, ...], owner: str) -> Iterator[Json]:
        """Yield the differentiable functions below a declaration: those of namespaces and structs too.

        ``path`` leads to it, with ``<>`` behind what is generic; ``owner`` is the full name of the struct that it is,
        if it is one and nothing on the path is generic.
        """
        children = list(self._children(parent))
        names = Counter(self._name(self._inner(child)) for child in children)
        for child in children:
            if not path and self._is_file(child):
                yield from self.functions(child, path, owner)
                continue
            mark = "<>" if self._kind(child) == _GENERIC else ""
            child = self._inner(child)  # noqa: PLW2901  (looked through)
            kind = self._kind(child) if child else 0
            name = self._name(child) if kind in (_STRUCT, _NAMESPACE, _FUNCTION) else ""
            if not name or name.startswith("$") or name == "Differential":
                continue
            here = (*path, name + mark)
            generic = any(part.endswith("<>") for part in here)
            if kind == _FUNCTION:
                function = self._library.spReflectionDecl_castToFunction(child)
                if self._has(function, _DIFFERENTIABLE):
                    described = self._head(function) if generic else self._function(function)
                    place = {"path": here[:-1], "owner": owner, "pattern": ".".join(here)}
                    yield {**place, "overloaded": names[name] > 1, **described}
            else:
                struct = self._library.spReflection_getTypeFromDecl(child) if kind == _STRUCT and not generic else 0
                yield from self.functions(child, here, self._struct(struct) if struct else "")

    def extensions(self, module: int) -> Iterator[Json]:
        """Yield the differentiable methods of extensions that are not generic. Extensions have no kind and no name."""
        for child in self._children(module):
            if self._is_file(child):
                yield from self.extensions(child)
            elif not self._kind(child) and not self._name(child):
                for method in self._children(child):
                    is_function = self._kind(method) == _FUNCTION
                    function = self._library.spReflectionDecl_castToFunction(method) if is_function else 0
                    if function and self._has(function, _DIFFERENTIABLE):
                        yield self._function(function)

    def _inner(self, decl: int) -> int:
        """Return the inner declaration of a generic one; any other declaration unchanged."""
        if self._kind(decl) != _GENERIC:
            return decl
        generic = self._library.spReflectionDecl_castToGeneric(decl)
        return int(self._library.spReflectionGeneric_GetInnerDecl(generic) or 0)

    def _is_file(self, decl: int) -> bool:
        """Return True if a declaration is another file of the module (``__include``).

        Reflection has no kind for it, nor for classes and interfaces; but a file begins with ``implementing``, a
        declaration without a kind and a name.
        """
        name = self._name(decl)
        if self._kind(decl) or not name or name.startswith("$"):
            return False
        first = next(self._children(decl), 0)
        return bool(first) and not self._kind(first) and not self._name(first)

    def find(self, text: str) -> list[Json]:
        """Return the functions of a name: none, one, or several overloads, in the order of the text.

        The name of a struct gives no function, and adds the struct to ``structs``.
        """
        library = self._library
        handle = library.spReflection_FindFunctionByName(self._layout, text.encode())
        if not handle:
            type_ = library.spReflection_FindTypeByName(self._layout, text.encode())
            if type_ and library.spReflectionType_GetKind(type_) == _IS_STRUCT:
                self._struct(type_)
            return []
        if library.spReflectionFunction_isOverloaded(handle):
            count = library.spReflectionFunction_getOverloadCount(handle)
            found_all = [library.spReflectionFunction_getOverload(handle, i) for i in reversed(range(count))]
        else:
            found_all = [handle]
        owner = library.spReflection_FindTypeByName(self._layout, text.rpartition(".")[0].encode())
        is_struct = owner and library.spReflectionType_GetKind(owner) == _IS_STRUCT
        name = self._struct(owner) if is_struct else ""
        overloaded = len(found_all) > 1
        return [{"owner": name, "overloaded": overloaded, **self._function(function)} for function in found_all]

    def _head(self, function: int) -> Json:
        return {
            "name": _text(self._library.spReflectionFunction_GetName(function)),
            "differentiable": self._has(function, _DIFFERENTIABLE),
            "static": self._has(function, _STATIC),
            "mutating": self._has(function, _MUTATING),
        }

    def _function(self, function: int) -> Json:
        library = self._library
        count = library.spReflectionFunction_GetParameterCount(function)
        params = [library.spReflectionFunction_GetParameter(function, index) for index in range(count)]
        return {
            **self._head(function),
            "params": [self._variable(param) for param in params],
            "result": self._type(library.spReflectionFunction_GetResultType(function)),
        }

    def _variable(self, variable: int) -> Json:
        """Return a parameter or field. Slang itself marks those of types that are not differentiable as ``no_diff``."""
        has = self._library.spReflectionVariable_FindModifier
        out, both = has(variable, _OUT), has(variable, _INOUT)
        return {
            "name": _text(self._library.spReflectionVariable_GetName(variable)),
            "type": self._type(self._library.spReflectionVariable_GetType(variable)),
            "no_diff": bool(has(variable, _NO_DIFF)),
            "direction": "inout" if both else "out" if out else "in",
        }

    def _type(self, type_: int) -> Json:
        library = self._library
        kind = library.spReflectionType_GetKind(type_) if type_ else 0
        if kind == _IS_STRUCT:
            return {"kind": "struct", "name": self._struct(type_)}
        if kind == _IS_ARRAY:
            count = library.spReflectionType_GetElementCount(type_)
            element = self._type(library.spReflectionType_GetElementType(type_))
            return {"kind": "array", "element": element, "count": count if count < _MOST else 0}
        scalar = self._scalar(type_, kind)
        if scalar is None:
            return {"kind": "other", "name": self._full_name(type_)}
        if kind == _IS_MATRIX:
            rows, columns = (
                library.spReflectionType_GetRowCount(type_),
                library.spReflectionType_GetColumnCount(type_),
            )
            return {"kind": "matrix", "scalar": scalar, "rows": rows, "columns": columns}
        if kind == _IS_VECTOR:
            return {"kind": "vector", "scalar": scalar, "count": library.spReflectionType_GetElementCount(type_)}
        return {"kind": "scalar", "scalar": scalar}

    def _scalar(self, type_: int, kind: int) -> str | None:
        """Return the scalar that a scalar, vector or matrix is made of, if slangad knows it."""
        if kind not in (_IS_SCALAR, _IS_VECTOR, _IS_MATRIX):
            return None
        return _SCALARS.get(self._library.spReflectionType_GetScalarType(type_))

    def _struct(self, type_: int) -> str:
        """Describe a struct in ``structs``; return its name."""
        name = self._full_name(type_)
        if name not in self.structs:
            record = self.structs[name] = {}
            record["fields"] = [self._variable(field) for field in self._fields(type_)]
            record["inherits"] = self._is_plain(name) and self._inherits(type_)
            record["differential"] = self._differential(type_, name)
        return name

    def _is_plain(self, name: str) -> bool:
        """Return True if a struct holds only numbers. Slang may crash on the layout of others, such as ``extern``."""
        waiting: list[Json] = [{"kind": "struct", "name": name}]
        while waiting:
            type_ = waiting.pop()
            if type_["kind"] == "struct":
                fields = self.structs[type_["name"]]["fields"]
                if not fields:
                    return False
                waiting += [field["type"] for field in fields]
            elif type_["kind"] == "other":
                return False
            waiting += [type_["element"]] if "element" in type_ else []
        return True

    def _inherits(self, type_: int) -> bool:
        """Return True if a struct has a base struct: a field of its layout that is not among its fields."""
        layout = self._library.spReflection_GetTypeLayout(self._layout, type_, 0)
        fields = self._library.spReflectionTypeLayout_GetFieldCount(layout) if layout else 0
        return bool(fields > self._library.spReflectionType_GetFieldCount(type_))

    def _differential(self, type_: int, name: str) -> list[str] | None:
        """Return the fields of a struct's Differential; none if it is not differentiable."""
        library = self._library
        if not library.spReflection_isSubType(self._layout, type_, self._differentiable):
            return None
        handle = library.spReflection_FindTypeByName(self._layout, f"{name}.Differential".encode())
        if not handle or library.spReflectionType_GetKind(handle) != _IS_STRUCT:
            return [""]
        return [_text(library.spReflectionVariable_GetName(field)) for field in self._fields(handle)]

    def _fields(self, type_: int) -> list[int]:
        count = self._library.spReflectionType_GetFieldCount(type_)
        return [self._library.spReflectionType_GetFieldByIndex(type_, index) for index in range(count)]

    def _full_name(self, type_: int) -> str:
        blob = c_void_p()
        if not type_ or self._library.spReflectionType_GetFullName(type_, byref(blob)) < 0:
            return ""
        return self._take(blob)

    def _children(self, decl: int) -> Iterator[int]:
        for index in range(self._library.spReflectionDecl_getChildrenCount(decl)):
            yield self._library.spReflectionDecl_getChild(decl, index)

    def _kind(self, decl: int) -> int:
        return int(self._library.spReflectionDecl_getKind(decl))

    def _name(self, decl: int) -> str:
        return _text(self._library.spReflectionDecl_getName(decl))

    def _has(self, function: int, modifier: int) -> bool:
        return bool(self._library.spReflectionFunction_FindModifier(function, modifier))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
