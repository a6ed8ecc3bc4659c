"""The diagnostic codes of Slang files: SA080 to SA087."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation
from slangad.compiler.errors.examples import file, slang

CODES: Final[dict[str, Explanation]] = {
    "SA080": Explanation(
        "a Slang file has no differentiable functions",
        """slangad compiles the functions of a Slang file that are marked [Differentiable] or have a custom derivative
([BackwardDerivative], [ForwardDerivative]). This file has none. Functions of files that it imports or includes don't
count: compile those files. Don't pass files that only contain helpers.""",
        wrong=slang("float f(float x) { return x * x; }"),
        right=slang("[Differentiable] float f(float x) { return x * x; }"),
    ),
    "SA081": Explanation(
        "no function of a Slang file can be a kernel",
        """The file has differentiable functions, but each one is left out; the notes give the reasons. Parameters and
results must be scalars, vectors, matrices, arrays, or structs of those. Generic functions need arguments: --specialize
'f<float, 4>'.""",
        wrong=slang("[Differentiable] float f(Texture2D<float> t, float x) { return x * x; }"),
        right=slang("[Differentiable] float f(float t, float x) { return x * x; }"),
    ),
    "SA082": Explanation(
        "the file is a part of a Slang module",
        """The file begins with `implementing`: it is a part of a module and can't be compiled alone. Compile the main
file of the module. The functions of its parts are compiled with it.""",
        wrong=slang("""
            implementing main;
            [Differentiable] float f(float x) { return x * x; }
        """),
        right=slang("""
            module shade;
            [Differentiable] float f(float x) { return x * x; }
        """),
    ),
    "SA083": Explanation(
        "a specialisation can't be made",
        """--specialize takes a generic function with its arguments, written as in Slang: 'f<float, 4>', 'ns.f<half>',
or a method of a generic struct: 'Table<float>.look_up'. Slang found no such function, or the arguments do not fit:
their number, their order, or the constraints on them.""",
        wrong=slang("[Differentiable] T f<T : __BuiltinFloatingPointType>(T x) { return x * x; }").run(
            "slangad compile shade.slang --specialize 'f<float, 4>'"
        ),
        right=slang("[Differentiable] T f<T : __BuiltinFloatingPointType>(T x) { return x * x; }").run(
            "slangad compile shade.slang --specialize 'f<float>'"
        ),
    ),
    "SA084": Explanation(
        "a function of a Slang file is left out",
        """This is a note: slangad compiles the other functions of the file. It names a differentiable function that
gets no kernel, or not all entry points, and the reason. A parameter may not fit into a buffer of elements (a texture,
a buffer, an interface). A generic function may have no arguments, a derivative may be missing in Slang, or the Slang
compiler may reject this function alone. The manifest lists the same functions under left_out.""",
        wrong=slang("""
            [Differentiable] float f(float x) { return x * x; }
            [Differentiable] float g(Texture2D<float> t, float x) { return x * x; }
        """),
        right=slang("""
            [Differentiable] float f(float x) { return x * x; }
            float g(Texture2D<float> t, float x) { return x * x; }
        """),
    ),
    "SA085": Explanation(
        "a range can't be read",
        """A comment line above a function gives the range from which `slangad check` draws samples: `// check: range x
-1 1`, or `// range: x -1 1`. It names a parameter, or a part of one (m.roughness, v.x, m[0][1]), then the lowest and
the highest value.""",
        wrong=slang("""
            // range: x 0
            [Differentiable] float f(float x) { return x * x; }
        """),
        right=slang("""
            // range: x 0 1
            [Differentiable] float f(float x) { return x * x; }
        """),
    ),
    "SA086": Explanation(
        "an import is found in a parent folder",
        """This is a note. Slang does not find an import or included file in the folder of the importing file, or in a
folder of -I. Exactly one parent folder has it, up to the root of the repository. slangad then searches that folder too,
after all others. To choose the folder yourself, name it with -I, or as `include` in [tool.slangad].""",
        wrong=file("sub/shade.slang", "import math.squares;\n[Differentiable] float f(float x) { return sq(x) * x; }")
        .plus(file("math/squares.slang", "[Differentiable] float sq(float x) { return x * x; }"))
        .run("slangad compile sub/shade.slang"),
        right=file("sub/shade.slang", "import math.squares;\n[Differentiable] float f(float x) { return sq(x) * x; }")
        .plus(file("math/squares.slang", "[Differentiable] float sq(float x) { return x * x; }"))
        .run("slangad compile -I . sub/shade.slang"),
    ),
    "SA087": Explanation(
        "a directive of the check can't be read",
        """A line `// check: …` above a differentiable function of a Slang file, or a key of
`[tool.slangad.check.functions]`, tells `slangad check` what is meant: `range`, `derivative`, `mode`, `tolerance`,
`skip`, `expect fail`, `as shape`. docs/check.md shows each of them. The word is unknown, a word is missing or too many,
the directive is there twice, or the line stands above no differentiable function. The function is checked without the
line, and the line is a failure of its own.""",
        wrong=slang("[Differentiable] float f(float x) { return x * x; }").plus(
            file(
                "pyproject.toml",
                """
                [tool.slangad.check.functions]
                "f" = {derivative = "clipped 1e6"}
            """,
            )
        ),
        right=slang("[Differentiable] float f(float x) { return x * x; }").plus(
            file(
                "pyproject.toml",
                """
                [tool.slangad.check.functions]
                "f" = {derivative = "clip 1e6"}
            """,
            )
        ),
    ),
}
