from __future__ import annotations

import slangad as sa


@sa.struct
class Node:
    value: float
    next: Node


@sa.differentiable
def f(n: Node) -> float:
    return n.value
