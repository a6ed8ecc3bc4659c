"""Encodings without trained values: positions and directions become inputs of a network."""

from __future__ import annotations

from typing import Any

import slangad as sa
from slangad import Array, float3
from slangad.compiler.lang.types.arrays import ArrayValue
from slangad.compiler.nn.activations import FLOAT_VECTORS, is_row
from slangad.compiler.nn.arguments import check_size, refuse


def Frequency(n_freq: int) -> Any:
    """A function of a float, or of a vector or array of floats: sin(2^k π x) and cos(2^k π x) for each entry and k.

    Args:
        n_freq: The number of frequencies.

    Raises:
        ArgumentError: for anything but 1 to 24 frequencies.
    """
    check_size("Frequency", "n_freq", 0, n_freq, high=24)
    return _FREQUENCIES.setdefault(n_freq, _over_entries(_frequency(n_freq), 2 * n_freq))


def OneBlob(bins: int) -> Any:
    """A function of a float, or of a vector or array of floats: a Gaussian of width 1 / bins at each entry, in bins.

    Args:
        bins: The number of bins of [0, 1].

    Raises:
        ArgumentError: for anything but 1 to 256 bins.
    """
    check_size("OneBlob", "bins", 0, bins, high=256)
    return _BLOBS.setdefault(bins, _over_entries(_one_blob(bins), bins))


_FREQUENCIES: dict[int, Any] = {}
_BLOBS: dict[int, Any] = {}


def _over_entries(encode, width):
    """Make a generic function that encodes each entry of its argument, one after the other."""

    def over(x):
        T = x
        if T is float:
            return encode
        if not is_row(T):
            message = f"{encode.name} takes a float, or a vector or array of floats, not {T.__name__}"
            raise refuse(encode.name, "x", 0, message, "convert it")
        count = T.size if issubclass(T, ArrayValue) else FLOAT_VECTORS.index(T) + 2
        outputs = count * width

        @sa.differentiable
        def each(x: T) -> Array[float, outputs]:
            y = Array[float, outputs]()
            for i in range(count):
                part = encode(x[i])
                for k in range(width):
                    y[i * width + k] = part[k]
            return y

        each.name = encode.emitted_name
        return each

    made = sa.generic(over)
    made.name = made.__name__ = encode.emitted_name
    return made


def _frequency(n_freq):
    outputs = 2 * n_freq

    @sa.differentiable
    def frequency(x: float) -> Array[float, outputs]:
        """The encoding of Mildenhall and others (2020): sines, then cosines."""
        y = Array[float, outputs]()
        angle = 3.14159265359 * x
        for k in range(n_freq):
            y[k] = sa.sin(angle)
            y[n_freq + k] = sa.cos(angle)
            angle *= 2.0
        return y

    return frequency


def _one_blob(bins):
    @sa.differentiable
    def one_blob(x: float) -> Array[float, bins]:
        """The encoding of Müller and others (2019): a Gaussian at x, at the middle of each bin."""
        y = Array[float, bins]()
        for k in range(bins):
            away = (x - (k + 0.5) / bins) * bins
            y[k] = sa.exp(-0.5 * away * away)
        return y

    return one_blob


def SphericalHarmonics(degree: int) -> Any:
    """A function of a unit vector: the real spherical harmonics of all degrees below ``degree``.

    Args:
        degree: 1 to 4, for 1, 4, 9 or 16 values.

    Raises:
        ArgumentError: for other degrees.
    """
    check_size("SphericalHarmonics", "degree", 0, degree, high=4)
    return _harmonics(degree)


def _harmonics(degree):
    outputs = degree * degree

    @sa.differentiable
    def spherical_harmonics(direction: float3) -> Array[float, outputs]:
        """Real spherical harmonics as polynomials, in the order and with the signs of tiny-cuda-nn."""
        x, y, z = direction.x, direction.y, direction.z
        h = Array[float, outputs]()
        h[0] = 0.28209479177387814
        if degree > 1:
            h[1] = -0.48860251190291987 * y
            h[2] = 0.48860251190291987 * z
            h[3] = -0.48860251190291987 * x
        if degree > 2:
            h[4] = 1.0925484305920792 * x * y
            h[5] = -1.0925484305920792 * y * z
            h[6] = 0.94617469575755997 * z * z - 0.31539156525251999
            h[7] = -1.0925484305920792 * x * z
            h[8] = 0.54627421529603959 * (x * x - y * y)
        if degree > 3:
            h[9] = 0.59004358992664352 * y * (y * y - 3.0 * x * x)
            h[10] = 2.8906114426405538 * x * y * z
            h[11] = 0.45704579946446572 * y * (1.0 - 5.0 * z * z)
            h[12] = 0.3731763325901154 * z * (5.0 * z * z - 3.0)
            h[13] = 0.45704579946446572 * x * (1.0 - 5.0 * z * z)
            h[14] = 1.4453057213202769 * z * (x * x - y * y)
            h[15] = 0.59004358992664352 * x * (3.0 * y * y - x * x)
        return h

    return spherical_harmonics
