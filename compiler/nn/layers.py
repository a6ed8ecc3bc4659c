"""Fully connected layers, and networks of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import slangad as sa
from slangad import Array
from slangad.compiler.lang.decorators.factories import name_part
from slangad.compiler.lang.decorators.source import remember_source
from slangad.compiler.nn.activations import activation_of
from slangad.compiler.nn.arguments import check_size, precision_of, refuse, storage_of
from slangad.compiler.nn.initialisers import BY_ACTIVATION, WeightShape, biases_of, initialiser_of, weights_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.ir.distributions import Distribution


def Linear(
    inputs: int,
    outputs: int,
    bias: bool = True,
    storage: object = float,
    precision: str = "float",
    init: object = BY_ACTIVATION,
) -> Any:
    """A fully connected layer: y[i] = b[i] + sum over j of w[i][j] x[j], from ``inputs`` to ``outputs`` floats.

    Args:
        inputs: The length of x.
        outputs: The length of y.
        bias: False to omit ``b``.
        storage: ``float``, or ``sa.half`` to keep ``w`` and ``b`` in half. Sums and cotangents are always in float.
        precision: ``half`` if w and x may be rounded to half, each x scaled into its range: where the target has matrix
            units. Elsewhere products are of floats. Sums are always in float.
        init: The values of ``w`` when training starts: a name of ``INITIALISERS``, a range ``(low, high)``, or
            ``normal(deviation)``. ``b`` starts at 0, and with ``siren`` at random.

    Raises:
        ArgumentError: for sizes that are no positive integers, other storages, other precisions and unknown
            initialisers.
    """
    check_size("Linear", "inputs", 0, inputs)
    check_size("Linear", "outputs", 1, outputs)
    if not isinstance(bias, bool):
        raise refuse("Linear", "bias", 2, f"bias of Linear is {bias!r}", "True or False")
    number, factors = storage_of("Linear", 3, storage), precision_of("Linear", 4, precision)
    make = _linear if bias else _linear_without_bias
    return make(inputs, outputs, number, factors, initialiser_of("Linear", 5, init))


def _linear(inputs, outputs, storage=float, precision="float", init=BY_ACTIVATION):
    shape = WeightShape(inputs, outputs)

    @sa.struct(initial={"w": weights_of(init, shape), "b": biases_of(init, shape)})
    class Linear:
        """A fully connected layer; row i of ``w`` gives output i."""

        w: Array[Array[storage, inputs], outputs]
        b: Array[storage, outputs]

        # without intermediate sums kept for the backward pass, kernels compile three times as fast
        @sa.differentiable(prefer="recompute", precision=precision)
        def __call__(self, x: Array[float, inputs]) -> Array[float, outputs]:
            y = Array[float, outputs]()
            for i in range(outputs):
                total = float(self.b[i])
                for j in range(inputs):
                    total += float(self.w[i][j]) * x[j]
                y[i] = total
            return y

    return Linear


def _linear_without_bias(inputs, outputs, storage=float, precision="float", init=BY_ACTIVATION):
    @sa.struct(initial={"w": weights_of(init, WeightShape(inputs, outputs))})
    class LinearNoBias:
        """A fully connected layer without bias; row i of ``w`` gives output i."""

        w: Array[Array[storage, inputs], outputs]

        # without intermediate sums kept for the backward pass, kernels compile three times as fast
        @sa.differentiable(prefer="recompute", precision=precision)
        def __call__(self, x: Array[float, inputs]) -> Array[float, outputs]:
            y = Array[float, outputs]()
            for i in range(outputs):
                total = 0.0
                for j in range(inputs):
                    total += float(self.w[i][j]) * x[j]
                y[i] = total
            return y

    return LinearNoBias


_NETWORKS: Final[dict[object, type]] = {}
_MLP: Final = '''\
@sa.struct(initial=initial)
class {name}:
    """A network of fully connected layers: {sizes}."""

{fields}

    def __call__(self, x: Array[float, {inputs}]) -> Array[float, {outputs}]:
{steps}
'''


def MLP(
    sizes: Sequence[int],
    activation: object = "relu",
    output: object = "none",
    bias: bool = True,
    storage: object = float,
    precision: str = "float",
    init: object = BY_ACTIVATION,
) -> Any:
    """A network of fully connected layers ``l1``, ``l2``, …, one for each pair of neighbouring sizes.

    Args:
        sizes: The lengths of the input, the hidden layers and the output: ``[16, 64, 64, 3]``.
        activation: After each layer but the last: a name of ``ACTIVATIONS``, or a described function of a float.
        output: After the last layer.
        bias: False for layers without ``b``.
        storage: ``float`` or ``sa.half``, as in ``Linear``.
        precision: ``float`` or ``half``, as in ``Linear``.
        init: The values of all layers when training starts, as in ``Linear``.

    Raises:
        ArgumentError: for fewer than two sizes, sizes that are no positive integers, unknown activations and unknown
            initialisers.
    """
    if not isinstance(sizes, (tuple, list)) or len(sizes) < 2:
        raise refuse("MLP", "sizes", 0, f"sizes of MLP is {sizes!r}", "input, hidden and output sizes: [16, 64, 3]")
    for size in sizes:
        check_size("MLP", "sizes", 0, size)
    inner = activation_of("MLP", "activation", 1, activation)
    last = activation_of("MLP", "output", 2, output)
    if not isinstance(bias, bool):
        raise refuse("MLP", "bias", 3, f"bias of MLP is {bias!r}", "True or False")
    number = storage_of("MLP", 4, storage)
    factors = precision_of("MLP", 5, precision)
    start = initialiser_of("MLP", 6, init)
    key = (tuple(sizes), inner, last, bias, number, factors, start)
    if key not in _NETWORKS:
        _NETWORKS[key] = _network(tuple(sizes), inner, last, bias, number, factors, start)
    return _NETWORKS[key]


def _network(
    sizes: tuple[int, ...], inner: Any, last: Any, bias: bool, number: type, precision: str, init: str | Distribution
) -> type:
    """Return the struct of a network, whose text depends on the number of layers."""
    pairs = [*pairwise(sizes)]
    count = len(pairs)
    functions = [*([inner] * (count - 1)), last]
    names: dict[str, object] = {"sa": sa, "Array": Array, "__name__": __name__, "initial": {}}
    fields, steps, value, initial = [], [], "x", {}
    for k, ((inputs, outputs), function) in enumerate(zip(pairs, functions, strict=True), start=1):
        names[f"Layer{k}"] = Linear(inputs, outputs, bias, number, precision)
        shape = WeightShape(inputs, outputs, getattr(function, "name", ""), is_first=k == 1)
        initial[f"l{k}.w"] = weights_of(init, shape)
        if bias:
            initial[f"l{k}.b"] = biases_of(init, shape)
        fields.append(f"    l{k}: Layer{k}")
        value = f"self.l{k}({value})"
        if function is not None:
            names[f"{function.name}"] = function
            value = f"{function.name}({value})"
        steps.append(f"        return {value}" if k == count else f"        h{k} = {value}")
        value = f"h{k}"
    names["initial"] = initial
    words = [*map(str, sizes), *([inner.name] if inner is not None and count > 1 else [])]
    words += [last.name] if last is not None else []
    words += [*([] if bias else ["no_bias"]), *([] if number is float else [number.__name__])]
    words += [] if precision == "float" else [f"in_{precision}"]
    words += [] if init == BY_ACTIVATION else [name_part(init)]
    name = "_".join(("MLP", *words))
    text = _MLP.format(
        name=name, sizes=" - ".join(map(str, sizes)), fields="\n".join(fields), inputs=sizes[0], outputs=sizes[-1],
        steps="\n".join(steps),
    )  # fmt: skip
    path = str(Path(__file__).with_name(f"{name}.py"))
    remember_source(path, text)
    exec(compile(text, path, "exec", dont_inherit=True), names)  # noqa: S102  (the text above)
    made = names[name]
    assert isinstance(made, type)  # noqa: S101  (the class of the text)
    return made
