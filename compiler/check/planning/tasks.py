"""Make the tasks of a file: the data for a worker, for each subject and for the device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.build.libraries import prelude, sources_of
from slangad.compiler.check.build.separately import kernels_apart
from slangad.compiler.check.model.task import PipelineTask, SubjectTask, TwinKernels
from slangad.compiler.check.run.device import DeviceJob
from slangad.compiler.check.twins.one_lane import lane_note
from slangad.compiler.driver.unsupported import not_on
from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.subset import only
from slangad.compiler.runtime.device.model import BuildOptions
from slangad.compiler.slang_text.calls import codes_of
from slangad.compiler.slang_text.endings import is_slang

if TYPE_CHECKING:
    from collections.abc import Collection

    from slangad.compiler.check.build.libraries import BuildSetting, Built
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.ir.nodes import Kernel, Module


_CLIPPED: Final = "it calls a function whose gradients are clipped"
_WAVING: Final = "its wave operations would join the threads of different samples"


def make_task(
    plan: SubjectPlan, description: FileDescription, built: tuple[Built, Built]
) -> SubjectTask | PipelineTask:
    """Return the task of a plan: the kernels of its subject, with those twins that were built."""
    subject, twins, (f64, f32) = plan.subject, description.twins, built
    changed = (kernel for one in description.text_twins for kernel in one.module.kernels)
    available = (*twins.module.kernels, *(kernel for kernel in changed if _holds(f64, kernel.name)))
    kernels = {kernel.name: kernel for kernel in available}

    def twins_of(kernel: str) -> TwinKernels:
        return TwinKernels(*(kernels.get(name) for name in twins.of(kernel)))

    if subject.pipeline is not None:
        names = subject.pipeline.kernels
        chosen = {name: kernels[name] for name in names}
        return PipelineTask(plan, subject.pipeline, chosen, {name: twins_of(name) for name in names})
    return SubjectTask(
        plan,
        kernels[subject.kernel],
        _holds(f32, subject.kernel),
        twins_of(subject.kernel),
        twins.asked.get(subject.kernel, frozenset()),
        kernels.get(subject.launch),
        tuple(memory for memory in twins.module.shared if memory.kernel == twins.indices.get(subject.kernel)),
    )


def device_job(module: Module, setting: BuildSetting, device: str, unclipped: Collection[str] = ()) -> DeviceJob:
    """Return the job with which a worker runs a module's kernels in float32 on a device."""
    kernels = tuple(k for k in module.kernels if not k.name.startswith("oracle_") and k.name not in unclipped)
    emitted = emit_module(only(module, kernels))
    texts = {name: text for name, text in setting.texts.items() if not Path(name).is_absolute()}
    waving = (k.name for k in kernels if is_slang(module.source) and _uses_lanes(k, module))
    return DeviceJob(
        device,
        replace(emitted, text=prelude(module) + emitted.text, libraries={**emitted.libraries, **texts}),
        BuildOptions(setting.include_dirs, setting.defines, setting.cache),
        dict.fromkeys(unclipped, _CLIPPED)
        | dict.fromkeys(waving, _WAVING)
        | {k.name: reasons[0].message for k in kernels if (reasons := not_on(device, module, (k.name,)))},
        kernels_apart(module, sources_of(module, setting).files),
    )


def _uses_lanes(kernel: Kernel, module: Module) -> bool:
    """Return True if the gradient of a kernel of a Slang file uses operations of several threads."""
    codes = codes_of(kernel.span, module.sources)
    return bool(lane_note({token.text for code in codes for token in code.tokens}))


def _holds(built: Built, kernel: str) -> bool:
    """Return True if a build has a kernel's plain entry point."""
    return any(e.kernel == kernel and e.mode is Mode.FORWARD for library in built.libraries for e in library.entries)
