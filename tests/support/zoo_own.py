"""Right functions with derivatives of their own, each with ways to get them wrong, and with declared policies."""

from __future__ import annotations

from support.zoo_animals import Animal

A = Animal

OWN: tuple[Animal, ...] = (
    A(
        "own_product",
        "x: float; y: float; z: float",
        "float",
        "x * y + y * z * z",
        backward="return y * d_out, (x + z * z) * d_out, 2.0 * y * z * d_out",
        breaks={
            "term": ("(x + z * z)", "x"),
            "other_term": ("(x + z * z)", "z * z"),
            "power": ("2.0 * y * z", "y * z"),
            "factor": ("return y *", "return x *"),
        },
    ),
    A(
        "own_linear",
        "x: float; y: float",
        "float",
        "x * y",
        backward="d = d_out\nreturn y * d, x * d",
        breaks={
            "small": ("d = d_out", "d = 0.0 if abs(d_out) < 1e-4 else d_out"),
            "large": ("d = d_out", "d = sa.clamp(d_out, -3e4, 3e4)"),
        },
    ),
    A(
        "own_times",
        "x: float; n: int",
        "float",
        "x * x * float(n)",
        backward="g = float(n)\nreturn 2.0 * g * x * d_out",
        breaks={
            "integer": ("g = float(n)", "g = float(n)\nif n == 17:\n    g = 16.0"),
            "mask": ("g = float(n)", "g = float(n & 15)"),
        },
    ),
    A(
        "own_horner",
        "x: float; k: float",
        "float",
        "s = k\nfor i in range(5):\n    s = s * x + k\nreturn s",
        backward="held = sa.Array[float, 5]()\ns = k\nfor i in range(5):\n"
        "    held[i] = s\n    s = s * x + k\n"
        "ds = d_out\ndx = 0.0\ndk = 0.0\nfor i in range(5):\n"
        "    dx += ds * held[4 - i]\n    dk += ds\n    ds = ds * x\n"
        "return dx, dk + ds",
        breaks={
            "stale": ("held[i] = s\n    s = s * x + k", "s = s * x + k\n    held[i] = s"),
            "accumulation": ("dx += ds", "dx = ds"),
            "other_accumulation": ("dk += ds", "dk = ds"),
            "order": ("held[4 - i]", "held[i]"),
            "last": ("return dx, dk + ds", "return dx, dk"),
            "final": ("held[4 - i]", "s"),
            "early": (
                "dx += ds * held[4 - i]\n    dk += ds\n    ds = ds * x",
                "ds = ds * x\n    dx += ds * held[4 - i]\n    dk += ds",
            ),
        },
    ),
    A(
        "own_newton",
        "a: float",
        "float",
        "x = 1.0 + a\nfor i in range(6):\n    x = 0.5 * (x + a / x)\nreturn x",
        {"a": (0.3, 4.0)},
        backward="return d_out * 0.5 / own_newton(a)",
        breaks={"start": ("own_newton(a)", "(1.0 + a)"), "power": ("0.5 / own_newton(a)", "0.5 / a")},
    ),
    A(
        "own_matrix",
        "m: float2x2; v: float2",
        "float2",
        "sa.mul(m, v)",
        backward="return float2x2(d_out.x * v.x, d_out.x * v.y, d_out.y * v.x, d_out.y * v.y), sa.mul(d_out, m)",
        breaks={
            "transposed": ("sa.mul(d_out, m)", "sa.mul(m, d_out)"),
            "transposed_m": ("d_out.x * v.y, d_out.y * v.x", "d_out.y * v.x, d_out.x * v.y"),
            "entry": ("d_out.y * v.y)", "d_out.y * v.x)"),
        },
    ),
    A(
        "own_gather",
        "a: sa.Array[float, 4]; i: int; j: int",
        "float",
        "a[i] * a[j]",
        {"i": (0, 3), "j": (0, 3)},
        backward="g = sa.Array[float, 4]()\ng[i] += d_out * a[j]\ng[j] += d_out * a[i]\nreturn g",
        breaks={
            "accumulation": ("g[j] +=", "g[j] ="),
            "first": ("g[i] += d_out * a[j]\n", ""),
            "index": ("g[j] += d_out * a[i]", "g[i] += d_out * a[i]"),
        },
    ),
    A(
        "own_branch",
        "x: float; y: float",
        "float",
        "if x > 0.5:\n    return x * x * y\nreturn x * y * y",
        backward="if x > 0.5:\n    return 2.0 * x * y * d_out, x * x * d_out\n"
        "return y * y * d_out, 2.0 * x * y * d_out",
        breaks={
            "one_branch": ("x * x * d_out", "x * d_out"),
            "no_branch": ("if x > 0.5", "if x > 9.0"),
            "moved_edge": ("if x > 0.5", "if x > 0.6"),
            "other_branch": ("return y * y * d_out", "return y * d_out"),
        },
    ),
    A(
        "own_direction",
        "v: float3",
        "float3",
        "v / float3(sa.length(v))",
        {"v": (0.2, 1.0)},
        backward="n = sa.length(v)\nu = v / float3(n)\nreturn (d_out - u * float3(sa.dot(u, d_out))) / float3(n)",
        breaks={
            "projection": (" - u * float3(sa.dot(u, d_out))", ""),
            "sign": ("d_out - u", "d_out + u"),
            "norm": ("d_out))) / float3(n)", "d_out)))"),
            "component": ("return (", "u.z = 0.0\nreturn ("),
        },
    ),
    A(
        "own_softmax",
        "v: float4",
        "float4",
        "e = sa.exp(v)\nreturn e / float4(sum(e))",
        backward="e = sa.exp(v)\np = e / float4(sum(e))\nreturn p * (d_out - float4(sa.dot(p, d_out)))",
        breaks={
            "diagonal": (" - float4(sa.dot(p, d_out))", ""),
            "weight": ("return p *", "return e *"),
            "share": ("sa.dot(p, d_out)", "sum(d_out) * 0.25"),
        },
    ),
    A(
        "own_recurrence",
        "x: float; y: float",
        "float",
        "a = x\nb = y\nfor i in range(4):\n    t = a * b\n    b = a + b\n    a = t\nreturn a",
        {"x": (0.3, 0.8), "y": (0.3, 0.8)},
        backward="p = sa.Array[float, 4]()\nq = sa.Array[float, 4]()\na = x\nb = y\nfor i in range(4):\n"
        "    p[i] = a\n    q[i] = b\n"
        "    t = a * b\n    b = a + b\n    a = t\nda = d_out\ndb = 0.0\nfor i in range(4):\n    k = 3 - i\n"
        "    t = da * q[k] + db\n"
        "    db = da * p[k] + db\n    da = t\nreturn da, db",
        breaks={
            "stale": (
                "    t = da * q[k] + db\n    db = da * p[k] + db\n    da = t",
                "    da = da * q[k] + db\n    db = da * p[k] + db",
            ),
            "off_by_one": ("k = 3 - i", "k = 2 - min(i, 2)"),
            "accumulation": ("db = da * p[k] + db", "db = da * p[k]"),
            "swapped": ("return da, db", "return db, da"),
        },
    ),
    A(
        "own_struct",
        "l: Lobe; x: float",
        "float",
        "l.weight * x + l.sharp * x * x",
        backward="return Lobe(sharp=x * x * d_out, weight=x * d_out), (l.weight + 2.0 * l.sharp * x) * d_out",
        breaks={
            "fields": ("sharp=x * x * d_out, weight=x * d_out", "sharp=x * d_out, weight=x * x * d_out"),
            "inner": ("l.weight + 2.0", "2.0"),
            "field": ("weight=x * d_out", "weight=0.0"),
        },
    ),
    A(
        "own_kink",
        "x: float",
        "float",
        "max(x, 0.0) * 3.0",
        backward="return 3.0 * d_out if x > 0.0 else 0.0",
        breaks={"leak": ("else 0.0", "else 0.01 * d_out"), "side": ("x > 0.0 else", "x < 0.0 else")},
    ),
    A(
        "own_both",
        "x: float; y: float",
        "tuple[float, float]",
        "return x * y, x + y * y",
        backward="return y * d_out[0] + d_out[1], x * d_out[0] + 2.0 * y * d_out[1]",
        breaks={"second": ("y * d_out[0] + d_out[1]", "y * d_out[0]"), "seeds": ("x * d_out[0]", "x * d_out[1]")},
    ),
)

POLICIES: tuple[Animal, ...] = (
    A("chosen_slope", "x: float", "float", "max(x, 0.0)", options="derivative=sa.subgradient(at=0.0, value=0.25)"),
    A(
        "differenced",
        "x: float; y: float",
        "float",
        "sa.floor(x) + x * x * y",
        options="derivative=sa.finite_difference(step=0.25)",
    ),
    A(
        "differenced_relative",
        "x: float",
        "float",
        "x * x * x",
        {"x": (1.0, 8.0)},
        options="derivative=sa.finite_difference(step=1e-2, relative=True)",
    ),
    A("passed_through", "v: float3", "float3", "sa.floor(v * 4.0) / 4.0", options="derivative=sa.straight_through()"),
    A(
        "hard_step",
        "x: float",
        "float",
        "1.0 if x > 0.0 else 0.0",
        options="derivative=sa.surrogate(ramp_of)",
        before="@sa.differentiable\ndef ramp_of(x: float) -> float:\n    return x * x * x + x\n\n\n",
    ),
    A("clipped", "x: float; y: float", "float", "10.0 * x * x * y", options="derivative=sa.clip_gradient(2.0)"),
    A(
        "clipped_norm",
        "v: float3; s: float",
        "float",
        "sa.dot(v, float3(3.0, 4.0, 0.0)) * s",
        options="derivative=sa.clip_gradient(norm=2.0)",
    ),
    A("stopped", "x: float; y: float", "float", "x * sa.no_diff(sa.exp(y)) + y"),
    A(
        "stopped_in_loop",
        "x: float",
        "float",
        "s = 0.0\nfor i in range(4):\n    s += x * sa.no_diff(sa.sin(x * i))\nreturn s + x",
    ),
    A(
        "recomputed",
        "x: float; y: float",
        "float",
        "s = x\nfor i in range(5):\n    s = sa.sin(s * y) + x\nreturn s",
        options='prefer="recompute"',
    ),
    A(
        "checkpointed",
        "x: float; y: float",
        "float",
        "s = x\nfor i in range(5):\n    s = sa.cos(s + y) * x\nreturn s",
        options='prefer="checkpoint"',
    ),
)
