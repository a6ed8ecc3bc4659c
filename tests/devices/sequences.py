"""Networks that read their weights in loops: what reverse mode keeps of an iteration must not hold them."""

import slangad as sa
from slangad import Array, Each, OutTensor, Param, float4, float4x4

TOKENS = 8
WIDE = 32

Token = Array[float, 6]


@sa.struct
class Lstm:
    w: Array[float4x4, 4]
    u: Array[float4x4, 4]
    b: Array[float4, 4]


@sa.kernel
def remembered(cell: Param[Lstm], words: Each[Array[float4, TOKENS]]) -> Each[float]:
    h = float4(0.0)
    c = float4(0.0)
    for x in words:
        i = sa.sigmoid(cell.w[0] @ x + cell.u[0] @ h + cell.b[0])
        f = sa.sigmoid(cell.w[1] @ x + cell.u[1] @ h + cell.b[1])
        g = sa.tanh(cell.w[2] @ x + cell.u[2] @ h + cell.b[2])
        o = sa.sigmoid(cell.w[3] @ x + cell.u[3] @ h + cell.b[3])
        c = f * c + i * g
        h = o * sa.tanh(c)
    return sa.dot(h, h)


@sa.struct
class Head:
    q: float4x4
    k: float4x4
    v: float4x4


@sa.kernel
def attended(heads: Param[Array[Head, 2]], words: Each[Array[float4, TOKENS]]) -> Each[float]:
    x = sa.copy(words)
    for head in heads:
        seen = Array[float4, TOKENS]()
        for i in range(TOKENS):
            q = head.q @ x[i]
            total = 0.0
            mixed = float4(0.0)
            for j in range(TOKENS):
                weight = sa.exp(0.1 * sa.dot(q, head.k @ x[j]))
                total += weight
                mixed += weight * (head.v @ x[j])
            seen[i] = mixed / total
        for i in range(TOKENS):
            x[i] += seen[i]
    return sa.dot(x[1], x[TOKENS - 1])


@sa.kernel
def scored(queries: Each[Array[Token, TOKENS]], keys: Param[Array[Token, TOKENS]]) -> Each[float]:
    """The outer loop sets the arrays that its inner loops change."""
    seen = Array[Token, TOKENS]()
    for t in range(TOKENS):
        score = Array[float, TOKENS]()
        top = -1e30
        for s in range(TOKENS):
            dot = 0.0
            for i in range(6):
                dot += queries[t][i] * keys[s][i]
            score[s] = 0.1 * dot
            top = max(top, score[s])
        mixed = sa.copy(queries[t])
        for s in range(TOKENS):
            for i in range(6):
                mixed[i] += sa.exp(score[s] - top) * queries[s][i]
        seen[t] = mixed
    result = 0.0
    for t in range(TOKENS):
        for i in range(6):
            result += seen[t][i] * keys[t][i]
    return result


@sa.struct
class Tied:
    w: Array[Array[float, WIDE], 6]


@sa.kernel
def tied(net: Param[Tied], x: Each[Array[float, WIDE]]) -> Each[float]:
    """A decoder with the weights of the encoder: a matrix and its transpose."""
    code = net.w @ x
    error = 0.0
    for j in range(WIDE):
        total = 0.0
        for i in range(6):
            total += net.w[i][j] * sa.tanh(code[i])
        error += (total - x[j]) * (total - x[j])
    return error / WIDE


@sa.struct
class Dense:
    w: Array[Array[float, WIDE], WIDE]


@sa.kernel
def chosen(nets: Param[Array[Dense, 3]], kind: Each[int], x: Each[Array[float, WIDE]]) -> Each[float]:
    """A network for each material: threads read different matrices, row by row."""
    result = 0.0
    for i in range(WIDE):
        total = 0.0
        for j in range(WIDE):
            total += nets[kind].w[i][j] * x[j]
        result += sa.sin(total / WIDE)
    return result


STEPS = 7


@sa.kernel
def iterated(m: Param[Array[float4x4, STEPS]], x: Each[float4]) -> Each[float]:
    """Loops that Slang keeps, since their state is small. Each iteration reads a matrix, which all threads share."""
    s = 0.1
    for _ in range(STEPS):
        for j in range(STEPS):
            s = sa.sin(s + sa.dot(x, m[j] @ (s * x)))
    return s


@sa.kernel
def of_kind(m: Param[Array[Array[float4x4, STEPS], 3]], kind: Each[int], x: Each[float4]) -> Each[float]:
    """The same with a row of matrices for each kind."""
    s = 0.1
    for _ in range(STEPS):
        for j in range(STEPS):
            s = sa.sin(s + sa.dot(x, m[kind][j] @ (s * x)))
    return s


@sa.kernel
def paired(x: Each[Array[Array[float, 16], TOKENS]]) -> Each[float]:
    """All pairs: the row that the outer loop reads is one of those that the inner loops read."""
    total = 0.0
    for i in range(TOKENS):
        for j in range(TOKENS):
            d = 0.0
            for k in range(16):
                d += x[i][k] * x[j][k]
            total += sa.sin(0.1 * d)
    return total


@sa.kernel
def folded(x: Each[Array[float, WIDE]], w: Each[Array[float, WIDE]]) -> Each[float]:
    """Inner loops before a branch and in it read arrays of which the outer loop has elements, too."""
    total = 0.0
    for i in range(WIDE):
        a = 0.0
        for j in sa.range(i + 1, max_iters=WIDE):
            a += x[j] * w[i - j]
        if a > 0.0:
            b = 0.0
            for j in range(WIDE):
                b += sa.sin(0.1 * a * w[j]) * x[WIDE - 1 - j]
            total += b * x[i]
        else:
            total += a * w[0] * w[0]
    return total


@sa.kernel
def told(x: Each[float4], out: OutTensor[float, 2]) -> Each[float]:
    """A loop that Slang keeps, since it stores; an inner one changes a small array."""
    w = Array[float, 8]()
    for i in range(20):
        for j in range(7):
            w[j] = sa.sin(w[j + 1] + x.x)
        w[7] = sa.cos(w[0])
        out[sa.thread_id(), i] = w[0]
    return w[0]
