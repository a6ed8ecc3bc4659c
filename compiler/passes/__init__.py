"""Between front ends and emitter: ``run_passes`` makes of a described module one that can be printed as right Slang."""

from __future__ import annotations

from slangad.compiler.passes.order import PASS_NAMES, PIPELINE, Pass, run_passes

__all__ = ["PASS_NAMES", "PIPELINE", "Pass", "run_passes"]
