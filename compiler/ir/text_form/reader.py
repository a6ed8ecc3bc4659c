"""Read declarations of the text form of the IR back into a ``Module``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.default_types import KnownTypes
from slangad.compiler.ir.distributions import Normal, Uniform
from slangad.compiler.ir.text_form.expressions import ExpressionReader
from slangad.compiler.ir.text_form.pipelines import read_pipeline
from slangad.compiler.ir.text_form.statements import StatementReader
from slangad.compiler.ir.text_form.tokens import ReadError, Tokens
from slangad.compiler.ir.text_form.types import TypeReader
from slangad.compiler.ir.types import Field, Struct, Tensor, Texture, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Item = TypeVar("_Item")

_WORDS: Final = """
    module source bound import doc struct constant function kernel no_diff not_differentiable derivative role prefer
    precision
    static owner range slang external locals let set if else for while limit to step bounded unroll keep break continue
    return nothing comment call new cast pair bwd_diff fwd_diff thread_id thread_count true false inf nan none param
    out inout result dims group from Array tuple DiffPair void weak Tensor OutTensor InOutTensor Texture2D extent sample
    probe shape initial added"""
RESERVED: Final = frozenset(_WORDS.split())
"""Names that need quotes."""


def parse(text: str) -> ir.Module:
    """Return the module of a text.

    Raises:
        ReadError: The text is not that of a module.
    """
    return _Reader(text).module()


class _Reader:
    """Reads declarations; expressions and types have readers of their own over the same tokens."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.known = KnownTypes()
        self.types = TypeReader(self.tokens)
        self.statements = StatementReader(self.tokens, ExpressionReader(self.tokens, self.types, self.known))

    def module(self) -> ir.Module:
        tokens = self.tokens
        tokens.expect("module")
        name = tokens.word()
        tokens.expect("from")
        source = tokens.string()
        sources = tuple(self._many("source", tokens.string))
        bound = tuple(self._many("bound", lambda: (tokens.string(), tokens.string())))
        imports = tuple(self._many("import", tokens.string))
        includes = tuple(self._many("include", tokens.string))
        taken = tuple(self._many("taken", tokens.string))
        targets = tuple(self._many("for_target", tokens.string))
        sampling = tuple(self._many("sampling", self._sampling))
        file_name = tokens.string() if tokens.accept("file") else ""
        left_out = tuple(self._many("left_out", self._left_out))
        doc = tuple(self._many("doc", tokens.string))
        structs = tuple(self._many("struct", self._struct))
        constants = tuple(self._many("constant", self._constant))
        buffers = tuple(self._many("buffer", self._buffer))
        shared = tuple(self._many("shared", self._shared))
        functions = tuple(self._many("function", self._function))
        kernels = tuple(self._many("kernel", self._kernel))
        read = partial(read_pipeline, tokens, self._kernel_param, ir.Memory, self.types.read)
        pipelines = tuple(self._many("pipeline", read))
        if tokens.kind() != "end":
            raise ReadError(f"unexpected {tokens.take().text!r}")
        declared = structs, constants, functions, kernels
        module = ir.Module(
            name, source, *declared, imports, sources, bound, doc, includes, taken, file_name, left_out, targets
        )
        return replace(module, buffers=buffers, shared=shared, pipelines=pipelines, sampling=sampling)

    def _many(self, word: str, read: Callable[[], _Item]) -> Iterator[_Item]:
        while self.tokens.accept(word):
            yield read()

    def _docs(self) -> tuple[str, ...]:
        return tuple(self._many("doc", self.tokens.string))

    def _sampling(self) -> ir.Sampling:
        tokens = self.tokens
        of = tokens.string()
        samples = tokens.integer() if tokens.accept("samples") else None
        return ir.Sampling(of, samples, tokens.integer() if tokens.accept("seed") else None)

    def _left_out(self) -> ir.LeftOut:
        function, reason = self.tokens.string(), self.tokens.string()
        return ir.LeftOut(function, reason, self._modes(), tuple(self._many("target", self.tokens.string)))

    def _modes(self) -> tuple[str, ...]:
        return tuple(self._many("mode", self.tokens.string))

    def _struct(self) -> ir.StructDef:
        tokens = self.tokens
        key, name = tokens.word(), tokens.word()
        tokens.expect("{")
        external = tokens.string() if tokens.accept("external") else ""
        doc = self._docs()
        initial = tuple(self._many("initial", self._initial))
        fields = []
        while not tokens.accept("}"):
            no_diff = tokens.accept("no_diff")
            field_name = tokens.word()
            fields.append(Field(field_name, self._typed(), no_diff))
        struct = Struct(key, name, tuple(fields))
        self.types.structs[key] = struct
        return ir.StructDef(struct, doc, external=external, initial=initial)

    def _typed(self) -> Type:
        self.tokens.expect(":")
        return self.types.read()

    def _constant(self) -> ir.ConstantDef:
        key, name = self.tokens.word(), self.tokens.word()
        type_ = self.known.constants[key] = self._typed()
        self.tokens.expect("=")
        values = []
        while self.tokens.kind() == "number" or self.tokens.peek("true", "false"):
            values.append(self.tokens.number())
        return ir.ConstantDef(key, name, type_, tuple(values))

    def _buffer(self) -> ir.Buffer:
        tokens = self.tokens
        key, kernel, param = tokens.word(), tokens.word(), tokens.word()
        path: list[str] = []
        while tokens.accept("at"):
            path.append(tokens.word())
        extents = self._numbers("[", "]")
        tokens.expect(":")
        no_diff = tokens.accept("no_diff")
        type_ = self.types.read()
        if not isinstance(type_, (Tensor, Texture)):
            raise ReadError("a buffer is a tensor or texture")
        self.known.buffers[key] = type_
        added, again = tokens.accept("added"), tokens.accept("again")
        accumulation = ir.Accumulation(tokens.word())
        buffer = ir.Buffer(key, kernel, param, type_, no_diff, accumulation, reach=self._numbers("(", ")"))
        block = self._numbers("(", ")") if tokens.accept("of") else ()
        axes = tuple(self._block_axes())
        return replace(
            buffer, path=tuple(path), extents=extents, added=added, read_again=again, block=block, block_axes=axes
        )  # fmt: skip

    def _block_axes(self) -> Iterator[ir.BlockAxis]:
        while self.tokens.accept("axis"):
            low, extent, steps = self.tokens.integer(), self.tokens.integer(), list[ir.BlockStep]()
            while numbers := self._numbers("[", "]"):
                steps.append(ir.BlockStep(numbers[0], numbers[1], numbers[2:]))
            yield ir.BlockAxis(low, extent, tuple(steps))

    def _shared(self) -> ir.SharedMemory:
        key, kernel, name = self.tokens.word(), self.tokens.word(), self.tokens.word()
        type_ = self._typed()
        if not isinstance(type_, Tensor):
            raise ReadError("the memory of a group is Shared")
        self.known.buffers[key] = type_
        return ir.SharedMemory(key, kernel, name, type_)

    def _numbers(self, before: str, after: str) -> tuple[int, ...]:
        values: list[int] = []
        while self.tokens.accept("," if values else before):
            values.append(self.tokens.integer())
        if values:
            self.tokens.expect(after)
        return tuple(values)

    def _function(self) -> ir.Function:
        tokens = self.tokens
        key, name = tokens.word(), tokens.word()
        params = self._params()
        tokens.expect("->")
        result = self.types.read()
        differentiable = not tokens.accept("not_differentiable")
        derivative: ir.Derivative = self._derivative() if tokens.accept("derivative") else ir.Automatic()
        role, of = (ir.Role(tokens.word()), tokens.string()) if tokens.accept("role") else (ir.Role.PLAIN, "")
        prefer = tokens.string() if tokens.accept("prefer") else ""
        precision = tokens.string() if tokens.accept("precision") else ""
        on_host = tokens.string() if tokens.accept("on_host") else ""
        static = tokens.accept("static")
        owner = tokens.string() if tokens.accept("owner") else ""
        doc = self._docs()
        ranges = tuple(self._many("range", self._range))
        body = self._body(params)
        self.known.results[key] = result
        return ir.Function(
            key, name, params, result, body, differentiable, derivative, prefer, precision, role, of, owner, static,
            doc, ranges, on_host=on_host,
        )  # fmt: skip

    def _params(self) -> tuple[ir.Param, ...]:
        self.tokens.expect("(")
        result = []
        while not self.tokens.accept(")"):
            no_diff = self.tokens.accept("no_diff")
            direction = next((word for word in ("out", "inout") if self.tokens.accept(word)), "in")
            name = self.tokens.word()
            result.append(ir.Param(name, self._typed(), no_diff, direction=direction))
            self.tokens.accept(",")
        return tuple(result)

    def _range(self) -> ir.Range:
        return ir.Range(self.tokens.string(), float(self.tokens.number()), float(self.tokens.number()))

    def _initial(self) -> ir.Initial:
        path = self.tokens.string()
        if self.tokens.accept("normal"):
            return ir.Initial(path, Normal(float(self.tokens.number())))
        return ir.Initial(path, Uniform(float(self.tokens.number()), float(self.tokens.number())))

    def _body(self, params: tuple[ir.Param, ...]) -> tuple[ir.Stmt, ...] | ir.SlangBody | ir.External:
        if self.tokens.accept("slang"):
            return ir.SlangBody(self.tokens.string())
        ambiguous = self.tokens.accept("ambiguous")
        if self.tokens.accept("external"):
            symbol, file = self.tokens.string(), self.tokens.string()
            return ir.External(symbol, file, ambiguous, self.tokens.string() if self.tokens.accept("call") else "")
        types = {p.name: p.type for p in params}
        if self.tokens.accept("locals"):
            while not self.tokens.peek("{"):
                name = self.tokens.word()
                types[name] = self._typed()
                self.tokens.accept(",")
        self.known.locals = types
        return self.statements.block()

    def _derivative(self) -> ir.Derivative:
        tokens = self.tokens
        kind = tokens.word()
        tokens.expect("(")
        made = _DERIVATIVES[kind](self)
        tokens.expect(")")
        return made

    def _optional_string(self) -> str | None:
        return None if self.tokens.accept("none") else self.tokens.string()

    def _optional_number(self) -> float | None:
        return None if self.tokens.accept("none") else self.tokens.number()

    def _custom(self) -> ir.Derivative:
        backward = self._optional_string()
        self.tokens.expect(",")
        return ir.Custom(backward, self._optional_string())

    def _finite_difference(self) -> ir.Derivative:
        step = self.tokens.number()
        self.tokens.expect(",")
        return ir.FiniteDifference(step, bool(self.tokens.number()))

    def _clip(self) -> ir.Derivative:
        limit = self._optional_number()
        self.tokens.expect(",")
        norm = self._optional_number()
        self.tokens.expect(",")
        of = self._derivative()
        if isinstance(of, (ir.Custom, ir.ClipGradient)):
            raise ReadError("clip_gradient does not compose with this derivative")
        return ir.ClipGradient(limit, norm, of)

    def _subgradient(self) -> ir.Derivative:
        at = self.tokens.number()
        self.tokens.expect(",")
        return ir.Subgradient(at, self.tokens.number())

    def _kernel(self) -> ir.Kernel:
        tokens = self.tokens
        name, function = tokens.word(), tokens.word()
        tokens.expect("dims")
        dims = tokens.integer()
        tokens.expect("group")
        group = self._sizes()
        tile = self._sizes() if tokens.accept("tile") else None
        in_step = bool(tokens.accept("in_step"))
        modes = self._modes()
        tokens.expect("{")
        doc = self._docs()
        shapes = tuple(self._many("shape", self._shape))
        params = tuple(self._many("param", self._kernel_param))
        results = tuple(self._many("result", self._kernel_result))
        tokens.expect("}")
        made = ir.Kernel(name, function, params, results, dims, group, doc, modes=modes, shapes=shapes, tile=tile)
        return replace(made, in_step=in_step)

    def _shape(self) -> tuple[str, tuple[int, ...]]:
        return self.tokens.word(), self._sizes()

    def _sizes(self) -> tuple[int, ...]:
        self.tokens.expect("(")
        sizes = []
        while not self.tokens.accept(")"):
            sizes.append(self.tokens.integer())
            self.tokens.accept(",")
        return tuple(sizes)

    def _kernel_param(self) -> ir.KernelParam:
        no_diff = self.tokens.accept("no_diff")
        name = self.tokens.word()
        self.tokens.expect(":")
        memory = ir.Memory(self.tokens.word())
        return ir.KernelParam(name, memory, self.types.read(), no_diff)

    def _kernel_result(self) -> ir.KernelResult:
        name = self.tokens.word()
        self.tokens.expect(":")
        memory = ir.Memory(self.tokens.word())
        type_ = self.types.read()
        return ir.KernelResult(name, memory, type_, self.tokens.string() if self.tokens.accept("of") else "")


_DERIVATIVES: Final[dict[str, Callable[[_Reader], ir.Derivative]]] = {
    "automatic": lambda _: ir.Automatic(),
    "custom": _Reader._custom,
    "finite_difference": _Reader._finite_difference,
    "surrogate": lambda reader: ir.Surrogate(reader.tokens.string()),
    "straight_through": lambda _: ir.StraightThrough(),
    "clip_gradient": _Reader._clip,
    "subgradient": _Reader._subgradient,
}
