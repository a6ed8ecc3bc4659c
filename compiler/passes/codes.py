"""What the diagnostics of the passes mean, at length: ``slangad explain SA301``."""

from __future__ import annotations

from typing import Final

from slangad.compiler.diagnostics import Explanation
from slangad.compiler.ir.verify import CODES as _INTERNAL

CODES: Final[dict[str, Explanation]] = {
    "SA301": Explanation(
        "gradient lost at a call",
        "A value that carries gradient is passed to a function that is not differentiated, and the function's result "
        "is used as if it carried gradient too. Slang would silently give a gradient of zero for that path.\n\n"
        "Say what you mean: decorate the function with @sa.differentiable if its body can be differentiated; give it "
        "a derivative= policy (finite_difference, surrogate, straight_through) if it cannot; or wrap the call in "
        "sa.no_diff(...) where the gradient shall end there.",
    ),
    **_INTERNAL,
}
