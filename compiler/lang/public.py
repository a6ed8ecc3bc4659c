"""Everything users reach as ``sa.X``, with the types their checkers see."""

from __future__ import annotations

from slangad.compiler.lang.annotations import (
    DiffPair,
    Each,
    InOutTensor,
    Mean,
    NoDiff,
    OutTensor,
    Param,
    Sum,
    Tensor,
    Texture2D,
    Uniform,
    texture,
)
from slangad.compiler.lang.arrays import Array
from slangad.compiler.lang.calls import *  # noqa: F403  (one name per row of the intrinsics table)
from slangad.compiler.lang.calls import __all__ as _intrinsics
from slangad.compiler.lang.copies import copy, zeros
from slangad.compiler.lang.derivatives import bwd_diff, diff_pair, fwd_diff, no_diff, probe
from slangad.compiler.lang.errors import DescriptionError, LoopBoundExceeded
from slangad.compiler.lang.external import extern
from slangad.compiler.lang.functions import differentiable, function
from slangad.compiler.lang.kernels import SGD, Adam, AdamW, kernel, pipeline
from slangad.compiler.lang.loops import max_iters, range, static_assert, thread_count, thread_id  # noqa: A004  (sa.range)
from slangad.compiler.lang.matrices import *  # noqa: F403  (the matrix types)
from slangad.compiler.lang.matrices import __all__ as _matrices
from slangad.compiler.lang.policies import clip_gradient, finite_difference, straight_through, subgradient, surrogate
from slangad.compiler.lang.scalars import double, half, uint
from slangad.compiler.lang.struct import struct
from slangad.compiler.lang.vectors import *  # noqa: F403  (the vector types)
from slangad.compiler.lang.vectors import __all__ as _vectors

__all__ = [  # noqa: PLE0604  (extended below by lists of names)
    "SGD",
    "Adam",
    "AdamW",
    "Array",
    "DescriptionError",
    "DiffPair",
    "Each",
    "InOutTensor",
    "LoopBoundExceeded",
    "Mean",
    "NoDiff",
    "OutTensor",
    "Param",
    "Sum",
    "Tensor",
    "Texture2D",
    "Uniform",
    "bwd_diff",
    "clip_gradient",
    "copy",
    "diff_pair",
    "differentiable",
    "double",
    "extern",
    "finite_difference",
    "function",
    "fwd_diff",
    "half",
    "kernel",
    "max_iters",
    "no_diff",
    "pipeline",
    "probe",
    "range",
    "static_assert",
    "straight_through",
    "struct",
    "subgradient",
    "surrogate",
    "texture",
    "thread_count",
    "thread_id",
    "uint",
    "zeros",
    *_intrinsics,
    *_matrices,
    *_vectors,
]
