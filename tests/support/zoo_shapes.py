"""Right functions of vectors, matrices, arrays and structs, with loops and branches."""

from __future__ import annotations

from support.zoo_animals import Animal

A = Animal

MATRICES: tuple[Animal, ...] = (
    A("inner", "a: float3; b: float3", "float", "sa.dot(a, b)"),
    A("outer", "a: float3; b: float3", "float3", "sa.cross(a, b)"),
    A("norm", "v: float3", "float", "sa.length(v)"),
    A("small_norm", "v: float3", "float", "sa.length(v)", {"v": (-1e-5, 1e-5)}),
    A("apart", "a: float3; b: float3", "float", "sa.distance(a, b)"),
    A("direction", "v: float3", "float3", "sa.normalize(v)", {"v": (0.1, 1.0)}),
    A("mirrored", "i: float3; n: float3", "float3", "sa.reflect(i, n)"),
    A(
        "bent",
        "i: float3; n: float3; eta: float",
        "float3",
        "sa.refract(sa.normalize(i), sa.normalize(n), eta)",
        {
            "i.x": (-0.3, 0.3),
            "i.y": (-1.0, -0.5),
            "i.z": (-0.3, 0.3),
            "n.x": (-0.1, 0.1),
            "n.y": (0.9, 1.0),
            "n.z": (-0.1, 0.1),
            "eta": (0.5, 0.8),
        },
    ),
    A("swizzled", "v: float4", "float2", "v.xz * v.wy"),
    A("summed", "v: float4", "float", "sum(v * v)"),
    A("by_component", "v: float3; s: float", "float3", "sa.exp(v * s) - v / (2.0 + s)"),
    A("vector_kinks", "a: float3; b: float3", "float3", "max(a, b) * abs(a)"),
    A("matrix_vector", "m: float3x3; v: float3", "float3", "sa.mul(m, v)"),
    A("vector_matrix", "v: float2; m: float2x3", "float3", "sa.mul(v, m)"),
    A("matrix_matrix", "a: float2x2; b: float2x2", "float2x2", "a @ b"),
    A("turned", "m: float2x2; v: float2", "float", "sa.dot(sa.mul(sa.transpose(m), v), float2(1.0, 2.0))"),
    A("volume", "m: float3x3", "float", "sa.determinant(m)"),
    A("rows", "m: float2x2", "float", "m[0].x * m[1, 1] - 2.0 * m[0, 1]"),
    A("entries", "m: float2x2", "float", "m[0, 0] + 2.0 * m[0, 1] + 3.0 * m[1, 0] * m[1, 1]"),
    A("flat_norm", "v: float2", "float", "sa.length(v) ** 3"),
    A("mixed_product", "a: float3; b: float3; c: float3", "float", "sa.dot(sa.cross(a, b), c)"),
    A("quadratic_form", "m: float3x3; v: float3", "float", "sa.dot(v, sa.mul(m, v))"),
    A("by_entry", "a: float2x2; b: float2x2", "float2x2", "a * b + a * 2.0"),
    A("large_matrix", "m: float4x4; v: float4", "float4", "sa.mul(v, m)"),
    A("flat_volume", "m: float2x2", "float", "sa.determinant(m) ** 2"),
    A(
        "inverted",
        "m: float2x2; v: float2",
        "float2",
        "d = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0] + 4.0\n"
        "return float2(m[1, 1] * v.x - m[0, 1] * v.y, m[0, 0] * v.y - m[1, 0] * v.x) / float2(d)",
    ),
    A(
        "rotated",
        "v: float2; angle: float",
        "float2",
        "c = sa.cos(angle)\ns = sa.sin(angle)\nreturn float2(c * v.x - s * v.y, s * v.x + c * v.y)",
    ),
    A("stored_parts", "v: float3; s: float", "float3", "w = float3(s)\nw.x = v.x * v.y\nw.yz = v.zx * s\nreturn w"),
)

LOOPS: tuple[Animal, ...] = (
    A("summed_loop", "x: float", "float", "s = 0.0\nfor i in range(6):\n    s += sa.sin(x * i)\nreturn s"),
    A("carried", "x: float; y: float", "float", "s = x\nfor i in range(5):\n    s = s * y + x\nreturn s"),
    A(
        "counted",
        "x: float; n: int",
        "float",
        "s = x\nfor i in sa.range(n, max_iters=8):\n    s = s * x + 1.0\nreturn s",
        {"n": (0, 8)},
    ),
    A(
        "newton",
        "a: float",
        "float",
        "x = a\nfor i in range(8):\n    x = 0.5 * (x + a / x)\nreturn x",
        {"a": (0.1, 9.0)},
    ),
    A(
        "until",
        "x: float",
        "float",
        "s = x\nwhile sa.max_iters(32) and s < 10.0:\n    s = s * 2.0 + 0.1\nreturn s",
        {"x": (0.1, 9.0)},
    ),
    A(
        "broken_off",
        "x: float",
        "float",
        "s = 0.0\nfor i in range(10):\n    if s > 2.0:\n        break\n    s += x\nreturn s",
        {"x": (0.1, 1.0)},
    ),
    A(
        "nested_loops",
        "x: float; y: float",
        "float",
        "s = 0.0\nfor i in range(3):\n    for j in range(4):\n        s += sa.sin(x * i + y * j)\nreturn s",
    ),
    A(
        "triangle",
        "x: float",
        "float",
        "s = 0.0\nfor i in range(4):\n    for j in sa.range(i, max_iters=4):\n        s += x ** 2 * j\nreturn s",
    ),
    A(
        "light_through",
        "b: float3; x: float; n: int",
        "float3",
        "t = 1.0\nfor i in sa.range(n, max_iters=4):\n    t *= x\nreturn b * t",
        {"n": (0, 4)},
    ),
    A("unrolled", "x: float", "float", "s = 1.0\nfor i in sa.range(4, unroll=True):\n    s *= x + i\nreturn s"),
    A(
        "skipping",
        "x: float",
        "float",
        "s = 0.0\nfor i in range(6):\n    if i % 2 == 1:\n        continue\n    s += sa.sin(x * (i + 1))\nreturn s",
    ),
    A(
        "escaping",
        "x: float; y: float",
        "float",
        "a = 0.0\nb = 0.0\nfor i in range(6):\n"
        "    if a * a + b * b > 4.0:\n        break\n"
        "    t = a * a - b * b + x\n    b = 2.0 * a * b + y\n    a = t\nreturn a * b",
    ),
    A(
        "left_early",
        "x: float",
        "float",
        "s = x\nfor i in range(8):\n    if s > 3.0:\n        return s * s\n    s = s * 1.5 + 0.1\nreturn s",
        {"x": (0.1, 2.0)},
    ),
    A(
        "carried_vector",
        "v: float3; k: float",
        "float3",
        "w = v\nfor i in range(3):\n    w = sa.cross(w, v) + w * float3(k)\nreturn w",
    ),
    A(
        "matrix_power",
        "m: float2x2; v: float2",
        "float2",
        "w = v\nfor i in range(4):\n    w = sa.mul(m, w) + v\nreturn w",
    ),
    A(
        "two_states",
        "x: float; y: float",
        "float",
        "a = x\nb = y\nfor i in range(5):\n    t = a + 0.2 * b\n    b = b - 0.2 * sa.sin(a)\n    a = t\nreturn a * b",
    ),
    A(
        "running_largest",
        "a: sa.Array[float, 4]",
        "float",
        "m = a[0]\nfor i in range(4):\n    m = max(m, a[i] * a[i])\nreturn m",
    ),
    A("over_entries", "a: sa.Array[float, 4]; x: float", "float", "s = 0.0\nfor e in a:\n    s = s * x + e\nreturn s"),
    A("backwards", "x: float", "float", "s = 1.0\nfor i in reversed(range(5)):\n    s = s * x + i\nreturn s"),
    A(
        "nested_bounds",
        "x: float; n: int",
        "float",
        "s = x\nfor i in sa.range(n, max_iters=4):\n"
        "    for j in sa.range(i, max_iters=4):\n        s = s * 0.5 + x * x\nreturn s",
        {"n": (0, 4)},
    ),
    A(
        "else_of_loop",
        "x: float",
        "float",
        "s = x\nfor i in range(4):\n    s = s * 1.3\n    if s > 1.0:\n        break\nelse:\n    s = s * s\nreturn s",
    ),
)

BRANCHES: tuple[Animal, ...] = (
    A(
        "branches",
        "x: float; y: float",
        "float",
        "if x > 0.2:\n    return x * y\nelif y > 0.0:\n    return x + y\nreturn y * y",
    ),
    A("by_flag", "x: float; on: bool", "float", "x * x if on else 3.0 * x"),
    A(
        "by_kind",
        "x: float; kind: int",
        "float",
        "if kind == 0:\n    return x\nif kind == 1:\n    return x * x\n"
        "if kind == 2:\n    return sa.sin(x)\nreturn sa.exp(x)",
    ),
    A("rare_branch", "x: float", "float", "if x > 0.93:\n    return 3.0 * x * x\nreturn x * x"),
    A("in_between", "x: float", "float", "x * x if 0.2 < x < 0.6 else 2.0 * x"),
    A("logic", "x: float; y: float; on: bool", "float", "x * y if (x > 0.0 and y > 0.0) or on else x - y"),
    A(
        "deep",
        "x: float; y: float",
        "float",
        "r = x\nif x > 0.0:\n    if y > 0.0:\n        r = x * y * y\n    else:\n        r = sa.sin(x * y)\n"
        "else:\n    r = r * y\nreturn r * r",
    ),
    A("one_in_fifty", "x: float; y: float", "float", "x * y * y if y > 0.96 else x * y"),
    A(
        "by_two_kinds",
        "x: float; i: int; j: int",
        "float",
        "if i == j:\n    return x * x * x\nreturn x * (i - j)",
        {"i": (0, 3), "j": (0, 3)},
    ),
)

ARRAYS: tuple[Animal, ...] = (
    A("listed", "a: sa.Array[float, 4]", "float", "a[0] * a[1] + a[2] * a[3] * a[3]"),
    A("at_indices", "a: sa.Array[float, 4]; i: int; j: int", "float", "a[i] * a[j]", {"i": (0, 3), "j": (0, 3)}),
    A(
        "gathered",
        "a: sa.Array[float, 4]; k: int",
        "float",
        "s = 0.0\nfor i in range(4):\n    s += a[i] * a[(i + k) % 4]\nreturn s",
        {"k": (0, 3)},
    ),
    A("component_at", "v: float4; i: int; j: int", "float", "v[i] * v[j] + v[i]", {"i": (0, 3), "j": (0, 3)}),
    A(
        "accumulated",
        "a: sa.Array[float, 3]",
        "sa.Array[float, 3]",
        "b = sa.Array[float, 3]()\nfor i in range(3):\n"
        "    for j in sa.range(i + 1, max_iters=3):\n        b[i] += a[j] * a[j]\nreturn b",
    ),
    A("table", "x: float; k: int", "float", "K[k] * x * x", {"k": (0, 3)}),
    A("nested_arrays", "a: sa.Array[sa.Array[float, 2], 2]; x: float", "float", "a[0][1] * a[1][0] * x + a[1][1]"),
    A(
        "stored_at",
        "x: float; y: float; k: int",
        "float",
        "b = sa.Array[float, 3](x, y, 1.0)\nb[k] = b[k] * x * y\nreturn b[0] + 2.0 * b[1] + 3.0 * b[2]",
        {"k": (0, 2)},
    ),
    A(
        "permuted",
        "a: sa.Array[float, 4]; k: int",
        "sa.Array[float, 4]",
        "b = sa.Array[float, 4]()\nfor i in range(4):\n    b[(i * 3 + k) % 4] = a[i] * a[i]\nreturn b",
        {"k": (0, 3)},
    ),
    A(
        "prefix",
        "a: sa.Array[float, 4]",
        "float",
        "s = 0.0\np = 1.0\nfor i in range(4):\n    p *= a[i]\n    s += p\nreturn s",
    ),
    A(
        "colliding",
        "a: sa.Array[float, 4]; i: int; j: int",
        "float",
        "b = sa.Array[float, 2]()\nb[i] += a[0] * a[1]\nb[j] += a[2] * a[3]\nreturn b[0] * b[1] + b[0]",
        {"i": (0, 1), "j": (0, 1)},
    ),
    A("row_at", "m: float3x3; i: int; j: int", "float", "sa.dot(m[i], m[j]) + m[i, j]", {"i": (0, 2), "j": (0, 2)}),
)

STRUCTS: tuple[Animal, ...] = (
    A("lit", "l: Lamp; p: float3", "float", "d = p - l.at\nreturn l.power / (1.0 + sa.dot(d, d))"),
    A("nested", "r: Room; x: float", "float", "r.lamp.power * r.weights[1] * x + r.weights[2] * r.lamp.at.y * r.gain"),
    A("struct_result", "l: Lamp; s: float", "Lamp", "return Lamp(at=l.at * s, power=l.power * l.power, kind=l.kind)"),
    A("several", "x: float; y: float", "tuple[float, float3]", "return x * y, float3(x, y, x * x)"),
    A("passive", "x: float; k: NoDiff[float]", "float", "x * x * k"),
    A("by_method", "l: Lobe; x: float", "float", "l.at(x) + l.at(x * x) + Lobe.shared(x)"),
    A(
        "array_of_structs",
        "a: sa.Array[Lobe, 2]; x: float; k: int",
        "float",
        "a[k].weight * x + a[1 - k].sharp * a[k].sharp",
        {"k": (0, 1)},
    ),
    A(
        "changed_field",
        "l: Lobe; x: float",
        "float",
        "m = sa.copy(l)\nm.weight = m.weight * x\nm.sharp += l.weight\nreturn m.weight * m.sharp",
    ),
    A(
        "grown",
        "l: Lobe; x: float",
        "float",
        "s = sa.zeros(Lobe)\nfor i in range(3):\n    s.weight += l.weight * x\n"
        "    s.sharp += s.weight * l.sharp\nreturn s.sharp",
    ),
)
