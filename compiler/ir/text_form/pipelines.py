"""Print and read pipelines in the text form of the IR.

``stage halve(image) -> small domain (128, (image[1] / 2))``: a kernel, its arguments, the names of its results, and the
extents of its domain if the user names them. The constants of an argument are in brackets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.ir.pipelines import (
    Argument,
    Computed,
    Extended,
    Fixed,
    Optimizer,
    Pipeline,
    Returned,
    Stage,
    ValueArgument,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.ir.kernels import KernelParam, Memory
    from slangad.compiler.ir.pipelines import Size
    from slangad.compiler.ir.text_form.tokens import Tokens
    from slangad.compiler.ir.types import Type

INDENT = "    "


def show_pipeline(
    pipeline: Pipeline, word: Callable[[str], str], quote: Callable[[str], str], show_type: Callable[[Type], str]
) -> Iterator[str]:
    """Yield the lines of a pipeline. The callbacks spell names and types."""
    yield f"pipeline {word(pipeline.name)} {{"
    yield from (f"{INDENT}doc {quote(line)}" for line in pipeline.doc)
    for p in pipeline.params:
        no_diff = "no_diff " if p.no_diff else ""
        yield f"{INDENT}param {no_diff}{word(p.name)}: {p.memory.value} {show_type(p.type)}"
    for stage in pipeline.stages:
        yield f"{INDENT}{_stage(stage, word)}"
    for r in pipeline.results:
        yield f"{INDENT}result {word(r.name)}: {r.memory.value} {show_type(r.type)} of {word(r.value)}"
    if pipeline.optimizer is not None:
        yield f"{INDENT}optimizer {pipeline.optimizer.name} {' '.join(map(repr, pipeline.optimizer.values))}"
    yield from ([] if pipeline.fuse else [f"{INDENT}apart"])
    yield "}"


def _stage(stage: Stage, word: Callable[[str], str]) -> str:
    arguments = ", ".join(_argument(a, word) for a in stage.arguments)
    results = f" -> {', '.join(map(word, stage.results))}" if stage.results else ""
    sizes = ", ".join(_size(size, word) for size in stage.domain)
    return f"stage {word(stage.kernel)}({arguments}){results}{f' domain ({sizes})' if sizes else ''}"


def _argument(argument: Argument, word: Callable[[str], str]) -> str:
    match argument:
        case ValueArgument(value):
            return word(value)
        case Fixed(scalars):
            return f"[{', '.join(str(s).lower() if isinstance(s, bool) else repr(s) for s in scalars)}]"


def _size(size: Size, word: Callable[[str], str]) -> str:
    match size:
        case Extended(value, axis):
            return f"{word(value)}[{axis}]"
        case Computed(op, left, right):
            return f"({_size(left, word)} {op[0]} {_size(right, word)})"
        case _:
            return str(size)


def read_pipeline(
    tokens: Tokens, param: Callable[[], KernelParam], memory: Callable[[str], Memory], type_: Callable[[], Type]
) -> Pipeline:
    """Return the pipeline after the word. The callbacks read parameters and types."""
    name = tokens.word()
    tokens.expect("{")
    doc, params, stages, results = [], [], [], []
    while tokens.accept("doc"):
        doc.append(tokens.string())
    while tokens.accept("param"):
        params.append(param())
    while tokens.accept("stage"):
        stages.append(_read_stage(tokens))
    while tokens.accept("result"):
        result = tokens.word()
        tokens.expect(":")
        lives, what = memory(tokens.word()), type_()
        tokens.expect("of")
        results.append(Returned(result, tokens.word(), lives, what))
    optimizer = _read_optimizer(tokens) if tokens.accept("optimizer") else None
    fuse = not tokens.accept("apart")
    tokens.expect("}")
    return Pipeline(name, tuple(params), tuple(stages), tuple(results), optimizer, fuse, tuple(doc))


def _read_stage(tokens: Tokens) -> Stage:
    kernel = tokens.word()
    tokens.expect("(")
    arguments: list[Argument] = []
    while not tokens.accept(")"):
        arguments.append(Fixed(tuple(_scalars(tokens))) if tokens.accept("[") else ValueArgument(tokens.word()))
        tokens.accept(",")
    results = []
    if tokens.accept("->"):
        results.append(tokens.word())
        while tokens.accept(","):
            results.append(tokens.word())
    domain = []
    if tokens.accept("domain"):
        tokens.expect("(")
        while not tokens.accept(")"):
            domain.append(_read_size(tokens))
            tokens.accept(",")
    return Stage(kernel, tuple(arguments), tuple(results), tuple(domain))


def _scalars(tokens: Tokens) -> Iterator[int | float | bool]:
    while not tokens.accept("]"):
        yield tokens.number()
        tokens.accept(",")


def _read_size(tokens: Tokens) -> Size:
    if tokens.accept("("):
        left = _read_size(tokens)
        op = tokens.expect("+", "-", "*", "/")
        right = _read_size(tokens)
        tokens.expect(")")
        return Computed("//" if op == "/" else op, left, right)
    if tokens.kind() == "number":
        return tokens.integer()
    value = tokens.word()
    tokens.expect("[")
    axis = tokens.integer()
    tokens.expect("]")
    return Extended(value, axis)


def _read_optimizer(tokens: Tokens) -> Optimizer:
    name = tokens.word()
    values = []
    while tokens.kind() == "number":
        values.append(float(tokens.number()))
    return Optimizer(name, tuple(values))
