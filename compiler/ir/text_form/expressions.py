"""Read expressions of the text form of the IR."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.default_types import KnownTypes, default_type
from slangad.compiler.ir.types import VOID, Tensor, Texture, Vector

if TYPE_CHECKING:
    from slangad.compiler.ir.text_form.tokens import Tokens
    from slangad.compiler.ir.text_form.types import TypeReader

UNARY: Final = ("-", "!", "~")
BINARY: Final = (
    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>",
)  # fmt: skip


class ExpressionReader:
    """Reads expressions over tokens shared with the other readers."""

    def __init__(self, tokens: Tokens, types: TypeReader, known: KnownTypes) -> None:
        self._tokens = tokens
        self.types = types
        self._known = known

    def read(self) -> ir.Expr:
        """Return the next expression."""
        expr = self._typed(self._primary())
        while self._tokens.peek(".", "["):
            expr = self._typed(self._part(expr))
        return expr

    def _typed(self, expr: ir.Expr) -> ir.Expr:
        """Return an expression with the type in the text, or else with the type that its parts suggest."""
        type_ = self.types.read() if self._tokens.accept("::") else default_type(expr, self._known)
        return replace(expr, type=type_)

    def _part(self, value: ir.Expr) -> ir.Expr:
        if isinstance(value.type, (Tensor, Texture)):
            return ir.Read(value, self._list("[", "]"), VOID)
        if self._tokens.accept("["):
            index = self.read()
            self._tokens.expect("]")
            return ir.Index(value, index, VOID)
        self._tokens.expect(".")
        name = self._tokens.word()
        return ir.Swizzle(value, name, VOID) if isinstance(value.type, Vector) else ir.Member(value, name, VOID)

    def _primary(self) -> ir.Expr:
        tokens = self._tokens
        if tokens.kind() == "number" or tokens.peek("true", "false"):
            return ir.Const(tokens.number(), VOID)
        if tokens.accept("("):
            return self._operation()
        if tokens.accept("@"):
            return ir.ConstantRef(tokens.word(), VOID)
        return self._named()

    def _operation(self) -> ir.Expr:
        tokens = self._tokens
        if tokens.peek(*UNARY):
            expr: ir.Expr = ir.Unary(tokens.take().text, self.read(), VOID)
        else:
            left = self.read()
            if tokens.accept("?"):
                then = self.read()
                tokens.expect(":")
                expr = ir.Ternary(left, then, self.read(), VOID)
            else:
                expr = ir.Binary(tokens.expect(*BINARY), left, self.read(), VOID)
        tokens.expect(")")
        return expr

    def _named(self) -> ir.Expr:
        tokens = self._tokens
        quoted = tokens.kind() == "string"
        word = tokens.word()
        if not quoted:
            match word:
                case "new" | "cast":
                    return self._construct(word)
                case "call" | "bwd_diff" | "fwd_diff":
                    return self._called(word)
                case "no_diff":
                    return ir.NoDiff(self._args()[0], VOID)
                case "pair":
                    primal, tangent = self._args()
                    return ir.MakePair(primal, tangent, VOID)
                case "thread_id" | "thread_count":
                    return self._thread(word)
                case "extent" | "sample" | "linear" | "group" | "probe":
                    return self._access(word)
                case _:
                    pass
        return ir.Intrinsic(word, self._args(), VOID) if tokens.peek("(") else ir.Var(word, VOID)

    def _construct(self, word: str) -> ir.Expr:
        type_ = self.types.read()
        args = self._args()
        return ir.Construct(args, type_) if word == "new" else ir.Cast(args[0], type_)

    def _called(self, word: str) -> ir.Expr:
        function = self._tokens.word()
        args = self._args()
        match word:
            case "call":
                return ir.Call(function, args, VOID)
            case "bwd_diff":
                return ir.BackwardCall(function, args, VOID)
            case _:
                return ir.ForwardCall(function, args, VOID)

    def _thread(self, word: str) -> ir.Expr:
        self._tokens.expect("(")
        axis = self._tokens.integer()
        self._tokens.expect(")")
        return ir.ThreadId(axis, VOID) if word == "thread_id" else ir.ThreadCount(axis, VOID)

    def _access(self, word: str) -> ir.Expr:
        tokens = self._tokens
        if word == "group":
            name, size = tokens.word(), tokens.integer()
            return ir.GroupOperation(name, self._args()[0], size, VOID)
        if word == "probe":
            return ir.Probe(tokens.string(), self._args()[0], VOID)
        tokens.expect("(")
        source = self.read()
        tokens.expect(",")
        if word == "linear":
            columns = tokens.integer()
            tokens.expect(",")
            value, *indices = self._list("", ")")
            bias, *bias_indices = self._args() if tokens.accept("plus") else (None,)
            return ir.Linear(source, tuple(indices), value, columns, bias, tuple(bias_indices), VOID)
        made = ir.Extent(source, tokens.integer(), VOID) if word == "extent" else ir.Sample(source, self.read(), VOID)
        tokens.expect(")")
        return made

    def _args(self) -> tuple[ir.Expr, ...]:
        return self._list("(", ")")

    def _list(self, opening: str, closing: str) -> tuple[ir.Expr, ...]:
        if opening:
            self._tokens.expect(opening)
        args = []
        while not self._tokens.accept(closing):
            args.append(self.read())
            self._tokens.accept(",")
        return tuple(args)
