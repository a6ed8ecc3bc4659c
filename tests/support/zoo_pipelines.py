"""Pipelines whose gradients are right, and the same with a read in one stage whose derivative is wrong."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, float2, float3


"""
WRONG = {
    "sign": "return -1.0 * d_out",
    "thousandth": "return d_out * 1.001",
    "double": "return d_out * 2.0",
    "missing": "return d_out * 0.0",
    "branch": "return d_out * 1.25 if x > 0.3 else d_out",
}


@dataclass(frozen=True)
class ZooPipeline:
    """A right pipeline with its stages, whose names begin with the pipeline's; ``read`` is what mutants get wrong."""

    name: str
    text: str
    read: str

    def mutants(self) -> dict[str, str]:
        """Wrong pipelines by name."""
        made = {}
        for kind, line in WRONG.items():
            name = f"{self.name}_{kind}"
            keep = (
                f"@sa.differentiable\ndef keep_{name}(x: float) -> float:\n    return x\n\n\n"
                f"@keep_{name}.backward\ndef keep_{name}_bwd(x, d_out):\n    {line}\n\n\n"
            )
            text = self.text.replace(self.read, f"keep_{name}({self.read})", 1)
            made[name] = keep + text.replace(f"{self.name}_", f"{name}_").replace(f"def {self.name}(", f"def {name}(")
            made[name] = made[name].replace(f"keep_{name}_{kind}", f"keep_{name}")
        return made


PIPELINES = (
    ZooPipeline(
        "fused",
        """@sa.kernel
def fused_bend(x: Each[float], k: Param[float]) -> Each[float]:
    return sa.sin(x) * k + x


@sa.kernel
def fused_total(y: Each[float]) -> Sum[float]:
    return y * y


@sa.pipeline
def fused(x: Each[float], k: Param[float]) -> Sum[float]:
    return fused_total(fused_bend(x, k))
""",
        "sa.sin(x)",
    ),
    ZooPipeline(
        "apart",
        """@sa.kernel
def apart_bend(x: Each[float], k: Param[float]) -> Each[float]:
    return x * x * k


@sa.kernel
def apart_total(y: Each[float], k: Param[float]) -> Mean[float]:
    return sa.exp(y) * k


@sa.pipeline(fuse=False)
def apart(x: Each[float], k: Param[float]) -> Mean[float]:
    return apart_total(apart_bend(x, k), k)
""",
        "sa.exp(y)",
    ),
    ZooPipeline(
        "twice",
        """@sa.kernel
def twice_bend(x: Each[float], k: Param[float]) -> Each[float]:
    return x * x * k + 0.5 * x


@sa.kernel
def twice_total(y: Each[float]) -> Sum[float]:
    return y * y * y


@sa.pipeline
def twice(x: Each[float], k: Param[float]) -> Sum[float]:
    return twice_total(twice_bend(twice_bend(x, k), k))
""",
        "x * x",
    ),
    ZooPipeline(
        "gathering",
        """@sa.kernel
def gathering_read(i: Each[int], w: Tensor[float, 1]) -> Each[float]:
    return w[i] * w[i]


@sa.kernel
def gathering_total(y: Each[float], k: Param[float]) -> Sum[float]:
    return y * k * k


@sa.pipeline
def gathering(i: Each[int], w: Tensor[float, 1], k: Param[float]) -> Sum[float]:
    return gathering_total(gathering_read(i, w), k)
""",
        "w[i]",
    ),
)
"""Right pipelines: fused, kept apart, with a stage that is used twice, with indices that collide."""


def module_of(texts: list[str]) -> str:
    """A description of pipelines."""
    return HEAD + "\n\n".join(texts)
