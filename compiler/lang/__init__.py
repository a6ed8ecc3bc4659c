"""The words users import as ``sa``, and Python execution of described functions.

In reading order, lowest first; imports point to earlier rooms only:

- ``errors.py``: the exceptions of the other files.
- ``activation.py``: the current thread and the probes it reached.
- ``intrinsics/``: the table of intrinsics, one row per function.
- ``types/``: annotations, values and their operators.
- ``decorators/``: decorators, policies, and the words for derivatives and loops.
- ``execution/``: Python execution of decorated objects, loaded by the first run.
- ``public.py``: every ``sa.X``.
"""

from __future__ import annotations

from functools import lru_cache

from slangad.compiler.lang.decorators.python_execution import PythonExecution, bind


@lru_cache(maxsize=1)
def _python_execution() -> PythonExecution:
    from slangad.compiler.lang.execution import bins, differentiate, groups, launch, run

    return PythonExecution(
        run.call_from_host,
        launch.launch,
        differentiate.backward,
        differentiate.forward,
        differentiate.make_pair,
        differentiate.cut,
        bins.bin_in_python,
        groups.memory,
    )


bind(_python_execution)
