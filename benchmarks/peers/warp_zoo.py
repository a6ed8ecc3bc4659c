"""The zoo's kernels and pipelines as text for Warp; other modules define ``keep(read, index)`` and ``sampled``."""

from __future__ import annotations

SAMPLED = """@wp.func
def clamped(at: int, size: int):
    return wp.clamp(at, 0, size - 1)


@wp.func
def repeated(at: int, size: int):
    return ((at % size) + size) % size


@wp.func
def mirrored(at: int, size: int):
    folded = ((at % (2 * size)) + 2 * size) % (2 * size)
    return wp.where(folded < size, folded, 2 * size - 1 - folded)


@wp.func
def sampled(t: wp.array2d(dtype={type}), uv: wp.vec2):
    rows = t.shape[0]
    columns = t.shape[1]
    x = uv[0] * float(columns) - 0.5
    y = uv[1] * float(rows) - 0.5
    left = wp.floor(x)
    top = wp.floor(y)
    fx = x - left
    fy = y - top
    i = int(top)
    j = int(left)
    a = t[{wrap}(i, rows), {wrap}(j, columns)]
    b = t[{wrap}(i, rows), {wrap}(j + 1, columns)]
    c = t[{wrap}(i + 1, rows), {wrap}(j, columns)]
    d = t[{wrap}(i + 1, rows), {wrap}(j + 1, columns)]
    return (1.0 - fy) * ((1.0 - fx) * a + fx * b) + fy * ((1.0 - fx) * c + fx * d)


"""
KERNELS = {
    "gathered": """@wp.kernel
def gathered(i: wp.array(dtype=int), w: wp.array(dtype=float), k: wp.array(dtype=float), y: wp.array(dtype=float)):
    at = wp.tid()
    y[at] = keep(w[i[at]], i[at]) * w[i[at]] * k[0]


def run(i, w, k):
    y = wp.zeros(len(i), dtype=float, requires_grad=True)
    wp.launch(gathered, dim=len(i), inputs=[i, w, k], outputs=[y])
    return y
""",
    "paired": """@wp.kernel
def paired(i: wp.array(dtype=int), j: wp.array(dtype=int), w: wp.array(dtype=float), total: wp.array(dtype=float)):
    at = wp.tid()
    wp.atomic_add(total, 0, w[i[at]] * keep(w[j[at]], j[at]) + wp.sin(w[j[at]]))


def run(i, j, w):
    total = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(paired, dim=len(i), inputs=[i, j, w], outputs=[total])
    return total
""",
    "vectors": """@wp.kernel
def vectors(
    i: wp.array(dtype=int), w: wp.array(dtype=wp.vec3), x: wp.array(dtype=wp.vec3), mean: wp.array(dtype=float)
):
    at = wp.tid()
    wp.atomic_add(mean, 0, wp.dot(keep(w[i[at]], i[at]), x[at]) * w[i[at]][1] / float(i.shape[0]))


def run(i, w, x):
    mean = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(vectors, dim=len(i), inputs=[i, w, x], outputs=[mean])
    return mean
""",
    "table_of_rows": """@wp.kernel
def table_of_rows(i: wp.array(dtype=int), w: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    at = wp.tid()
    s = float(0.0)
    for k in range(3):
        s += keep(w[i[at], k], k) * float(k + 1) * w[i[at], k]
    y[at] = s


def run(i, w):
    y = wp.zeros(len(i), dtype=float, requires_grad=True)
    wp.launch(table_of_rows, dim=len(i), inputs=[i, w], outputs=[y])
    return y
""",
    "three_points": """@wp.kernel
def three_points(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * keep(x[i + 1], i) - 2.0 * x[i + 2]


def run(x):
    y = wp.zeros(len(x) - 2, dtype=float, requires_grad=True)
    wp.launch(three_points, dim=len(y), inputs=[x], outputs=[y])
    return y
""",
    "edges_held": """@wp.kernel
def edges_held(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = x[i, wp.max(j - 1, 0)] * keep(x[i, j], j) + x[wp.min(i + 1, x.shape[0] - 1), j]


def run(x):
    y = wp.zeros(x.shape, dtype=float, requires_grad=True)
    wp.launch(edges_held, dim=x.shape, inputs=[x], outputs=[y])
    return y
""",
    "blurred": """@wp.kernel
def blurred(x: wp.array(dtype=wp.vec2), k: wp.array(dtype=float), y: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    y[i] = x[i] * k[0] + wp.cw_mul(keep(x[i + 1], i) * (1.0 - k[0]), x[i])


def run(x, k):
    y = wp.zeros(len(x) - 1, dtype=wp.vec2, requires_grad=True)
    wp.launch(blurred, dim=len(y), inputs=[x, k], outputs=[y])
    return y
""",
    "squared_in_place": """@wp.kernel
def squared_in_place(x: wp.array(dtype=float), k: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i] * keep(k[0], i)


def run(x, k):
    changed = wp.clone(x)
    wp.launch(squared_in_place, dim=len(x), inputs=[changed, k])
    return changed
""",
    "added_in_place": """@wp.kernel
def added_in_place(x: wp.array(dtype=float), w: wp.array(dtype=float)):
    i = wp.tid()
    x[i] += keep(wp.sin(w[i]), i) * w[i]


def run(x, w):
    changed = wp.clone(x)
    wp.launch(added_in_place, dim=len(x), inputs=[changed, w])
    return changed
""",
    "clamped_texture": """@wp.kernel
def clamped_texture(uv: wp.array(dtype=wp.vec2), t: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = keep(sampled(t, uv[i]), 0) * 2.0


def run(uv, t):
    y = wp.zeros(len(uv), dtype=float, requires_grad=True)
    wp.launch(clamped_texture, dim=len(uv), inputs=[uv, t], outputs=[y])
    return y
""",
    "clamped_uv": """@wp.kernel
def clamped_uv(uv: wp.array(dtype=wp.vec2), t: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = sampled(t, keep(uv[i], 0)) * uv[i][0]


def run(uv, t):
    y = wp.zeros(len(uv), dtype=float, requires_grad=True)
    wp.launch(clamped_uv, dim=len(uv), inputs=[uv, t], outputs=[y])
    return y
""",
    "repeated_texture": """@wp.kernel
def repeated_texture(uv: wp.array(dtype=wp.vec2), t: wp.array2d(dtype=wp.vec3), mean: wp.array(dtype=float)):
    i = wp.tid()
    both = wp.dot(sampled(t, uv[i] * 2.0), keep(sampled(t, uv[i]), 0))
    wp.atomic_add(mean, 0, both / float(uv.shape[0]))


def run(uv, t):
    mean = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(repeated_texture, dim=len(uv), inputs=[uv, t], outputs=[mean])
    return mean
""",
    "mirrored_uv": """@wp.kernel
def mirrored_uv(uv: wp.array(dtype=wp.vec2), t: wp.array2d(dtype=wp.vec2), y: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    y[i] = sampled(t, keep(uv[i], 0)) + t[1, 0]


def run(uv, t):
    y = wp.zeros(len(uv), dtype=wp.vec2, requires_grad=True)
    wp.launch(mirrored_uv, dim=len(uv), inputs=[uv, t], outputs=[y])
    return y
""",
    "layer": """@wp.kernel
def layer(x: wp.array(dtype=wp.vec3), w: wp.array2d(dtype=float), b: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    total = float(b[0])
    for j in range(4):
        h = float(0.0)
        for k in range(3):
            h += keep(w[k, j], j) * x[i][k]
        total += wp.max(h, 0.0)
    y[i] = total


def run(x, w, b):
    y = wp.zeros(len(x), dtype=float, requires_grad=True)
    wp.launch(layer, dim=len(x), inputs=[x, w, b], outputs=[y])
    return y
""",
    "summed": """@wp.kernel
def summed(x: wp.array(dtype=float), m: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, (m[0][0] * x[i] + keep(m[0][1], 0)) * (m[0][0] * x[i] + m[0][2]))


def run(x, m):
    total = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(summed, dim=len(x), inputs=[x, m], outputs=[total])
    return total
""",
    "fused": """@wp.kernel
def bend(x: wp.array(dtype=float), k: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = keep(wp.sin(x[i]), 0) * k[0] + x[i]


@wp.kernel
def squares(y: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, y[i] * y[i])


def run(x, k):
    y = wp.zeros(len(x), dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(bend, dim=len(x), inputs=[x, k], outputs=[y])
    wp.launch(squares, dim=len(x), inputs=[y], outputs=[total])
    return total
""",
    "apart": """@wp.kernel
def bend(x: wp.array(dtype=float), k: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * k[0]


@wp.kernel
def exponentials(y: wp.array(dtype=float), k: wp.array(dtype=float), mean: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(mean, 0, keep(wp.exp(y[i]), 0) * k[0] / float(y.shape[0]))


def run(x, k):
    y = wp.zeros(len(x), dtype=float, requires_grad=True)
    mean = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(bend, dim=len(x), inputs=[x, k], outputs=[y])
    wp.launch(exponentials, dim=len(x), inputs=[y, k], outputs=[mean])
    return mean
""",
    "twice": """@wp.kernel
def bend(x: wp.array(dtype=float), k: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = keep(x[i] * x[i], 0) * k[0] + 0.5 * x[i]


@wp.kernel
def cubes(y: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, y[i] * y[i] * y[i])


def run(x, k):
    y = wp.zeros(len(x), dtype=float, requires_grad=True)
    z = wp.zeros(len(x), dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(bend, dim=len(x), inputs=[x, k], outputs=[y])
    wp.launch(bend, dim=len(x), inputs=[y, k], outputs=[z])
    wp.launch(cubes, dim=len(x), inputs=[z], outputs=[total])
    return total
""",
    "gathering": """@wp.kernel
def read(i: wp.array(dtype=int), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    at = wp.tid()
    y[at] = keep(w[i[at]], 0) * w[i[at]]


@wp.kernel
def weighted(y: wp.array(dtype=float), k: wp.array(dtype=float), total: wp.array(dtype=float)):
    at = wp.tid()
    wp.atomic_add(total, 0, y[at] * k[0] * k[0])


def run(i, w, k):
    y = wp.zeros(len(i), dtype=float, requires_grad=True)
    total = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(read, dim=len(i), inputs=[i, w], outputs=[y])
    wp.launch(weighted, dim=len(i), inputs=[y, k], outputs=[total])
    return total
""",
}
