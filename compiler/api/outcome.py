"""The result of a call: arrays by key and by name, readable in terminals and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slangad.compiler.errors.diagnostics import nearest_of
from slangad.compiler.runtime.arrays.array_keys import HVP
from slangad.compiler.runtime.arrays.flatten import nested
from slangad.compiler.runtime.arrays.summary import as_numpy, rows, table

if TYPE_CHECKING:
    from slangad.compiler.runtime.arrays.signature import KernelSignature


class Named(dict[str, Any]):
    """Values by name, as items and as attributes: ``grad["m"]["albedo"]``, ``grad["m.albedo"]``, ``grad.m.albedo``."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (numpy, torch or Named)
        if name in self:
            return self[name]
        raise AttributeError(f"there is no {name}; {nearest_of(name, map(str, self))}")

    def __missing__(self, key: object) -> Any:  # noqa: ANN401  (numpy, torch or Named)
        found = self._below(key)
        if found is self:
            names = [".".join(map(str, path)) for path in self._paths()]
            raise KeyError(f"there is no {key}; {nearest_of(str(key), names)}")
        return found

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._below(key) is not self

    def __setitem__(self, key: str, value: object) -> None:
        """Set the value of a name; dots lead to the parts of another value."""
        owner, _, name = str(key).rpartition(".")
        inner = self._below(owner) if owner else self
        if isinstance(inner, Named) and inner is not self:
            inner[name] = value
        else:
            super().__setitem__(key, value)

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401  (numpy, torch or Named)
        """Return the value of a name, which may have dots."""
        found = super().get(key, self._below(key))
        return default if found is self else found

    def _below(self, key: object) -> Any:  # noqa: ANN401  (numpy, torch or Named)
        """Return the value of a name with dots; this object itself if there is none."""
        found: Any = self
        for name in key.split(".") if isinstance(key, str) else ():
            known = {str(k): k for k in found} if isinstance(found, Named) else {}
            if name not in known:
                return self
            found = dict.__getitem__(found, known[name])
        return found

    def _paths(self) -> Iterator[tuple[object, ...]]:
        """Yield the path of every value that has no names itself."""
        for name, value in self.items():
            inner = value._paths() if isinstance(value, Named) else [()]
            yield from ((name, *path) for path in inner)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(str, self)]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Named:
        """Return nested mappings as nested names."""
        return cls({k: cls.of(v) if isinstance(v, Mapping) else v for k, v in values.items()})


class Outcome(Mapping[str, Any]):
    """The results of a call: arrays by key, as files have them (``grad.m.albedo``), and nested by name.

    Attributes:
        arrays: The arrays by key.
        result: The result; a tuple of them where there are several, each at its place, None for one that the mode
            doesn't give; structs by field.
        grad: Gradients by parameter; of structs by field.
        hvp: Products with the Hessian, by parameter.
        jvp: How the results change along the tangents, by result.
        probe: Gradients of intermediate values by the probe's name.
        outputs: Tensors that were written, by parameter.
    """

    def __init__(self, arrays: Mapping[str, Any], signature: KernelSignature) -> None:
        self.arrays = dict(arrays)
        self._signature = signature

    @cached_property
    def grad(self) -> Named:
        """Gradients by parameter; of structs by field."""
        return Named.of(nested(self._below("grad."), self._signature.parameters))

    @cached_property
    def hvp(self) -> Named:
        """Products with the Hessian, by parameter."""
        return Named.of(nested(self._below(HVP), self._signature.parameters))

    @cached_property
    def jvp(self) -> Named:
        """Changes of the results along the tangents, by result."""
        return Named.of(nested(self._below("jvp."), self._signature.values))

    @cached_property
    def probe(self) -> Named:
        """Gradients of intermediate values by the probe's name."""
        return Named.of(self._below("probe."))

    @cached_property
    def outputs(self) -> Named:
        """Tensors that were written, by parameter."""
        by_name = self._plain
        return Named({v.name: by_name[v.name] for v in self._signature.parameters if v.name in by_name})

    @property
    def result(self) -> Any:  # noqa: ANN401  (numpy, torch, tuple or Named)
        """Return the result.

        Raises:
            AttributeError: The mode gives none, as backward of a kernel without sums, and hvp.
        """
        results = [self._plain.get(value.name) for value in self._signature.results]
        if results and all(result is None for result in results):
            given = ", ".join(self.arrays) or "nothing"
            raise AttributeError(f"this call computes no result, only {given}: .forward(…) gives the result")
        single = [value.name for value in self._signature.results] == ["result"]
        return results[0] if single else tuple(results) or None

    @cached_property
    def _plain(self) -> Named:
        """The results and the tensors that were written, by name."""
        prefixes = ("grad.", "jvp.", "probe.", HVP)
        plain = {key: array for key, array in self.arrays.items() if not key.startswith(prefixes)}
        return Named.of(nested(plain, self._signature.values))

    def _below(self, prefix: str) -> dict[str, Any]:
        return {key.removeprefix(prefix): array for key, array in self.arrays.items() if key.startswith(prefix)}

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  (numpy or torch)
        if key not in self.arrays:
            raise KeyError(f"there is no {key}; {nearest_of(key, self.arrays)}")
        return self.arrays[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        return "\n".join(table({key: as_numpy(array) for key, array in self.arrays.items()}))

    def _repr_html_(self) -> str:
        from slangad.compiler.report.notebook import html_table

        return html_table(("array", "type", "values"), rows({k: as_numpy(a) for k, a in self.arrays.items()}))
