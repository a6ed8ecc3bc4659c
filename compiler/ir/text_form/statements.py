"""Read statements of the text form of the IR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir

if TYPE_CHECKING:
    from slangad.compiler.ir.text_form.expressions import ExpressionReader
    from slangad.compiler.ir.text_form.tokens import Tokens


_WORDS: Final = ("let", "set", "if", "for", "while", "break", "continue", "barrier", "return", "comment")


class StatementReader:
    """Reads statements over tokens shared with the other readers."""

    def __init__(self, tokens: Tokens, expressions: ExpressionReader) -> None:
        self._tokens = tokens
        self._expressions = expressions

    def block(self) -> tuple[ir.Stmt, ...]:
        """Return the statements in the next pair of braces."""
        self._tokens.expect("{")
        body = []
        while not self._tokens.accept("}"):
            body.append(self._statement())
        return tuple(body)

    def _statement(self) -> ir.Stmt:
        word = self._tokens.expect(*_WORDS)
        match word:
            case "let":
                return self._let()
            case "set":
                target = self._expressions.read()
                adds = self._tokens.accept("+")
                self._tokens.expect("=")
                return ir.Assign(target, self._expressions.read(), adds=bool(adds))
            case "if":
                return self._if()
            case "for":
                return self._for()
            case "while":
                return self._while()
            case _:
                return self._plain(word)

    def _plain(self, word: str) -> ir.Stmt:
        match word:
            case "break":
                return ir.Break()
            case "continue":
                return ir.Continue()
            case "barrier":
                return ir.Barrier()
            case "comment":
                return ir.Comment(self._tokens.string())
            case _:
                return ir.Return(None if self._tokens.accept("nothing") else self._expressions.read())

    def _let(self) -> ir.Stmt:
        name = self._tokens.word()
        self._tokens.expect(":")
        type_ = self._expressions.types.read()
        value = self._expressions.read() if self._tokens.accept("=") else None
        return ir.Let(name, type_, value)

    def _if(self) -> ir.Stmt:
        condition = self._expressions.read()
        then = self.block()
        return ir.If(condition, then, self.block() if self._tokens.accept("else") else ())

    def _for(self) -> ir.Stmt:
        tokens = self._tokens
        variable = tokens.word()
        tokens.expect("=")
        start = self._expressions.read()
        tokens.expect("to")
        stop = self._expressions.read()
        tokens.expect("step")
        step = tokens.integer()
        tokens.expect("limit")
        limit = tokens.integer()
        bounded, unroll, together = (tokens.accept(word) for word in ("bounded", "unroll", "together"))
        keep = self._keep()
        inverse = self._expressions.read() if tokens.accept("inverse") else None
        return ir.For(
            variable, start, stop, step, limit, bounded, unroll, self.block(),
            keep=keep, inverse=inverse, together=together,
        )  # fmt: skip

    def _while(self) -> ir.Stmt:
        condition = self._expressions.read()
        self._tokens.expect("limit")
        limit = self._tokens.integer()
        keep = self._keep()
        return ir.While(condition, limit, self.block(), keep=keep)

    def _keep(self) -> int | None:
        return self._tokens.integer() if self._tokens.accept("keep") else None
