"""Select the trained parameter that ``slangad train -o image.png`` writes.

Whole tensors can be pictures. Fields of a Param are weights, whatever their shape. A kernel draws a network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.types import Scalar, Vector, is_floating
from slangad.compiler.runtime.arrays.images import as_picture, is_picture, is_picture_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from slangad.compiler.ir.nodes import Kernel, Module
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.training.train import Trainer

    Arrays = Mapping[str, npt.NDArray[Any]]


def trained_outputs(path: Path, trainer: Trainer) -> Arrays:
    """Return the trained arrays that an output file may hold: all, or those of tensors if it is a picture."""
    arrays = trainer.parameters()
    if not is_picture_file(path):
        return arrays
    tensors = {v.name for v in trainer.runnable.signature.parameters if v.memory is Memory.TENSOR}
    return {key: array for key, array in arrays.items() if key in tensors}


def require_picture(path: Path, trainer: Trainer, file: Path, module: Module) -> None:
    """Refuse a picture as output of a training that has none, before it begins.

    Raises:
        CompileError: No trained parameter is a picture, or several are, or Pillow isn't there.
    """
    if not is_picture_file(path):
        return
    arrays = trained_outputs(path, trainer)
    if any(is_picture(array) for array in arrays.values()):
        as_picture(path, arrays)
        return
    name = trainer.runnable.pipeline.name
    shown = ", ".join(f"{key} {tuple(array.shape)}" for key, array in trainer.parameters().items())
    message = f"can't write {path}: no trained tensor of {name} is a picture: {shown}"
    raise CompileError([Diagnostic("SA405", message, help=_remedy(path, trainer.runnable, file, module))])


def _remedy(path: Path, runnable: RunnablePipeline, file: Path, module: Module) -> str:
    """Return the commands that train and then draw by a kernel."""
    drawing = next((kernel for kernel in module.kernels if _draws(kernel, runnable)), None)
    trained = path.with_suffix(".npz")
    name = "KERNEL" if drawing is None else drawing.name
    domain = "" if drawing is not None and _takes_elements(drawing) else " --domain HEIGHTxWIDTH"
    run = f"slangad run {file}:{name} -i {trained}{domain} -o {path}"
    what = "write a kernel with dims=2 that returns Each[float3], and" if drawing is None else "let a kernel draw:"
    return f"{what} train with -o {trained}, then {run}"


def _draws(kernel: Kernel, runnable: RunnablePipeline) -> bool:
    """Return True if a kernel takes what is trained, and returns a number or colour for each row and column."""
    trained = {(v.name, v.type) for v in runnable.signature.parameters if v.name in runnable.trained}
    results = [result for result in kernel.results if result.memory is Memory.EACH]
    takes = any((param.name, param.type) in trained for param in kernel.params)
    return takes and kernel.dims == 2 and len(results) == 1 and _is_colour(results[0].type)


def _is_colour(type_: object) -> bool:
    size = type_.size if isinstance(type_, Vector) else 1
    return isinstance(type_, (Scalar, Vector)) and is_floating(type_) and size != 2


def _takes_elements(kernel: Kernel) -> bool:
    return any(param.memory is Memory.EACH for param in kernel.params)
