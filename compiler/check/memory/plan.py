"""Plan the wrappers of a Slang file: which functions get one, with what memory, globals and parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.memory.byte_addresses import typed
from slangad.compiler.check.memory.components import chooses_atomic
from slangad.compiler.check.memory.gradients import bodies_of, gradients_of, per_element
from slangad.compiler.check.memory.objects import (
    HeldObject,
    ObjectReader,
    Unbuildable,
    enums_of,
    holds_memory,
    pointed_struct,
    reflected_memory,
    spelled,
)
from slangad.compiler.check.memory.wrappers import MemoryInput, Wrapped, WrappedParam
from slangad.compiler.check.twins.one_lane import joins_lanes
from slangad.compiler.frontends.reading.directives import SHAPE, SINGLE, read_directives
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.frontends.slang.functions import modes_of
from slangad.compiler.frontends.slang.generics import without_arguments
from slangad.compiler.ir.calls import closure
from slangad.compiler.slang_text.brackets import closing, is_stored
from slangad.compiler.slang_text.calls import codes_of
from slangad.compiler.slang_text.directives import directive_lines
from slangad.compiler.slang_text.global_parameters import BUFFERS, SAMPLERS, TEXTURES, GlobalParameter, memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.check.model.subject import SourceFacts
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.slang.functions import Candidate
    from slangad.compiler.frontends.slang.reflected import DeclaredStruct, Json, ReflectedModule
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.calls import FunctionCode

    Facts = Mapping[tuple[str, int, int], SourceFacts]

_FLOATS: Final = frozenset({"float", "half", "double"})
_BEFORE_RESULTS: Final = frozenset(
    {"public", "internal", "private", "static", "inline", "export", "extern", "no_diff", "const", "override"}
)
_PRIMAL: Final = ".primal"
_EXTENTS: Final = (".size", ".dims")
_STORE: Final = ".store"
"""Begins the names of methods that store: ``store``, ``storeOnce``, ``storeVecOnce`` of an extension."""
_ONCE: Final = "Once"
"""In names of methods that no two threads call for one element."""
_HELD_GRADIENT: Final = ".diff"
"""The member of a ``DiffTensorView`` through which a custom derivative adds to its gradient."""
IN_PAIR: Final = ".diff.diff"
"""Ends the name of the gradient that a ``DiffTensorView`` holds."""
_NO_FORWARD: Final = "the gradient of '{}' accumulates in '{}', which forward mode does not use"


@dataclass(frozen=True, slots=True)
class WrapperPlan:
    """A wrapper to make: of a function, with its number, namespaces, comments, and the functions that it reaches."""

    wrapped: Wrapped
    candidate: Candidate
    scopes: tuple[str, ...]
    comments: tuple[str, ...]
    gradients: Mapping[str, str]
    missing: tuple[tuple[str, str], ...]
    reached: frozenset[str] = frozenset()


def of_one_size(plans: Sequence[WrapperPlan]) -> Iterator[WrapperPlan]:
    """Yield the plans with one size for each memory that is global."""
    sizes: dict[int, int] = {}
    for i in (i for plan in plans for i in plan.wrapped.inputs if not i.local):
        sizes[i.number] = max(sizes.get(i.number, 0), i.entries)
    for plan in plans:
        inputs = tuple(i if i.local else replace(i, entries=sizes[i.number]) for i in plan.wrapped.inputs)
        yield replace(plan, wrapped=replace(plan.wrapped, inputs=inputs))


@dataclass(frozen=True, slots=True)
class WrapperPlanner:
    """Decides which functions of a file get a wrapper.

    Attributes:
        sources: The text of the file, and of those that it imports or includes.
        whole: The text with all of them.
        facts: The facts about functions, without and with the globals that the check sets.
        shapes: The shapes of buffers and tensors that comments give, by name.
        words: The types of the words of byte-address buffers, by name.
    """

    sources: Mapping[str, SlangSource]
    whole: SlangSource
    declared: ReflectedModule
    parameters: tuple[GlobalParameter, ...]
    module: Module
    facts: tuple[Facts, Facts]
    shapes: Mapping[str, tuple[int, ...]]
    words: Mapping[str, str]

    def plan(self, candidate: Candidate, number: int) -> WrapperPlan | None:
        """Return the wrapper of a function; None if it uses no memory, or cannot have one."""
        declared, header = candidate.declared, candidate.place.header
        function = self._function_at(candidate.place.span)
        is_method = bool(declared.owner) and not declared.static
        if header is None or function is None or (is_method and declared.overloaded):
            return None
        is_instance = "<" in candidate.symbol
        if declared.generic or (header.generic and not is_instance) or "func" in header.words:
            return None
        if (is_method and candidate.symbol.endswith(">")) or not self._is_settable(candidate):
            return None
        if not len(declared.params) == len(header.params) == len(header.types):
            return None
        codes = codes_of(candidate.place.span, self.module.sources)
        waves = self._waves(declared.name, codes)
        try:
            objects = self._objects(candidate)
        except Unbuildable:
            return None
        local = (*self._local(candidate, function), *(one for held in objects.values() for one in held.memory))
        if not all(one.type for one in local) or not (waves or self._is_given(candidate, function)):
            return None
        known = {**{one.name: one for one in self.parameters}, **{one.name: one for one in local}}
        words = frozenset[str]().union(*bodies_of(codes).values())
        pairs = gradients_of(codes, known)
        params = tuple(self._params(candidate, function, local, objects))
        modes, missing = modes_of(header, candidate.attributes)
        if candidate.lost and not missing:
            modes = ("forward", "backward")
        stored, values = _stored(codes), _values_alone(codes)
        if any(not values.get(one.name, True) for one in local if one.is_pair):
            return None  # a part of the gradient ends on purpose
        inputs = tuple(self._inputs((words, stored, frozenset(values)), pairs, params, local))
        scopes = self._scopes(header.path)
        name = candidate.symbol.removeprefix("".join(f"{scope}." for scope in scopes))
        wrapped = Wrapped(
            name=f"{number}_{declared.name}",
            call=declared.name if is_method else name,
            derived=name,
            params=params,
            inputs=inputs,
            result=spelled(declared.result) if is_instance else _result(self.sources[function.span.file], function),
            flows=_is_differentiable(declared.result, self.declared.structs),
            backward=not modes or "backward" in modes,
            forward=not modes or "jvp" in modes,
            method=is_method,
            threads=self._threads(codes),
            in_turn=any(chooses_atomic(code) for code in codes),
            waves=waves,
            objects=tuple(objects.values()),
        )
        reasons = [(mode, missing[0]) for mode in missing[1]] if missing else []
        gradients = {i.parameter.name: pairs[i.parameter.name].name for i in inputs if i.gradient >= 0}
        if gradients:
            reasons = [("jvp", _NO_FORWARD.format(*next(iter(gradients.items()))))]
        gradients |= {i.parameter.name: f"{i.parameter.name}{IN_PAIR}" for i in inputs if i.is_added_to and i.active}
        comments = tuple(comment.text for comment in header.comments if "range" in comment.text)
        reached = frozenset(code.name for code in codes)
        return WrapperPlan(wrapped, candidate, scopes, comments, gradients, tuple(reasons), reached)

    def _function_at(self, span: Span) -> SlangFunction | None:
        """Return the function at a location."""
        return self.sources[span.file].at(span) if span.file in self.sources else None

    def is_unset(self, span: Span) -> bool:
        """Return True if the function at a location reads globals."""
        return any(fact.unset for (_, *at), fact in self.facts[0].items() if at == [span.line, span.column])

    def _is_settable(self, candidate: Candidate) -> bool:
        """Return True if the check can set all globals that a function reads."""
        before, after = self._facts(candidate)
        return before is not None and after is not None and not after.unset

    def _facts(self, candidate: Candidate) -> tuple[SourceFacts | None, SourceFacts | None]:
        """Return the facts about a function, without and with the globals that the check sets."""
        at = candidate.declared.name, candidate.place.span.line, candidate.place.span.column
        return self.facts[0].get(at), self.facts[1].get(at)

    def _is_given(self, candidate: Candidate, function: SlangFunction) -> bool:
        """Return True if a function reads globals, or takes memory or an object that holds some."""
        before, _ = self._facts(candidate)
        local = any(True for _ in self._local(candidate, function))
        return local or bool(self._held(candidate)) or (before is not None and bool(before.unset))

    def _local(self, candidate: Candidate, function: SlangFunction) -> Iterator[GlobalParameter]:
        """Yield the memory that a function takes as parameters."""
        header, structs = function.header, self.declared.structs
        for param, name, type_ in zip(candidate.declared.params, header.params, header.types, strict=False):
            one = reflected_memory(param.type) if "<" in candidate.symbol else memory_of(type_)
            one = one or reflected_memory(param.type)
            if one and not pointed_struct(param.type, structs):
                yield typed(GlobalParameter(name, (), one.element, 0, 0, one.kind, further=one.further), self.words)

    def _held(self, candidate: Candidate) -> dict[str, tuple[str, bool]]:
        """Return the structs with memory that a function takes, by parameter; True for those behind pointers.

        The object of a method has no name.
        """
        declared, structs = candidate.declared, self.declared.structs
        result: dict[str, tuple[str, bool]] = {}
        if declared.owner and not declared.static and holds_memory(declared.owner, structs):
            result[""] = declared.owner, False
        for param in declared.params:
            pointed = pointed_struct(param.type, structs)
            if pointed or (param.type.get("kind") == "struct" and holds_memory(param.type["name"], structs)):
                result[param.name] = pointed or param.type["name"], bool(pointed)
        return result

    def _objects(self, candidate: Candidate) -> dict[str, HeldObject]:
        """Return the objects with memory that a function takes, by parameter.

        Raises:
            Unbuildable: One can't be built, or its struct has a derivative.
        """
        reader = ObjectReader(self.declared.structs, enums_of(self.whole.text))
        held = self._held(candidate)
        passive = {param.name for param in candidate.declared.params if param.no_diff}
        for name, (struct, _) in held.items():
            if name not in passive and self.declared.structs[struct].differential is not None:
                raise Unbuildable(f"{struct} has a derivative")
        read = {name: reader.read(name, struct, pointed=pointed) for name, (struct, pointed) in held.items()}
        return {
            name: replace(one, memory=tuple(typed(m, self.words) for m in one.memory)) for name, one in read.items()
        }

    def _params(
        self,
        candidate: Candidate,
        function: SlangFunction,
        local: Sequence[GlobalParameter],
        objects: Mapping[str, HeldObject],
    ) -> Iterator[WrappedParam]:
        declared, header, structs = candidate.declared, function.header, self.declared.structs
        if "" in objects:
            yield WrappedParam("", "", "", active=False, no_diff=True, built=objects[""].argument)
        elif declared.owner and not declared.static:
            active = structs[declared.owner].differential is not None and "NoDiffThis" not in header.attributes
            direction = "inout" if declared.mutating else ""
            type_ = declared.owner if "<" in declared.owner else header.path[-1].split()[-1]
            yield WrappedParam("check_this", type_, direction, active, no_diff=False)
        numbers = {one.name: len(self.parameters) + k for k, one in enumerate(local) if not one.place}
        for param, name, type_ in zip(declared.params, header.params, header.types, strict=True):
            if name in objects:
                yield WrappedParam(name, "", "", active=False, no_diff=True, built=objects[name].argument)
                continue
            if name in numbers:
                yield WrappedParam(name, type_, "", active=False, no_diff=False, memory=numbers[name])
                continue
            active = not param.no_diff and _is_differentiable(param.type, structs)
            written = spelled(param.type) if "<" in candidate.symbol else type_
            plain = written.removeprefix("inout ").removeprefix("out ")
            direction = "" if param.direction == "in" else param.direction
            yield WrappedParam(name, plain, direction, active, param.no_diff)

    def _inputs(
        self,
        used: tuple[frozenset[str], frozenset[str], frozenset[str]],
        pairs: Mapping[str, GlobalParameter],
        params: Sequence[WrappedParam],
        local: Sequence[GlobalParameter],
    ) -> Iterator[MemoryInput]:
        """Yield the memory and the globals that a function uses. Memory of gradients starts empty, like atomic memory.

        Args:
            used: The words that the function reaches, the memory that it stores to, and that without gradient.
            pairs: The memory of gradients by the name of memory.
            params: The parameters of the function.
            local: The memory that it takes as parameters.
        """
        every = (*self.parameters, *local)
        words, stored, passive = used
        numbers = {one.name: number for number, one in enumerate(every)}
        gradients = {
            gradient.name: self._entries(every[numbers[name]]) * per_element(every[numbers[name]], gradient)
            for name, gradient in pairs.items()
        }
        taken = {param.name for param in params if param.memory < 0}
        for number, one in enumerate(every):
            gradient = pairs.get(one.name)
            is_local = number >= len(self.parameters)
            is_empty = one.is_atomic or one.name in gradients or one.kind in SAMPLERS
            if (is_local and not one.place) or one.words & words or one.name in gradients:
                yield MemoryInput(
                    one,
                    number,
                    "" if is_empty else free_name(one.name, taken),
                    numbers[gradient.name] if gradient else -1,
                    per_element(one, gradient) if gradient else 1,
                    gradients.get(one.name, self._entries(one)),
                    is_local,
                    stored=one.is_pair and not one.words.isdisjoint(stored),
                    passive=one.name in passive,
                    extents=self.shapes.get(one.name, ()),
                    is_added_to=one.is_pair and _HELD_GRADIENT in words,
                )

    def _entries(self, one: GlobalParameter) -> int:
        """Return the number of elements of memory."""
        if one.kind in (*TEXTURES, *SAMPLERS):
            return 1
        if one.name in self.shapes:
            return math.prod(self.shapes[one.name])
        return tol.MEMORY_ENTRIES if one.kind in BUFFERS else tol.TENSOR_ENTRIES

    def _scopes(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the namespaces of a path."""
        structs = {without_arguments(name) for name in self.declared.structs}
        while path and ".".join(path) in structs:
            path = path[:-1]
        return path

    def _threads(self, codes: Sequence[FunctionCode]) -> bool:
        """Return True unless a comment says that a single thread runs a derivative."""
        names = {code.name for code in codes}
        headers = (header for header in self.whole.scan.headers if header.name in names)
        lines = (line for header in headers for line in directive_lines(header.comments, self.whole.file))
        return not any(line.name == SINGLE for line in lines)

    def _waves(self, name: str, codes: Sequence[FunctionCode]) -> bool:
        """Return True if the derivative of a function joins lanes, and its value does not."""
        bodies = bodies_of(codes)
        words = frozenset[str]().union(*bodies.values())
        value = closure(bodies.get(name, ()), lambda word: bodies.get(word, ()))
        return joins_lanes(words) and not joins_lanes(value) and not any(_ONCE in word for word in words)


def declared_shapes(whole: SlangSource, file: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes that lines ``check: as shape buffer=20`` of a text give, the largest for each name."""
    lines = [line for header in whole.scan.headers for line in directive_lines(header.comments, file)]
    declared = read_directives([line for line in lines if line.name == SHAPE], Problems())
    return dict(sorted(declared.shapes, key=lambda one: math.prod(one[1])))


def _values_alone(codes: Sequence[FunctionCode]) -> Mapping[str, bool]:
    """Return the tensors of which functions read ``t.primal``: True if they use nothing else that has a gradient."""
    result: dict[str, bool] = {}
    for code in codes:
        tokens = code.tokens[code.opening :]
        uses = [
            (token.text, "".join(one.text for one in tokens[k + 1 : k + 3]))
            for k, token in enumerate(tokens)
            if token.kind == "word" and tokens[k - 1].text != "."
        ]
        for name in {name for name, behind in uses if behind == _PRIMAL}:
            alone = all(behind in (_PRIMAL, *_EXTENTS) for other, behind in uses if other == name)
            result[name] = result.get(name, True) and alone
    return result


def _stored(codes: Sequence[FunctionCode]) -> frozenset[str]:
    """Return the names to which functions store: ``t[i] = x``, ``t.store(i, x)``, ``t.storeOnce(i, x)``."""
    result: set[str] = set()
    for code in codes:
        tokens = code.tokens[code.opening :]
        for k, token in enumerate(tokens):
            behind = "".join(one.text for one in tokens[k + 1 : k + 3])
            if token.kind == "word" and (behind.startswith(_STORE) or (behind[:1] == "[" and is_stored(tokens, k))):
                result.add(token.text)
    return frozenset(result)


def _is_differentiable(record: Json, structs: Mapping[str, DeclaredStruct]) -> bool:
    """Return True if values of a reflected type have a derivative."""
    if record.get("kind") == "array":
        return _is_differentiable(record["element"], structs)
    if record.get("kind") == "struct":
        struct = structs.get(record["name"])
        return struct is not None and struct.differential is not None
    return record.get("scalar") in _FLOATS


def _result(source: SlangSource, function: SlangFunction) -> str:
    """Return the type of a function's result as written."""
    words: list[str] = []
    k = function.first
    while k < function.name_token:
        token = source.tokens[k]
        if token.text == "[" and not words:
            k = closing(source.tokens, k)
        elif token.text not in _BEFORE_RESULTS:
            words.append(token.text)
        k += 1
    return " ".join(words)


def free_name(wanted: str, taken: set[str]) -> str:
    """Return a name that is not taken: with as many underscores as that needs."""
    while wanted in taken:
        wanted += "_"
    return wanted
