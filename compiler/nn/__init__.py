"""Networks, described in slangad's own language: what users import as ``sa.nn``."""

from __future__ import annotations

from slangad.compiler.nn.activations import gelu, leaky_relu, relu, sigmoid, silu, sine, softplus, tanh
from slangad.compiler.nn.encodings import Frequency, OneBlob, SphericalHarmonics
from slangad.compiler.nn.grids import DenseGrid, HashGrid
from slangad.compiler.nn.initialisers import normal
from slangad.compiler.nn.layers import MLP, Linear
from slangad.compiler.nn.losses import huber, l2, relative_l2

__all__ = [
    "MLP",
    "DenseGrid",
    "Frequency",
    "HashGrid",
    "Linear",
    "OneBlob",
    "SphericalHarmonics",
    "gelu",
    "huber",
    "l2",
    "leaky_relu",
    "normal",
    "relative_l2",
    "relu",
    "sigmoid",
    "silu",
    "sine",
    "softplus",
    "tanh",
]
