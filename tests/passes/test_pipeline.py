"""The passes together: their order, dumps, what they refuse, and that their defects do not go unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from slangad.compiler.errors.codes.passes import CODES
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.verify.module import InvalidModule
from slangad.compiler.passes import run_passes
from slangad.compiler.passes.order import PASS_NAMES

DESCRIBED = Path(__file__).parents[1] / "emit" / "described"


def test_run_passes__dump__sees_every_pass_in_order() -> None:
    seen: list[str] = []
    run_passes(parse('module m from "m.py"'), lambda name, module: seen.append(name))
    assert tuple(seen) == PASS_NAMES
    assert PASS_NAMES[:2] == ("forward_mode", "fusion")
    assert PASS_NAMES[-1] == "declare"


@pytest.mark.parametrize("file", sorted(DESCRIBED.glob("*.py")), ids=lambda f: f.stem)
def test_run_passes__every_intermediate_module__reads_back(file: Path) -> None:
    def check(name: str, module: object) -> None:
        assert parse(show(module)) == module, name  # type: ignore[arg-type]  # a module

    run_passes(load(file), check)


def test_run_passes__broken_module__is_a_defect_that_names_the_pass() -> None:
    module = parse('module m from "m.py" function f f(x: float) -> int { return x }')
    with pytest.raises(InvalidModule, match=r"after the front end: \[SA901\].*returns float, not int"):
        run_passes(module)


def test_activity__gradient_into_a_plain_function__is_refused_with_help() -> None:
    module = parse("""module m from "m.py"
function table lookup(x: float) -> float not_differentiable { return x }
function f f(x: float) -> float locals y: float { set y = (x * 2.0) return call table(y) }""")
    with pytest.raises(CompileError) as caught:
        run_passes(module)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SA301"
    assert "'lookup' is not differentiated" in diagnostic.message
    assert "sa.no_diff" in diagnostic.help
    assert diagnostic.code in CODES


@pytest.mark.parametrize(
    "body",
    [
        "return call table(k)",
        "return no_diff(call table(x))",
        "return call table(cast float(cast int(x)))",
        "if (call bucket(x) > 1) { return x } return 1.0",
    ],
)
def test_activity__call_without_gradient__is_fine(body: str) -> None:
    module = parse(f"""module m from "m.py"
function table table(x: float) -> float not_differentiable {{ return x }}
function bucket bucket(x: float) -> int not_differentiable {{ return cast int(x) }}
function f f(x: float, no_diff k: float) -> float {{ {body.replace("bucket(x)", "bucket(x)::int")} }}""")
    run_passes(module)
