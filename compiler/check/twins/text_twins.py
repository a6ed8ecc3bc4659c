"""Define twins of the kernels of a Slang file that are built from a changed text of the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.subset import only

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from slangad.compiler.ir.nodes import Module


@dataclass(frozen=True, slots=True)
class TextTwins:
    """Twins from changed texts.

    Attributes:
        module: The module with only their kernels.
        texts: The texts of files for their build, by the names that imports use.
        names: Their names by the kernels that they belong to.
    """

    module: Module
    texts: Mapping[str, str]
    names: Mapping[str, str]

    def reduced_to(self, kernels: Collection[str]) -> TextTwins:
        """Return the twins of some kernels."""
        kept = {self.names.get(kernel, "") for kernel in kernels}
        return replace(self, module=only(self.module, [k for k in self.module.kernels if k.name in kept]))
