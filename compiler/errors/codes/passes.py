"""The diagnostic codes of the passes: SA301 to SA310, and SA900 to SA905 for defects of slangad."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation
from slangad.compiler.errors.examples import Example, file, python

_DEFECT: Final = """This is a defect of slangad. Please report it with the file that causes it.

No file of yours should give this code. The example is a module in the text form that `slangad compile --emit ir`
writes."""


def _ir(text: str) -> Example:
    """Return an example in the text form of the IR."""
    return file("shade.ir.txt", 'module shade from "shade.py"\n\n' + text.replace("\n" + " " * 12, "\n").strip()).run(
        "python -m slangad.compiler.ir.verify shade.ir.txt"
    )


_HALF: Final = """
            function half half(x: float) -> float
            {
                return (x * 0.5)
            }
"""
_KERNEL: Final = """
            kernel shade half dims 1 group (64) {
                param x: each float
                result "result": each float
            }
"""

CODES: Final[dict[str, Explanation]] = {
    "SA301": Explanation(
        "the gradient is lost at a call",
        """A value with a gradient is passed to a function that is not differentiated, and the result is used where a
gradient is expected. Slang would silently compute a gradient of zero for this path.

Decide what the gradient should be. Decorate the function with @sa.differentiable if its body can be differentiated.
Give it a derivative= policy (finite_difference, surrogate, straight_through) if it can't. Or wrap the call in
sa.no_diff(...) if the gradient should end there.""",
        wrong=python("""
            @sa.function
            def weight(x: float) -> float:
                return x * 0.5


            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                return x * weight(x)
        """),
        right=python("""
            @sa.function
            def weight(x: float) -> float:
                return x * 0.5


            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                return x * sa.no_diff(weight(x))
        """),
    ),
    "SA900": Explanation(
        "slangad built an invalid module",
        "A front end or pass of slangad violated the rules of the IR. For example, a key names nothing, two functions "
        f"have the same key, or a function calls a later one. {_DEFECT}",
        wrong=_ir(_HALF + _HALF),
        right=_ir(_HALF),
    ),
    "SA901": Explanation(
        "slangad mixed up types",
        f"The operands of an expression of the IR have types that do not agree. {_DEFECT}",
        wrong=_ir("""
            function count count(x: float) -> int
            {
                return (x * 2.0)
            }
        """),
        right=_ir("""
            function count count(x: float) -> int
            {
                return cast int((x * 2.0))
            }
        """),
    ),
    "SA902": Explanation(
        "slangad lost track of a local variable",
        f"The IR uses a local where it is not declared, or assigns it where it can't be assigned. {_DEFECT}",
        wrong=_ir("""
            function shade shade(x: float) -> float
            {
                set (x * 2.0) = x
                return x
            }
        """),
        right=_ir("""
            function shade shade(x: float) -> float
                locals y: float
            {
                set y = (x * 2.0)
                return y
            }
        """),
    ),
    "SA903": Explanation(
        "slangad built an invalid derivative",
        f"The parameters or the result of a derivative in the IR do not fit its function. {_DEFECT}",
        wrong=_ir(
            _HALF
            + """
            function half_bwd half_bwd(x: float) -> float
                not_differentiable
                role backward "half"
            {
                return (x * 0.5)
            }
        """
        ),
        right=_ir(
            _HALF
            + """
            function half_bwd half_bwd(x: float, d_out: float) -> float
                not_differentiable
                role backward "half"
            {
                return (d_out * 0.5)
            }
        """
        ),
    ),
    "SA904": Explanation(
        "slangad built an invalid kernel",
        f"A kernel of the IR does not fit the function that its threads run. {_DEFECT}",
        wrong=_ir(_KERNEL),
        right=_ir(_HALF + _KERNEL),
    ),
    "SA905": Explanation(
        "slangad built an invalid pipeline",
        f"A pipeline of the IR calls a kernel that does not exist, or with values that do not fit. {_DEFECT}",
        wrong=_ir(
            _HALF
            + _KERNEL
            + """
            pipeline both {
                param x: each float
                stage blur(x) -> y
                result "result": each float of y
            }
        """
        ),
        right=_ir(
            _HALF
            + _KERNEL
            + """
            pipeline both {
                param x: each float
                stage shade(x) -> y
                result "result": each float of y
            }
        """
        ),
    ),
    "SA308": Explanation(
        "a loop can't do what keep= or inverse= asks",
        """keep= of sa.range says what reverse mode keeps of a loop. keep=0 keeps nothing: the state before an iteration
is computed from the state after it. That needs updates that can be undone: x += e, where e does not read x, or x *= e
in a loop that ends when x falls below a positive constant. Any keep= needs a loop that does not store into a
tensor and does not return from a loop inside it. The function of inverse= returns the earlier values of those of its
parameters that an iteration changes, and these must include all that the derivative of an iteration needs.

Give a positive keep=, such as 16, or leave keep= and inverse= out: slangad then chooses.""",
        wrong=python("""
            @sa.kernel
            def march(x: Each[float]) -> Each[float]:
                s = x
                for k in sa.range(100, keep=0):
                    s = sa.sin(s + k)
                return s
        """),
        right=python("""
            @sa.kernel
            def march(x: Each[float]) -> Each[float]:
                s = x
                for k in sa.range(100, keep=10):
                    s = sa.sin(s + k)
                return s
        """),
    ),
    "SA309": Explanation(
        "a gradient can't be added up in a fixed order",
        """The gradient of an element of Shared memory is added up in the group's memory, by the threads that read it,
in any order. --deterministic wants the same bits on every run. group_sum, group_scan, group_max and group_min compute
in a fixed order, and so do their derivatives. Ints in Shared memory have no gradient.""",
        wrong=python("""
            @sa.kernel(group_size=(64,))
            def shade(x: Each[float]) -> Each[float]:
                row = sa.Shared[float, 64]()
                k = sa.thread_id() % 64
                row[k] = x * x
                sa.barrier()
                return row[0] * x
        """).run("slangad compile --deterministic shade.py"),
        right=python("""
            @sa.kernel(group_size=(64,))
            def shade(x: Each[float]) -> Each[float]:
                first = sa.thread_id() % 64 == 0
                return sa.group_sum(x * x if first else 0.0) * x
        """).run("slangad compile --deterministic shade.py"),
    ),
    "SA310": Explanation(
        "a group does not run a loop together",
        """This is a note: results are the same. sa.group_range asks the groups of a kernel to run a loop for a whole
tile, and to read once what its elements share. Here each thread reads for itself, for the reason in the message. "Loops
over what a tile shares" in docs/language.md lists what such a loop needs. Change the loop or the kernel, or write
sa.range.""",
        wrong=python("""
            @sa.kernel(dims=2)
            def shade(place: Tensor[float, 1], heat: Tensor[float, 1], n: Uniform[int]) -> Each[float]:
                total = 0.0
                first = sa.thread_id(0) // 2
                for k in sa.group_range(n, max_iters=64):
                    total += heat[first + k] * sa.exp(place[first + k] - sa.thread_id(1))
                return total
        """),
        right=python("""
            @sa.kernel(dims=2)
            def shade(place: Tensor[float, 1], heat: Tensor[float, 1], n: Uniform[int]) -> Each[float]:
                total = 0.0
                first = sa.thread_id(0) // 16
                for k in sa.group_range(n, max_iters=64):
                    total += heat[first + k] * sa.exp(place[first + k] - sa.thread_id(1))
                return total
        """),
    ),
}
