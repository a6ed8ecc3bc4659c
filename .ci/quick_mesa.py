"""Make Mesa's Vulkan driver for CPUs with LLVM 19 on Debian 12: ``quick_mesa.py FOLDER`` prints its description's path.

Debian 12's drivers, those of backports too, have LLVM 15, whose time for a kernel grows with the square of its size.
With LLVM 19 tests of devices take half of the time or less. Debian 12 has the package libllvm19. Debian 13 has the
version of Mesa that backports have, with LLVM 19. Only the driver's file is taken from there, and only into the folder:
to install it would replace the machine's libc, and so what g++ and Python are linked with.

The file was linked with a newer libc. All that it needs from there are functions that read numbers, which now read
``0b1`` too. Here they become those of before. What else it lacks shows windows, which no test does: those functions are
looked up when they are called. A driver that needs more is refused.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
NEWER = "__isoc23_"
"""Begins the names of functions of C23 in glibc 2.38. The rest of such a name is the function of before."""
READERS = tuple(NEWER + name for name in ("strtol", "strtoll", "strtoul", "strtoull", "sscanf"))
WEAK = 2
"""The flag of a needed version without which a library is loaded all the same."""
UNVERSIONED = 1
SYMBOL_SIZE = 24


def main() -> None:
    """Download, change and describe the driver."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    folder = Path(sys.argv[1]).absolute()
    _download(folder)
    (driver,) = folder.glob("driver/usr/lib/*/libvulkan_lvp.so")
    (described,) = folder.glob("driver/usr/share/vulkan/icd.d/lvp_icd*.json")
    library = bytearray(driver.read_bytes())
    _use_older_functions(library)
    driver.write_bytes(library)
    description = json.loads(described.read_text())
    description["ICD"]["library_path"] = str(driver)
    described.write_text(json.dumps(description, indent=4) + "\n")
    print(described)


def _download(folder: Path) -> None:
    """Unpack Debian 13's driver. apt has lists of its own here: the machine is never offered a package of Debian 13."""
    which = ("Origin: Debian", "Codename: bookworm", "Component: main")
    command = ("apt-get", "indextargets", "--format", "$(REPO_URI)", *which)
    mirrors = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    if not mirrors:
        sys.exit("this is not Debian 12")
    signed = f"[signed-by={KEYRING}] " if Path(KEYRING).exists() else ""
    (folder / "lists" / "partial").mkdir(parents=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb {signed}{mirrors[0]} trixie main\n")
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    apt = ("apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items()))
    subprocess.run([*apt, "update"], check=True, stdout=sys.stderr)
    subprocess.run([*apt, "download", "mesa-vulkan-drivers"], check=True, stdout=sys.stderr, cwd=folder)
    (package,) = folder.glob("mesa-vulkan-drivers_*.deb")
    subprocess.run(["dpkg-deb", "--extract", package, folder / "driver"], check=True)


def _use_older_functions(library: bytearray) -> None:
    """Let a library for 64 bits, written for a newer glibc, load with this machine's."""
    sections = _sections(library)
    strings = sections[".dynstr"][0]
    newer = set()
    for at, number, name_at in _needed_versions(library, sections[".gnu.version_r"][0]):
        version = _text(library, strings + name_at)
        if version.startswith("GLIBC_") and _numbers(version) > _numbers(os.confstr("CS_GNU_LIBC_VERSION") or ""):
            newer.add(number)
            _write(library, "H", at + 4, _read(library, "H", at + 4)[0] | WEAK)
    start, size = sections[".dynsym"]
    for index in range(size // SYMBOL_SIZE):
        symbol, version_at = start + index * SYMBOL_SIZE, sections[".gnu.version"][0] + 2 * index
        if _read(library, "H", version_at)[0] in newer:
            (offset,) = _read(library, "I", symbol)
            name = _text(library, strings + offset)
            if name not in READERS:
                sys.exit(f"the driver needs {name}, which this machine's libc does not have")
            _write(library, "I", symbol, offset + len(NEWER))
            _write(library, "H", version_at, UNVERSIONED)


def _sections(library: bytearray) -> dict[str, tuple[int, int]]:
    """Return the place and the size of each section."""
    if library[:6] != b"\x7fELF\x02\x01":
        sys.exit("the driver is not a library for 64 bits with the low byte first")
    (table,) = _read(library, "Q", 40)
    size, count, names = _read(library, "HHH", 58)
    headers = [_read(library, "IIQQQQ", table + index * size) for index in range(count)]
    return {_text(library, headers[names][4] + header[0]): (header[4], header[5]) for header in headers}


def _needed_versions(library: bytearray, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield of each version of another library that is needed: its place, its number, and its name's place."""
    following = at
    while following:
        _, count, _, first, following = _read(library, "HHIII", at)
        version = at + first
        for _ in range(count):
            _, _, number, name, step = _read(library, "IHHII", version)
            yield version, number, name
            version += step
        at += following


def _numbers(version: str) -> tuple[int, ...]:
    """Return (2, 38) of both ``GLIBC_2.38`` and ``glibc 2.38``."""
    digits = version.replace("_", " ").rpartition(" ")[2].split(".")
    return tuple(int(part) for part in digits if part.isdigit())


def _text(library: bytearray, at: int) -> str:
    return library[at : library.index(0, at)].decode()


def _read(library: bytearray, fields: str, at: int) -> tuple[int, ...]:
    return struct.unpack_from(f"<{fields}", library, at)


def _write(library: bytearray, field: str, at: int, value: int) -> None:
    struct.pack_into(f"<{field}", library, at, value)


if __name__ == "__main__":
    main()
