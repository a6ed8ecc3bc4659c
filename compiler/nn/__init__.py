"""Networks, described in slangad's own language: what users import as ``sa.nn``."""

from __future__ import annotations

from slangad.compiler.nn.activations import gelu, leaky_relu, relu, sigmoid, silu, sine, softplus, tanh
from slangad.compiler.nn.layers import MLP, Linear

__all__ = ["MLP", "Linear", "gelu", "leaky_relu", "relu", "sigmoid", "silu", "sine", "softplus", "tanh"]
