"""Verify a module in the text form of the IR: ``python -m slangad.compiler.ir.verify FILE``.

It prints what is wrong with it, one line a rule, and exits with 1. ``slangad compile --emit ir`` writes such files.
"""

from __future__ import annotations

import sys
from pathlib import Path

from slangad.compiler.ir.text_form.printer import parse
from slangad.compiler.ir.verify.module import verify


def main(file: str) -> int:
    """Verify a file and return the exit code.

    Raises:
        ReadError: The file holds no module.
    """
    problems = verify(parse(Path(file).read_text(encoding="utf-8")))
    for problem in problems:
        sys.stderr.write(f"{file}: error[{problem.code}]: {problem.message}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
