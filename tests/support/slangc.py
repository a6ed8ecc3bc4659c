"""A program that stands in for slangc: it reads slangc's command line and compiles with the library."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import slangad

_STAND_IN = """#!{python}
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from slangad.compiler.toolchain.workers.events import CompilerCall, Front, UnitCode, UnitReflection
from slangad.compiler.toolchain.workers.library import SlangSession
from slangad.compiler.toolchain.locate import find_library
words = sys.argv[1:]
options = dict(zip(words, words[1:]))
targets = tuple(b for a, b in zip(words, words[1:]) if a == "-target")
entries = tuple(b for a, b in zip(words, words[1:]) if a == "-entry")
files = ("-o", "-reflection-json", "-depfile")
arguments = tuple(w for a, w in zip(["", *words], words) if a not in files and w not in files)
status = 0
unit = (0, 0) if len(entries) == 1 else (0, -1)
for event in SlangSession(str(find_library())).compile(CompilerCall(arguments, targets, entries, (unit,))):
    if isinstance(event, Front):
        sys.stderr.write(event.output)
        status |= not event.ok
        Path(options["-depfile"]).write_text("out: " + " ".join(p.replace(" ", "\\\\ ") for p in event.dependencies))
    elif isinstance(event, UnitReflection):
        Path(options["-reflection-json"]).write_text(event.text)
    elif isinstance(event, UnitCode):
        sys.stderr.write(event.output)
        status |= event.data is None
        if event.data is not None:
            Path(options["-o"]).write_bytes(event.data)
sys.exit(status)
"""


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def stand_in(path: Path) -> Path:
    """Write the stand-in."""
    return program(path, _STAND_IN.format(python=sys.executable, root=str(Path(slangad.__file__).parent.parent)))
