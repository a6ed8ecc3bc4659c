"""The methods that compile and run decorated objects on devices: ``fit.backward(x=…)``, ``shade.grad(…)``.

The rooms that do the work stand above this one. ``slangad/__init__.py`` binds their loaders, and the first call of a
method imports them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self


class Outcome(Protocol):
    """The results of a call: arrays by key (``out["grad.m.albedo"]``), and by name (``out.grad.m.albedo``)."""

    arrays: dict[str, Any]
    grad: Any
    hvp: Any
    jvp: Any
    probe: Any
    outputs: Any

    @property
    def result(self) -> Any:  # noqa: ANN401  (numpy, torch, tuple or arrays by name)
        """The result; an AttributeError if the mode computes none."""

    def __getitem__(self, key: str) -> Any: ...  # noqa: ANN401  (numpy or torch)


class Trained(Protocol):
    """The result of a training."""

    @property
    def parameters(self) -> Any:  # noqa: ANN401  (arrays by name)
        """The trained parameters, by name and as attributes."""

    @property
    def arrays(self) -> Mapping[str, Any]:
        """The trained parameters by key: ``net.l1.w``."""

    @property
    def losses(self) -> tuple[float, ...]:
        """The loss before each step."""

    @property
    def loss(self) -> float:
        """The last loss."""


class CheckedGradients(Protocol):
    """The report of a check."""

    @property
    def ok(self) -> bool:
        """True if no gradient is wrong."""

    @property
    def verdict(self) -> Any:  # noqa: ANN401  (an enumeration of another room)
        """The worst verdict."""

    @property
    def results(self) -> Sequence[Any]:
        """The result of each function and kernel."""


class DrawnGraph(Protocol):
    """A derivative graph."""

    @property
    def svg(self) -> str:
        """The picture."""

    @property
    def dot(self) -> str:
        """The text for Graphviz."""

    @property
    def mermaid(self) -> str:
        """The text for Mermaid."""


class CompiledOutputs(Protocol):
    """Texts and bytes by file name."""

    def __getitem__(self, name: str) -> Any: ...  # noqa: ANN401  (text or bytes)
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def save(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, and return their paths."""


class LoadedObject(Protocol):
    """A kernel or pipeline on a device, as ``sa.load`` gives it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the results."""

    def forward(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the results."""

    def backward(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the gradients."""

    def jvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the change of the results along tangents."""

    def jtjvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the Gauss-Newton product."""

    def hvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the product with the Hessian."""

    def torch(self, device: str = "") -> Callable[..., Any]:
        """Return the function that torch differentiates."""

    def jax(self, device: str = "") -> Callable[..., Any]:
        """Return the function that JAX differentiates."""

    def train(self, *args: Any, **kwargs: Any) -> Trained:  # noqa: ANN401
        """Minimise the result."""


class RunMethods(Protocol):
    """The functions of the room ``api`` for decorated objects."""

    def loaded(self, value: Any, device: str, *, deterministic: bool) -> LoadedObject:  # noqa: ANN401
        """Return a kernel or pipeline on a device."""

    def sampled(self, value: Any, mode: str, args: Sequence[object], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Run a function over arrays of samples."""

    def slang(self, value: Any) -> str:  # noqa: ANN401
        """Return the Slang of an object."""

    def graph(self, value: Any, mode: str, depth: int) -> DrawnGraph:  # noqa: ANN401
        """Return the derivative graph of an object."""

    def compiled(self, value: Any, targets: Sequence[str], options: Mapping[str, Any]) -> CompiledOutputs:  # noqa: ANN401
        """Compile an object for targets."""


class CheckMethods(Protocol):
    """The functions of the room ``check`` for decorated objects."""

    def checked(self, value: Any, options: Mapping[str, Any]) -> CheckedGradients:  # noqa: ANN401
        """Check the gradients of an object."""


_GRADIENTS: Final = ".backward(…) computes gradients"
_OF_RUNNABLES: Final = {
    "grad": _GRADIENTS,
    "gradient": _GRADIENTS,
    "vjp": _GRADIENTS,
    "map": ".forward(…) computes the results",
    "run": ".forward(…) computes the results",
    "fit": ".train(…) trains it",
}
"""Remedies by the names that users try on kernels and pipelines."""
_NEEDS_KERNEL: Final = "write a kernel that calls it"
_OF_FUNCTIONS: Final = {
    "gradient": ".grad(…) computes gradients",
    "vjp": ".grad(…) computes gradients",
    "run": ".map(…) computes values",
    **dict.fromkeys(("train", "fit", "torch", "jax", "compile", "on", "jtjvp"), _NEEDS_KERNEL),
}
"""Remedies by the names that users try on functions."""
_LOADERS: Final[dict[str, Callable[[], object]]] = {}


def bind_methods(run: Callable[[], object], check: Callable[[], object]) -> None:
    """Use the modules that the functions return: ``run`` has the ``RunMethods``, ``check`` the ``CheckMethods``."""
    _LOADERS.update(run=run, check=check)


def _run() -> RunMethods:
    return cast("RunMethods", _LOADERS["run"]())


def _arrived(kernel: LoadedObject) -> LoadedObject:
    """Return a kernel that was pickled."""
    return kernel


class CheckedObject:
    """The common methods of kernels, pipelines and functions."""

    @property
    def slang(self) -> str:
        """Its Slang code, with everything that it uses."""
        return _run().slang(self)

    def graph(self, mode: str = "forward", depth: int = 1) -> DrawnGraph:
        """Return its derivative graph: what carries gradient, what stops it, and why.

        Args:
            mode: ``backward`` for arrows from results to inputs.
            depth: 2 with the functions that it calls, and so on.

        Returns:
            ``.svg``, ``.dot``, ``.mermaid``; a picture in notebooks.
        """
        return _run().graph(self, mode, depth)

    def check(self, **options: Any) -> CheckedGradients:  # noqa: ANN401
        """Check its gradients, as ``slangad check`` does.

        Args:
            **options: ``samples``, ``seed``, ``device``, ``strict``; ``ranges={"x": (0.0, 1.0)}``.

        Returns:
            The report: ``.ok``, ``.verdict``, and a readable form in terminals and notebooks.
        """
        return cast("CheckMethods", _LOADERS["check"]()).checked(self, options)


def _absent(value: object, kind: str, name: str, remedies: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that an object lacks, with the name that it has for the same."""
    remedy = f": {remedies[name]}" if name in remedies else ""
    return AttributeError(f"a {kind} has no attribute {name!r}{remedy}", name=name, obj=value)


class RunnableObject(CheckedObject):
    """The common part of kernels and pipelines. The first call compiles; a later one notices what has changed."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise _absent(self, "kernel or pipeline", name, _OF_RUNNABLES)

    def on(self, device: str = "auto", *, deterministic: bool = False) -> LoadedObject:
        """Return it on a device: cpu, cuda, vulkan, webgpu, or auto for a GPU that works, else the CPU.

        Args:
            device: The device of calls that name none.
            deterministic: Make gradients bitwise repeatable, at the cost of memory and time.

        Raises:
            CompileError: The description is rejected.
        """
        return _run().loaded(self, device, deterministic=deterministic)

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle keeps. A pickled kernel arrives as the compiled program, which runs on devices."""
        return _arrived, (self.on(),)

    def __copy__(self) -> Self:
        """Return itself: like a function, it does not change."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        """Return itself."""
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the results on a device.

        Args:
            *args: Arrays, numbers, structs as mappings or objects; numpy arrays or torch tensors.
            **kwargs: Arguments by name; ``device=`` where, ``domain=`` over what shape.
        """
        return self.on().forward(*args, **kwargs)

    def backward(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the gradients: ``.grad``, and sums and means as ``.result``.

        Args:
            *args: As those of ``forward``.
            **kwargs: The same; ``cotangent=`` of the result (ones by default), ``grad=`` gradients to add to.
        """
        return self.on().backward(*args, **kwargs)

    def jvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the results, and their change along ``tangent=``, a mapping by parameter."""
        return self.on().jvp(*args, **kwargs)

    def jtjvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the Gauss-Newton product of ``tangent=``, a mapping by parameter."""
        return self.on().jtjvp(*args, **kwargs)

    def hvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the product of the Hessian with ``tangent=``, a mapping by parameter: ``.hvp``, and ``.grad``."""
        return self.on().hvp(*args, **kwargs)

    def torch(self, device: str = "auto") -> Callable[..., Any]:
        """Return it as a function of torch tensors that torch differentiates."""
        return self.on(device).torch()

    def jax(self, device: str = "auto") -> Callable[..., Any]:
        """Return it as a function of JAX's arrays, for ``jax.grad``, ``jax.jvp``, ``jax.jit`` and ``jax.vmap``."""
        return self.on(device).jax()

    def train(self, *args: Any, **kwargs: Any) -> Trained:  # noqa: ANN401
        """Minimise the result, as ``slangad train`` does.

        Args:
            *args: The data, and start values of trained parameters; the others start at random.
            **kwargs: The same by name; ``steps=1000``, 0 for the start values; ``batch=0`` for all elements,
                ``optimizer=sa.Adam(lr=0.01)``, ``lr=``, ``until_loss=``, ``seed=0``, ``device=``, ``domain=``,
                ``watch=`` a function of step and loss, ``data=`` a loader of batches, ``distributed=True`` in a rank
                of ``torch.distributed``.

        Returns:
            ``.parameters`` by name, ``.arrays`` by key (``net.l1.w``), ``.losses``, ``.loss``, ``.psnr``.
        """
        return self.on().train(*args, **kwargs)

    def compile(self, *targets: str, **options: Any) -> CompiledOutputs:  # noqa: ANN401
        """Compile it for targets, as ``slangad compile`` does: ``fit.compile("wgsl", "spirv")``.

        Args:
            *targets: Names of targets.
            **options: ``modes=("backward",)``, ``deterministic=True``.

        Returns:
            The outputs by file name, texts and bytes; ``.save(folder)`` writes them.
        """
        return _run().compiled(self, targets, options)


class SampledObject(CheckedObject):
    """Functions over arrays of samples. A parameter with one more axis than its type has one value for each sample."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise _absent(self, "function", name, _OF_FUNCTIONS)

    def map(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Return the value of the function for each sample: ``shade.map(m, np.linspace(0, 1, 1000))``."""
        return _run().sampled(self, "forward", args, kwargs)

    def grad(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the gradients of the sum of the results; ``cotangent=`` weights them.

        Args:
            *args: For each parameter one value, or an array of one value for each sample.
            **kwargs: The same by name; ``device=`` where, ``cotangent=`` the gradient of each result.

        Returns:
            ``.grad`` by parameter: one for each sample, or their sum where a parameter has one value.
        """
        return cast("Outcome", _run().sampled(self, "backward", args, kwargs))

    def jvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the results of samples, and their change along ``tangent=``, a mapping by parameter."""
        return cast("Outcome", _run().sampled(self, "jvp", args, kwargs))

    def hvp(self, *args: Any, **kwargs: Any) -> Outcome:  # noqa: ANN401
        """Compute the product of the Hessian of the sum of the results with ``tangent=``, a mapping by parameter."""
        return cast("Outcome", _run().sampled(self, "hvp", args, kwargs))
