"""One compile of a watch, in a process of its own: a request comes pickled on stdin, the files to watch go into a file.

Started by ``slangad.cli.watch`` only.
"""

from __future__ import annotations

import json
import pickle
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.cli.console import Session
from slangad.cli.outcome import outcome

if TYPE_CHECKING:
    from slangad.cli.compile import CompileArguments


def main() -> int:
    """Compile as asked and report the files it depends on, also where it failed."""
    arguments, verbosity, color, debug, answer = pickle.load(sys.stdin.buffer)  # noqa: S301  (from our own parent)
    session = Session(verbosity=verbosity, color=color, debug=debug)
    sources: set[str] = set()
    code = outcome(session, lambda: sources.update(_compile(session, arguments)))
    Path(answer).write_text(json.dumps(sorted(sources | imported_files())), encoding="utf-8")
    return code


def _compile(session: Session, arguments: CompileArguments) -> tuple[str, ...]:
    from slangad.cli.compile import compile_once

    return tuple(source for one in compile_once(session, arguments) for source in one.sources)


def imported_files() -> set[str]:
    """Files of the modules this process has imported that are neither Python's, nor installed, nor slangad's."""
    paths = sysconfig.get_paths()
    installed = [Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    own = Path(__file__).resolve().parent.parent
    found = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name.split(".")[0] == "slangad":
            continue
        path = Path(file).resolve()
        if not any(path.is_relative_to(folder) for folder in (*installed, own / "cli")):
            found.add(str(path))
    return found


if __name__ == "__main__":
    sys.exit(main())
