"""The codes of what can be wrong before and after the compiling itself: inputs, their names, and what gets written."""

from __future__ import annotations

from typing import Final

from slangad.compiler.diagnostics import Explanation

CODES: Final[dict[str, Explanation]] = {
    "SA401": Explanation(
        "two inputs of one name",
        """Every file written for an input starts with the input's stem: brdf.py gives brdf.slang, brdf.manifest.json
and so on. Two inputs of one stem would overwrite each other's files (also where they differ only in case, since many
file systems don't tell those apart). Rename one, or compile them in two runs with different output folders.""",
    ),
    "SA402": Explanation(
        "two kernels of one name",
        """Kernels are looked up by name by the program that launches them, so one run compiles every name once. Rename
one of the two kernels, or compile the two inputs in two runs with different output folders.""",
    ),
    "SA403": Explanation(
        "no kernel of this name",
        """FILE:NAME compiles one kernel of the file, and the file has no @sa.kernel of that name. The message lists
those it has. Kernels made by a factory carry the factory's arguments in their name.""",
    ),
    "SA404": Explanation(
        "two products of one file name",
        """Two of the files to be written have the same name, for example because an input is called like the library
module that emitted Slang imports. Rename the input.""",
    ),
    "SA405": Explanation(
        "the outputs can't be written",
        """The output folder can't be created or written, or the disk is full. Files of one run are written beside their
destination first and renamed at the end, so what was there before is unchanged.""",
    ),
    "SA406": Explanation(
        "an output would overwrite a source",
        """One of the files to be written has the name and place of a file that is compiled, imported or included, for
example because the output folder is the folder of the sources. Choose another output folder, or rename the source.
Nothing was written.""",
    ),
    "SA306": Explanation(
        "pyproject.toml can't be read",
        """The settings of a project stand in [tool.slangad] of the nearest pyproject.toml, and that file can't be read
or is not TOML.""",
    ),
    "SA307": Explanation(
        "a pattern without inputs",
        """A pattern under inputs in [tool.slangad] matches no file. Patterns are relative to the folder of
pyproject.toml; * and ? stand for characters of a name, ** for any folders. Files that slangad can't compile, those that
exclude names and those in the output folder are left out.""",
    ),
}
