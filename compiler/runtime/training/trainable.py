"""Check that a pipeline can be trained, and add an optimizer to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.emit.model import Mode
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, Severity
from slangad.compiler.ir.kernels import Memory
from slangad.compiler.ir.optimizers import LEARNING_RATE, OPTIMIZERS
from slangad.compiler.ir.pipelines import Optimizer
from slangad.compiler.runtime.arrays.array_keys import needs_domain
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError, prepare
from slangad.compiler.runtime.pipeline.flow import flow_of
from slangad.compiler.runtime.pipeline.random_inputs import draw_missing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from slangad.compiler.runtime.arrays.array_keys import Shape
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import KernelSignature
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.training.train import TrainingPlan


def check_trainable(runnable: RunnablePipeline) -> None:
    """Refuse pipelines without an objective or trained parameters.

    Raises:
        CompileError: It says what is missing.
    """
    name = runnable.pipeline.name
    objective = runnable.objective
    if objective is None:
        several = ", ".join(result.name for result in runnable.objectives)
        why = f"{several} could each be minimised" if several else "it does not return one number"
        raise _refused(runnable, f"{name} has no objective: {why}", "return one Sum[float] or Mean[float]")
    if not runnable.trained:
        help_ = "Param and Tensor parameters that are not NoDiff are trained"
        if any(value.memory is Memory.TEXTURE2D for value in runnable.signature.parameters):
            help_ += "; a texture is not: filter a Tensor, as samples/globe does, or train it by .torch()"
        raise _refused(runnable, f"{name} has nothing to train", help_)
    flow = flow_of(runnable, runnable.trained, Mode.BACKWARD)
    if objective.value not in flow.active:
        raise _refused(runnable, f"no gradient flows from the objective of {name} to {', '.join(runnable.trained)}")


def with_optimizer(runnable: RunnablePipeline, name: str | None, lr: float | None) -> RunnablePipeline:
    """Return the pipeline with the requested optimizer, or its own, or Adam. Other settings keep their values.

    Raises:
        CompileError: The optimizer or its rate is missing.
    """
    declared = runnable.pipeline.optimizer
    wanted = name or (declared.name if declared is not None else None) or ("adam" if lr is not None else None)
    if wanted is None:
        help_ = "give --optimizer adam --lr 0.01, in Python optimizer=sa.Adam(lr=0.01), here or at @sa.pipeline"
        raise _refused(runnable, f"{runnable.pipeline.name} has no optimizer", help_)
    settings = OPTIMIZERS[wanted].usual
    known = (
        dict(zip(settings, declared.values, strict=True)) if declared is not None and declared.name == wanted else {}
    )
    if declared is not None:
        known.setdefault("lr", declared["lr"])
    if lr is not None:
        known["lr"] = lr
    if "lr" not in known:
        raise _refused(runnable, f"{wanted} needs a learning rate", "give --lr 0.01, in Python lr=0.01")
    if not LEARNING_RATE.contain(known["lr"]):
        help_ = f"lr is {LEARNING_RATE}"
        raise _refused(runnable, f"the learning rate of {runnable.pipeline.name} is {known['lr']!r}", help_)
    values = tuple(float(known.get(key, usual or 0.0)) for key, usual in settings.items())
    return replace(runnable, pipeline=replace(runnable.pipeline, optimizer=Optimizer(wanted, values)))


def prepare_training(
    runnable: RunnablePipeline, inputs: Mapping[str, object], domain: Shape | None, plan: TrainingPlan
) -> tuple[Prepared, list[Diagnostic]]:
    """Return the initial arrays: those of the user, and random values for trained parameters that are missing.

    Raises:
        InputError: Something is missing or doesn't fit.
        CompileError: The batch doesn't fit the data.
    """
    signature = runnable.signature
    each = any(v.per_element for v in signature.parameters)
    if domain is None and not needs_domain(signature, inputs):
        domain = (1,) * signature.dims
    trained = {p.key for v in signature.parameters if v.name in runnable.trained for p in v.parts}
    drawn = draw_missing(signature, RunMode.FORWARD, inputs, domain, plan.seed, training=True)
    added = {key: array for key, array in drawn.items() if key in trained and key not in inputs}
    try:
        prepared = prepare(signature, RunMode.FORWARD, {**inputs, **added}, domain)
    except InputError as error:
        raise InputError([*_explained(error.diagnostics, signature, trained)]) from None
    if plan.batch and not each:
        raise _refused(runnable, f"{runnable.pipeline.name} has no batches: it has no Each parameter", "omit --batch")
    if plan.batch > prepared.domain[0]:
        raise _refused(runnable, f"a batch of {plan.batch} is more than the {prepared.domain[0]} elements in the data")
    if not added:
        return prepared, []
    message = f"{', '.join(added)}: not given, drawn at random with seed {plan.seed}"
    return prepared, [Diagnostic("SA423", message, severity=Severity.NOTE)]


def _explained(
    problems: Iterable[Diagnostic], signature: KernelSignature, trained: Collection[str]
) -> Iterator[Diagnostic]:
    """Return the problems, with a remedy at the first missing part of each parameter that is not trained."""
    fixed = {p.key: v.name for v in signature.parameters if not v.per_element for p in v.parts if p.key not in trained}
    for problem in problems:
        key = problem.message.partition(" is missing: ")[0]
        name = fixed.get(key) if problem.code == "SA410" and not problem.help else None
        if name is None:
            yield problem
            continue
        fixed = {key: other for key, other in fixed.items() if other != name}
        how = f"give its values, such as the output of a training of {name}"
        yield replace(problem, help=f"{name} is not trained, so it is not drawn: {how}")


def _refused(runnable: RunnablePipeline, message: str, help_: str = "") -> CompileError:
    return CompileError([Diagnostic("SA420", message, runnable.pipeline.span, help=help_)])
