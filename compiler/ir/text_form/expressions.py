"""Reads expressions of the text form of the IR."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.default_types import KnownTypes, default_type
from slangad.compiler.ir.nodes import (
    BackwardCall,
    Binary,
    Call,
    Cast,
    Const,
    ConstantRef,
    Construct,
    Expr,
    Extent,
    ForwardCall,
    Index,
    Intrinsic,
    MakePair,
    Member,
    NoDiff,
    Probe,
    Read,
    Sample,
    Swizzle,
    Ternary,
    ThreadCount,
    ThreadId,
    Unary,
    Var,
)
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

    def read(self) -> Expr:
        """The next expression."""
        expr = self._typed(self._primary())
        while self._tokens.peek(".", "["):
            expr = self._typed(self._part(expr))
        return expr

    def _typed(self, expr: Expr) -> Expr:
        """Gives an expression the type its text says, or the one its parts suggest."""
        type_ = self.types.read() if self._tokens.accept("::") else default_type(expr, self._known)
        return replace(expr, type=type_)

    def _part(self, value: Expr) -> Expr:
        if isinstance(value.type, (Tensor, Texture)):
            return Read(value, self._list("[", "]"), VOID)
        if self._tokens.accept("["):
            index = self.read()
            self._tokens.expect("]")
            return Index(value, index, VOID)
        self._tokens.expect(".")
        name = self._tokens.word()
        return Swizzle(value, name, VOID) if isinstance(value.type, Vector) else Member(value, name, VOID)

    def _primary(self) -> Expr:
        tokens = self._tokens
        if tokens.kind() == "number" or tokens.peek("true", "false"):
            return Const(tokens.number(), VOID)
        if tokens.accept("("):
            return self._operation()
        if tokens.accept("@"):
            return ConstantRef(tokens.word(), VOID)
        return self._named()

    def _operation(self) -> Expr:
        tokens = self._tokens
        if tokens.peek(*UNARY):
            expr: Expr = Unary(tokens.take().text, self.read(), VOID)
        else:
            left = self.read()
            if tokens.accept("?"):
                then = self.read()
                tokens.expect(":")
                expr = Ternary(left, then, self.read(), VOID)
            else:
                expr = Binary(tokens.expect(*BINARY), left, self.read(), VOID)
        tokens.expect(")")
        return expr

    def _named(self) -> Expr:
        tokens = self._tokens
        quoted = tokens.kind() == "string"
        word = tokens.word()
        if not quoted:
            match word:
                case "new" | "cast":
                    return self._made(word)
                case "call" | "bwd_diff" | "fwd_diff":
                    return self._called(word)
                case "no_diff":
                    return NoDiff(self._args()[0], VOID)
                case "pair":
                    primal, tangent = self._args()
                    return MakePair(primal, tangent, VOID)
                case "thread_id" | "thread_count":
                    return self._thread(word)
                case "extent" | "sample" | "probe":
                    return self._access(word)
                case _:
                    pass
        return Intrinsic(word, self._args(), VOID) if tokens.peek("(") else Var(word, VOID)

    def _made(self, word: str) -> Expr:
        type_ = self.types.read()
        args = self._args()
        return Construct(args, type_) if word == "new" else Cast(args[0], type_)

    def _called(self, word: str) -> Expr:
        function = self._tokens.word()
        args = self._args()
        match word:
            case "call":
                return Call(function, args, VOID)
            case "bwd_diff":
                return BackwardCall(function, args, VOID)
            case _:
                return ForwardCall(function, args, VOID)

    def _thread(self, word: str) -> Expr:
        self._tokens.expect("(")
        axis = self._tokens.integer()
        self._tokens.expect(")")
        return ThreadId(axis, VOID) if word == "thread_id" else ThreadCount(axis, VOID)

    def _access(self, word: str) -> Expr:
        tokens = self._tokens
        if word == "probe":
            return Probe(tokens.string(), self._args()[0], VOID)
        tokens.expect("(")
        source = self.read()
        tokens.expect(",")
        made = Extent(source, tokens.integer(), VOID) if word == "extent" else Sample(source, self.read(), VOID)
        tokens.expect(")")
        return made

    def _args(self) -> tuple[Expr, ...]:
        return self._list("(", ")")

    def _list(self, opening: str, closing: str) -> tuple[Expr, ...]:
        self._tokens.expect(opening)
        args = []
        while not self._tokens.accept(closing):
            args.append(self.read())
            self._tokens.accept(",")
        return tuple(args)
