"""Products of matrices that all threads share with arrays of each thread, in several spellings and sizes."""

import math

import slangad as sa
from slangad import Array, Each, Mean, Param, Sum, Tensor


def layers(inputs: int, hidden: int, outputs: int):
    """Two layers: the first as rows of rows, the second as one array that is row after row."""

    @sa.struct
    class Layers:
        w: Array[Array[float, inputs], hidden]
        b: Array[float, hidden]
        v: Array[float, hidden * outputs]

        def evaluate(self, x: Array[float, inputs]) -> Array[float, outputs]:
            h = sa.copy(self.b)
            for i in range(hidden):
                for j in range(inputs):
                    h[i] += self.w[i][j] * x[j]
            for i in range(hidden):
                bent = math.tanh(h[i])
                if h[i] > 1.0:
                    bent = 0.5 * h[i] + bent
                h[i] = bent
            out = Array[float, outputs]()
            for i in range(outputs):
                total = 0.0
                for j in range(hidden):
                    total += h[j] * self.v[i * hidden + j]
                out[i] = total
            return out

    return Layers


Thin = layers(1, 70, 1)
Odd = layers(17, 18, 3)
Wide = layers(9, 130, 21)


@sa.kernel
def thin(net: Param[Thin], x: Each[Array[float, 1]]) -> Each[Array[float, 1]]:
    return net.evaluate(x)


@sa.kernel
def odd(net: Param[Odd], x: Each[Array[float, 17]]) -> Each[Array[float, 3]]:
    return net.evaluate(x)


@sa.kernel(dims=2)
def wide(net: Param[Wide], x: Each[Array[float, 9]]) -> Each[Array[float, 21]]:
    return net.evaluate(x)


@sa.struct
class Stack:
    """Layers of one size, chosen by a loop and used twice, with a slope that all share."""

    w: Array[Array[Array[float, 16], 16], 3]
    slope: float


@sa.differentiable
def through(w: Array[Array[float, 16], 16], x: Array[float, 16], slope: float) -> Array[float, 16]:
    y = Array[float, 16]()
    for i in range(16):
        total = 0.0
        for j in range(16):
            total += w[i][j] * x[j]
        y[i] = x[i] + (total if total > 0.0 else slope * total)
    return y


@sa.kernel
def stacked(net: Param[Stack], x: Each[Array[float, 16]]) -> Mean[float]:
    y = sa.copy(x)
    for k in range(3):
        y = through(net.w[k], y, net.slope)
    y = through(net.w[1], y, net.slope)
    total = 0.0
    for i in range(16):
        total += y[i] * y[i]
    return total


@sa.struct
class Gate:
    w: Array[Array[float, 20], 20]
    v: Array[Array[float, 20], 20]
    u: Array[Array[float, 20], 20]


@sa.kernel
def gated(net: Param[Gate], x: Each[Array[float, 20]], gate: Each[float]) -> Sum[float]:
    """``w`` is a product for all threads, ``v`` only for some, and ``u`` is read in another way too."""
    total = net.u[0][0]
    for i in range(20):
        a = 0.0
        for j in range(20):
            a += net.w[i][j] * x[j]
        b = 0.0
        for j in range(20):
            b += net.u[i][j] * x[j]
        total += a * b
    if gate > 0.5:
        for i in range(20):
            c = 0.0
            for j in range(20):
                c += net.v[i][j] * x[j]
            total += c * c * c
    return total


Square = sa.nn.Linear(16, 16)


@sa.kernel
def chosen(net: Param[Square], x: Each[Array[float, 16]], gate: Each[float]) -> Sum[float]:
    """All threads multiply, and some of them need the product."""
    z = net(x)
    return sa.nn.relu(z)[3] if gate > 0.5 else x[1]


@sa.struct
class Kinds:
    """Layers that an element, a block of elements or a call chooses, and a matrix whose bias an element chooses."""

    own: Array[Square, 3]
    block: Array[Square, 3]
    all: Array[Square, 3]
    v: Array[Array[float, 16], 16]
    c: Array[Array[float, 16], 3]


@sa.kernel
def kinds(
    net: Param[Kinds], x: Each[Array[float, 16]], kind: Each[int], which: sa.Uniform[int]
) -> Each[Array[float, 16]]:
    y = net.all[which](net.block[sa.thread_id() // 64](net.own[kind](x)))
    z = Array[float, 16]()
    for i in range(16):
        total = net.c[kind][i]
        for j in range(16):
            total += net.v[i][j] * y[j]
        z[i] = math.tanh(total)
    return z


@sa.struct
class Biased:
    """``b`` belongs to ``w`` alone; ``c`` has another use, and ``d`` is the bias of two matrices."""

    w: Array[Array[Array[float, 13], 13], 2]
    b: Array[Array[float, 13], 2]
    v: Array[Array[float, 13], 3]
    c: Array[float, 3]
    p: Array[Array[float, 3], 3]
    q: Array[Array[float, 3], 3]
    d: Array[float, 3]


@sa.differentiable
def affine(w: Array[Array[float, 13], 13], b: Array[float, 13], x: Array[float, 13]) -> Array[float, 13]:
    y = Array[float, 13]()
    for i in range(13):
        total = b[i]
        for j in range(13):
            total += w[i][j] * x[j]
        y[i] = math.tanh(total)
    return y


@sa.kernel
def biased(net: Param[Biased], x: Each[Array[float, 13]]) -> tuple[Mean[float], Sum[float]]:
    y = affine(net.w[1], net.b[1], affine(net.w[0], net.b[0], x))
    first = net.c[0]
    z = Array[float, 3]()
    for i in range(3):
        total = net.c[i]
        for j in range(13):
            total += net.v[i][j] * y[j]
        z[i] = total
        first += total * total
    g = Array[float, 3]()
    for i in range(3):
        total = net.d[i]
        for j in range(3):
            total += net.p[i][j] * z[j]
        g[i] = total
    second = 0.0
    for i in range(3):
        total = net.d[i]
        for j in range(3):
            total += net.q[i][j] * g[j]
        second += total * total
    return first, second


@sa.struct
class Taps:
    w: Array[Array[Array[Array[float, 9], 11], 3], 3]
    b: Array[float, 11]


@sa.kernel(dims=2)
def padded(net: Param[Taps], x: Tensor[Array[float, 9], 2]) -> Each[Array[float, 11]]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    out = sa.copy(net.b)
    for di in range(3):
        for dj in range(3):
            y, z = i + di - 1, j + dj - 1
            v = Array[float, 9]()
            if 0 <= y < x.shape[0] and 0 <= z < x.shape[1]:
                v = x[y, z]
            for o in range(11):
                for c in range(9):
                    out[o] += net.w[di][dj][o][c] * v[c]
    return out


@sa.kernel(dims=2)
def clamped(net: Param[Taps], x: Tensor[Array[float, 9], 2]) -> Each[Array[float, 11]]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    out = sa.copy(net.b)
    for di in range(3):
        y = sa.clamp(i + di - 1, 0, x.shape[0] - 1)
        for dj in range(3):
            z = sa.clamp(j + dj - 1, 0, x.shape[1] - 1)
            for o in range(11):
                for c in range(9):
                    out[o] += net.w[di][dj][o][c] * x[y, z][c]
    return out
