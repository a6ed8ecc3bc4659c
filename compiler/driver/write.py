"""The last step of a compile: what was built goes in, files on disk come out; all of them or none.

Adds what only this step can know, since it names files and folders: the manifests and the depfiles.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from slangad.compiler.driver.depfile import depfile_text
from slangad.compiler.driver.manifest import FILE_NAME, Record, input_record, manifest_text, record_text
from slangad.compiler.driver.outputs import Product
from slangad.compiler.driver.write_files import write_files
from slangad.compiler.emit.model import GENERATED
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.toolchain.locate import toolchain_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.driver.compile import Built, Options

Emit = Literal["slang", "ir", "artefacts"]


@dataclass(frozen=True, slots=True)
class Destination:
    """Where files go and which.

    Attributes:
        folder: The output folder; made if need be.
        emit: What is wanted of each input.
        depfile: Where one depfile for all inputs goes besides the one each input gets.
        depfile_targets: What depfiles name as made; all that is written when not given.
    """

    folder: Path
    emit: frozenset[Emit] = frozenset({"slang", "artefacts"})
    depfile: Path | None = None
    depfile_targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """What lies on disk now: paths in the order of writing, and the manifest's records of the inputs."""

    files: tuple[Path, ...]
    inputs: tuple[Record, ...]


def wanted_products(built: Built, emit: frozenset[Emit]) -> list[Product]:
    """The products of an input that are asked for."""
    kinds = {"slang": ("slang", "library"), "artefacts": ("artefact", "reflection"), "ir": ()}
    wanted = {kind for name in emit for kind in kinds[name]}
    products = [product for product in built.products if product.kind in wanted]
    if "ir" in emit and built.unit.module is not None:
        from slangad.compiler.ir.text_form.printer import show

        products.append(Product(f"{built.unit.stem}.ir.txt", show(built.unit.module).encode(), "ir"))
    return products


def deliver(built: Sequence[Built], options: Options, to: Destination) -> Delivery:
    """Write the files of all inputs.

    Raises:
        CompileError: One of them would take the place of a source.
        ToolchainError: They can't be written; what was there before is unchanged.
    """
    toolchain = toolchain_record(options.slangc)
    files: dict[Path, bytes] = {}
    records: list[Record] = []
    texts: list[str] = []
    for one in built:
        products = wanted_products(one, to.emit)
        record = input_record(one.unit, products, one.sources, to.folder)
        manifest = to.folder / f"{one.unit.label}.manifest.json"
        own = {to.folder / product.name: product.data for product in products}
        texts.append(record_text(record))
        own[manifest] = manifest_text(texts[-1:], one.targets, toolchain).encode()
        files |= own
        files[to.folder / f"{one.unit.label}.d"] = _depfile(to, list(own), one.sources)
        records.append(record)
    if to.depfile:
        sources = list(dict.fromkeys(path for one in built for path in one.sources))
        files[to.depfile] = _depfile(to, list(files), sources)
    targets = tuple(dict.fromkeys(target for one in built for target in one.targets))
    files[to.folder / FILE_NAME] = manifest_text(texts, targets, toolchain).encode()
    _spare_sources(built, files)
    write_files(files)
    return Delivery(tuple(files), tuple(records))


def _spare_sources(built: Sequence[Built], files: Iterable[Path]) -> None:
    """Refuse to write over what is compiled, and over Slang that people wrote."""
    sources = {os.path.realpath(path) for one in built for path in one.sources}
    slang = {product.name for one in built for product in one.products if product.kind == "slang"}
    hit = [f"{path} is a source" for path in files if os.path.realpath(path) in sources]
    hit = hit or [f"{path} was not made by slangad" for path in files if path.name in slang and _is_foreign(path)]
    if hit:
        help_ = "choose another output folder with -o, or rename the source"
        raise CompileError([Diagnostic("SA406", f"{what} and would be overwritten", help=help_) for what in hit])


def _is_foreign(path: Path) -> bool:
    """Whether there is a file that the emitter did not write."""
    try:
        with path.open("rb") as file:
            return not GENERATED.encode().startswith(file.read(len(GENERATED)))
    except OSError:
        return False


def _depfile(to: Destination, written: Sequence[Path], sources: Sequence[str]) -> bytes:
    """Makefile rules; paths as a build tool that runs here would write them."""
    targets = to.depfile_targets or [str(path) for path in written]
    return depfile_text(targets, [_from_here(path) for path in sources]).encode()


def _from_here(path: str) -> str:
    """A path relative to the working directory if it lies below, unless it was given otherwise."""
    if not Path(path).is_absolute():
        return path
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(Path.cwd()))
    return path if relative.startswith(os.pardir) else relative
