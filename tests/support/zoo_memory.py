"""Kernels with shared memory whose gradients are right, and ways to get them wrong by one read each."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Texture2D, Uniform
from slangad import float2, float3


"""


@dataclass(frozen=True)
class Habitat:
    """A right kernel: its signature, results and statements.

    ``read`` is the expression whose gradient the mutants get wrong, of type ``type``; ``index`` is an integer in scope.
    """

    name: str
    kind: str
    params: str
    result: str
    body: str
    read: str
    index: str = "0"
    type: str = "float"
    options: str = ""

    @property
    def text(self) -> str:
        """The kernel as a description."""
        return self._text(self.name, self.body)

    def mutants(self) -> dict[str, str]:
        """Wrong kernels by name: one read passes through a function with a wrong derivative."""
        made = {}
        for kind, lines in WRONG.items():
            if kind == "index" and self.index == "0":
                continue
            name = f"{self.name}_{kind}"
            part = "x" if self.type == "float" else "x.x"
            back = "\n".join(f"    {line.format(part=part)}" for line in lines)
            keep = (
                f"@sa.differentiable\ndef keep_{name}(x: {self.type}, i: int) -> {self.type}:\n    return x\n\n\n"
                f"@keep_{name}.backward\ndef keep_{name}_bwd(x, i, d_out):\n{back}\n\n\n"
            )
            body = self.body.replace(self.read, f"keep_{name}({self.read}, {self.index})", 1)
            made[name] = keep + self._text(name, body)
        return made

    def _text(self, name: str, body: str) -> str:
        lines = "\n".join(f"    {line}" for line in body.split("\n"))
        params = self.params.replace("; ", ", ")
        return f"@sa.kernel{self.options}\ndef {name}({params}) -> {self.result}:\n{lines}\n"


WRONG = {
    "sign": ["return -1.0 * d_out"],
    "thousandth": ["return d_out * 1.001"],
    "double": ["return d_out * 2.0"],
    "missing": ["return d_out * 0.0"],
    "branch": ["if {part} > 0.3:", "    return d_out * 1.25", "return d_out"],
    "index": ["if i == 1:", "    return d_out * 1.5", "return d_out"],
}

H = Habitat
KERNELS: tuple[Habitat, ...] = (
    H(
        "gathered",
        "colliding indices",
        "i: Each[int]; w: Tensor[float, 1]; k: Param[float]",
        "Each[float]",
        "return w[i] * w[i] * k",
        "w[i]",
        "i",
    ),
    H(
        "paired",
        "colliding indices",
        "i: Each[int]; j: Each[int]; w: Tensor[float, 1]",
        "Sum[float]",
        "return w[i] * w[j] + sa.sin(w[j])",
        "w[j]",
        "j",
    ),
    H(
        "vectors",
        "colliding indices",
        "i: Each[int]; w: Tensor[float3, 1]; x: Each[float3]",
        "Mean[float]",
        "return sa.dot(w[i], x) * w[i].y",
        "w[i]",
        "i",
        "float3",
    ),
    H(
        "table_of_rows",
        "colliding indices",
        "i: Each[int]; w: Tensor[float, 2]",
        "Each[float]",
        "s = 0.0\nfor k in range(3):\n    s += w[i, k] * (k + 1) * w[i, k]\nreturn s",
        "w[i, k]",
        "k",
    ),
    H(
        "three_points",
        "stencils",
        "x: Tensor[float, 1]; y: OutTensor[float, 1]",
        "None",
        "i = sa.thread_id()\ny[i] = x[i] * x[i + 1] - 2.0 * x[i + 2]",
        "x[i + 1]",
        "i",
    ),
    H(
        "edges_held",
        "stencils",
        "x: Tensor[float, 2]; y: OutTensor[float, 2]",
        "None",
        "i, j = sa.thread_id(0), sa.thread_id(1)\n"
        "y[i, j] = x[i, max(j - 1, 0)] * x[i, j] + x[min(i + 1, x.shape[0] - 1), j]",
        "x[i, j]",
        "j",
        options="(dims=2)",
    ),
    H(
        "blurred",
        "stencils",
        "x: Tensor[float2, 1]; k: Param[float]; y: OutTensor[float2, 1]",
        "None",
        "i = sa.thread_id()\ny[i] = x[i] * float2(k) + x[i + 1] * float2(1.0 - k) * x[i]",
        "x[i + 1]",
        "i",
        "float2",
    ),
    H(
        "squared_in_place",
        "in place",
        "x: InOutTensor[float, 1]; k: Param[float]",
        "None",
        "i = sa.thread_id()\nx[i] = x[i] * x[i] * k",
        "k",
        "i",
    ),
    H(
        "added_in_place",
        "in place",
        "x: InOutTensor[float, 1]; w: Each[float]",
        "None",
        "i = sa.thread_id()\nx[i] += sa.sin(w) * w",
        "sa.sin(w)",
        "i",
    ),
    H(
        "clamped_texture",
        "textures",
        "uv: Each[float2]; t: Texture2D[float]",
        "Each[float]",
        "return t.sample(uv) * 2.0",
        "t.sample(uv)",
    ),
    H(
        "clamped_uv",
        "textures",
        "uv: Each[float2]; t: Texture2D[float]",
        "Each[float]",
        "return t.sample(uv) * uv.x",
        "uv",
        type="float2",
    ),
    H(
        "repeated_texture",
        "textures",
        'uv: Each[float2]; t: Texture2D[float3, "repeat"]',
        "Mean[float]",
        "return sa.dot(t.sample(uv * 2.0), t.sample(uv))",
        "t.sample(uv)",
        type="float3",
    ),
    H(
        "mirrored_uv",
        "textures",
        'uv: Each[float2]; t: Texture2D[float2, "mirror"]',
        "Each[float2]",
        "return t.sample(uv) + t.load(0, 1)",
        "uv",
        type="float2",
    ),
    H(
        "layer",
        "shared parameters",
        "x: Each[float3]; w: Tensor[float, 2]; b: Param[float]",
        "Each[float]",
        "total = b\nfor j in range(4):\n    h = 0.0\n    for k in range(3):\n        h += w[k, j] * x[k]\n"
        "    total += max(h, 0.0)\nreturn total",
        "w[k, j]",
        "j",
    ),
    H(
        "summed",
        "shared parameters",
        "x: Each[float]; m: Param[float3]",
        "Sum[float]",
        "return (m.x * x + m.y) * (m.x * x + m.z)",
        "m.y",
    ),
)
"""Right kernels; each thread's gradients meet in memory."""


def module_of(texts: list[str]) -> str:
    """A description of kernels."""
    return HEAD + "\n\n".join(texts)
