"""What the diagnostics of the passes mean, at length: ``slangad explain SA301``."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation

CODES: Final[dict[str, Explanation]] = {
    "SA301": Explanation(
        "gradient lost at a call",
        "A value that carries gradient is passed to a function that is not differentiated, and the function's result "
        "is used as if it carried gradient too. Slang would silently give a gradient of zero for that path.\n\n"
        "Say what you mean: decorate the function with @sa.differentiable if its body can be differentiated; give it "
        "a derivative= policy (finite_difference, surrogate, straight_through) if it cannot; or wrap the call in "
        "sa.no_diff(...) where the gradient shall end there.",
    ),
    "SA900": Explanation(
        "slangad built an invalid module",
        "A front end or pass of slangad made something that its own rules forbid: a key that names nothing, two "
        "functions with one key, a function that calls a later one. This is a defect of slangad: please report it "
        "with the file that causes it.",
    ),
    "SA901": Explanation(
        "slangad mixed up types",
        "An expression inside slangad has operands whose types do not agree. This is a defect of slangad: please "
        "report it with the file that causes it.",
    ),
    "SA902": Explanation(
        "slangad lost track of a local variable",
        "A local is used where it is not declared, or assigned where it cannot be. This is a defect of slangad: please "
        "report it with the file that causes it.",
    ),
    "SA903": Explanation(
        "slangad built an invalid derivative",
        "The parameters or result of a generated or described derivative do not fit its function. This is a defect of "
        "slangad: please report it with the file that causes it.",
    ),
    "SA904": Explanation(
        "slangad built an invalid kernel",
        "A kernel does not fit the function each of its threads runs. This is a defect of slangad: please report it "
        "with the file that causes it.",
    ),
    "SA905": Explanation(
        "slangad built an invalid pipeline",
        "A pipeline calls a kernel that is not there, or with values that do not fit. This is a defect of slangad: "
        "please report it with the file that causes it.",
    ),
}
