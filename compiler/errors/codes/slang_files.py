"""What the diagnostic codes of Slang files mean, at length: SA080 to SA089."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation

CODES: Final[dict[str, Explanation]] = {
    "SA080": Explanation(
        "a Slang file without differentiable functions",
        """A Slang file is compiled for its functions marked [Differentiable], or with derivatives of their own
([BackwardDerivative], [ForwardDerivative]). This one has none. Functions of files it imports or includes don't count:
compile those files. Leave out of the inputs what only helps others.""",
    ),
    "SA081": Explanation(
        "a Slang file none of whose functions can be a kernel",
        """The file has differentiable functions, but each is left out; the notes say why. Parameters and results
must be scalars, vectors, matrices, arrays, or structs of those; generic functions need their arguments:
--specialize 'f<float, 4>'.""",
    ),
    "SA082": Explanation(
        "a part of a Slang module",
        """The file begins with `implementing`: it is a part of a module and has no meaning by itself. Compile the
main file of that module; the functions of its parts are compiled with it.""",
    ),
    "SA083": Explanation(
        "a specialisation that can't be made",
        """--specialize names a generic function with its arguments, as Slang code would: 'f<float, 4>',
'ns.f<half>', or a method of a generic struct: 'Table<float>.look_up'. Slang found no such function, or the arguments do
not fit: their number, their order, or the constraints on them.""",
    ),
    "SA084": Explanation(
        "a function of a Slang file is left out",
        """A note, not an error: the other functions of the file are compiled. It names a function (or some of its
entry points) that is differentiable but has no kernel, and why: a parameter that can't lie in a buffer of elements (a
texture, a buffer, an interface), a generic function without arguments, a derivative that Slang does not have, or an
error of the Slang compiler that concerns this function alone. The manifest lists the same under left_out.""",
    ),
    "SA085": Explanation(
        "a range that can't be read",
        """A comment line above a function says where slangad check draws samples: `// range: x -1 1`. It names a
parameter, or a part of one (m.roughness, v.x, m[0][1]), its lowest and its highest value.""",
    ),
}
