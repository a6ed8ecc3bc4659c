"""Express the zoo's kernels and pipelines on arrays, for torch and JAX.

Each function takes the framework's names, ``keep``, and its inputs. ``keep(read, index)`` returns ``read``; in a wrong
case it has a wrong derivative. Threads are the first axis. Elements that several threads read are gathered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _gathered(_, keep, i, w, k):
    return (keep(w[i], i) * w[i] * k,)


def _paired(o, keep, i, j, w):
    return ((w[i] * keep(w[j], j) + o.sin(w[j])).sum(),)


def _vectors(_, keep, i, w, x):
    return (((keep(w[i], i) * x).sum(-1) * w[i][:, 1]).mean(),)


def _table_of_rows(o, keep, i, w):
    total = o.zeros_like(w[i][:, 0])
    for k in range(3):
        total = total + keep(w[i][:, k], o.full_like(i, k)) * (k + 1) * w[i][:, k]
    return (total,)


def _three_points(o, keep, x):
    return (x[:-2] * keep(x[1:-1], o.arange(len(x) - 2)) - 2.0 * x[2:],)


def _edges_held(o, keep, x):
    rows, columns = x.shape
    left = x[:, o.clip(o.arange(columns) - 1, 0, None)]
    below = x[o.clip(o.arange(rows) + 1, None, rows - 1), :]
    return (left * keep(x, o.arange(columns)) + below,)


def _blurred(o, keep, x, k):
    here = x[:-1]
    return (here * k + keep(x[1:], o.arange(len(x) - 1)) * (1.0 - k) * here,)


def _squared_in_place(o, keep, x, k):
    return (o.set_in(x, x * x * keep(k + o.zeros_like(x), o.arange(len(x)))),)


def _added_in_place(o, keep, x, w):
    return (o.add_in(x, keep(o.sin(w), o.arange(len(w))) * w),)


def _clamped_texture(o, keep, uv, t):
    return (keep(_sampled(o, t, uv, _clamped), 0) * 2.0,)


def _clamped_uv(o, keep, uv, t):
    return (_sampled(o, t, keep(uv, 0), _clamped) * uv[:, 0],)


def _repeated_texture(o, keep, uv, t):
    other = _sampled(o, t, uv * 2.0, _repeated)
    return ((other * keep(_sampled(o, t, uv, _repeated), 0)).sum(-1).mean(),)


def _mirrored_uv(o, keep, uv, t):
    return (_sampled(o, t, keep(uv, 0), _mirrored) + t[1, 0],)


def _layer(o, keep, x, w, b):
    total = b
    for j in range(4):
        column = [keep(w[k, j] + o.zeros_like(x[:, k]), o.full_like(o.arange(len(x)), j)) * x[:, k] for k in range(3)]
        total = total + o.relu(sum(column))
    return (total,)


def _summed(o, keep, x, m):
    return (((m[0] * x + keep(m[1] + o.zeros_like(x), 0)) * (m[0] * x + m[2])).sum(),)


def _fused(o, keep, x, k):
    y = keep(o.sin(x), 0) * k + x
    return ((y * y).sum(),)


def _apart(o, keep, x, k):
    return ((keep(o.exp(x * x * k), 0) * k).mean(),)


def _twice(_, keep, x, k):
    y = x
    for _ in range(2):
        y = keep(y * y, 0) * k + 0.5 * y
    return ((y * y * y).sum(),)


def _gathering(_, keep, i, w, k):
    return ((keep(w[i], 0) * w[i] * k * k).sum(),)


def _sampled(o, t, uv, address: Callable):
    """Return a texture's values, linear between the centres of its texels."""
    sizes = t.shape[:2]
    at = [uv[:, 1 - axis] * sizes[axis] - 0.5 for axis in range(2)]
    low = [o.floor(a) for a in at]
    rest = [a - below for a, below in zip(at, low, strict=True)]
    result = 0.0
    for row in range(2):
        for column in range(2):
            places = [
                address(o, o.whole(below) + step, n) for below, step, n in zip(low, (row, column), sizes, strict=True)
            ]
            weight = (rest[0] if row else 1.0 - rest[0]) * (rest[1] if column else 1.0 - rest[1])
            texel = t[places[0], places[1]]
            result = result + (weight[:, None] if texel.ndim > 1 else weight) * texel
    return result


def _clamped(o, at, size: int):
    return o.clip(at, 0, size - 1)


def _repeated(_, at, size: int):
    return at % size


def _mirrored(o, at, size: int):
    folded = at % (2 * size)
    return o.where(folded < size, folded, 2 * size - 1 - folded)


ON_ARRAYS: dict[str, Callable[..., tuple]] = {
    function.__name__[1:]: function
    for function in (
        *(_gathered, _paired, _vectors, _table_of_rows, _three_points, _edges_held, _blurred, _squared_in_place),
        *(_added_in_place, _clamped_texture, _clamped_uv, _repeated_texture, _mirrored_uv, _layer, _summed),
        *(_fused, _apart, _twice, _gathering),
    )
}
FACTORS = {"sign": -1.0, "thousandth": 1.001, "double": 2.0, "missing": 0.0}


def factor(o, kind: str, read, index, *, vectors: bool):
    """Return the factor of a wrong read's derivative: a number, or one per thread."""
    if kind in FACTORS:
        return FACTORS[kind]
    if kind == "branch":
        return o.where((read[..., :1] if vectors else read) > 0.3, 1.25, 1.0)
    of_thread = o.where(index == 1, 1.5, 1.0)
    return of_thread[..., None] if vectors else of_thread
