"""Numbers that decide what a check finds: they stand in one table, which the documentation shows."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "compiler" / "check"
NEUTRAL = (0.0, 1.0, 2.0, 0.5)
"""Floats that are no choices: neutral elements, twice and half of something. Signs are apart."""
NOT_TOLERANCES = {
    ("build/double.py", "_SHAPES"): "sizes of the vectors and matrices of Slang",
    ("legs/accumulation.py", "_PLAIN"): "sums of one part into empty buffers",
    ("twins/group_accesses.py", "HEAD"): "layout of a buffer",
    ("twins/group_accesses.py", "PER_ELEMENT"): "layout of a buffer",
    ("verdict/not_run.py", "_DIVIDED"): "exit codes of processes",
    ("subjects/requested_shapes.py", "_EXAMPLES"): "examples in a message",
    ("kept_results.py", "_LEVEL"): "level of compression",
    ("file_threads.py", "_AHEAD"): "tasks that wait for a thread",
    ("file_threads.py", "_PATIENCE"): "seconds between two looks of a thread that waits",
    ("repair/repaired.py", "_SHOWN"): "names in a message",
    ("planning/plans.py", "_SHOWN"): "names in a message",
    ("memory/byte_addresses.py", "_BYTES_OF_WORD"): "bytes of a number of 32 bits",
    ("memory/pointers.py", "_STEPS"): "depth of brackets",
    ("verdict/describe.py", "_NAMED"): "names in a message",
    ("verdict/explain/causes.py", "_SIGNS"): "names in a message",
    ("verdict/explain/locations.py", "_MOST_OTHERS"): "lines in a message",
    ("verdict/explain/steps.py", "_PAIR"): "iterations of the longest loop that is taken for no mean",
    ("twins/one_lane.py", "LANES_OF_WAVE"): "lanes that the library emulates",
    ("build/undefined_values.py", "UNSTORED"): "the bytes of a variable that a C++ compiler fills",
    ("versions.py", "_PATIENCE"): "seconds to wait for the version of a compiler",
}
COEFFICIENTS = {"legs/float32_steps.py": (1.5,), "versions.py": (10.0,)}
"""Coefficients of a polynomial through three values, and seconds to wait for a version."""


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(CHECK.rglob("*.py")):
        if path.name != "tolerances.py":
            yield path.relative_to(CHECK).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def _numbers(node: ast.AST) -> list[float]:
    constants = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return [value for value in constants if isinstance(value, (int, float)) and not isinstance(value, bool)]


def _constants(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def test_tolerances__of_every_entry__have_a_unit_a_meaning_and_a_use() -> None:
    entries = list(tolerances.table())
    names = [entry.name for entry in entries]
    assert len(names) == len(set(names))
    assert set(names) == {name for name in vars(tolerances) if name.isupper() and not name.startswith("_")} - {
        "TYPE_CHECKING"
    }
    text = "\n".join(path.read_text(encoding="utf-8") for path in CHECK.rglob("*.py") if path.name != "tolerances.py")
    own = (CHECK / "tolerances.py").read_text(encoding="utf-8")
    unused = [name for name in names if f"tol.{name}" not in text and own.count(f" {name}") < 1]
    assert not unused


def test_check__of_numbers_in_its_modules__has_none_outside_the_table() -> None:
    found = {
        (file, name)
        for file, module in _modules()
        for name, value in _constants(module.body)
        if _numbers(value) and (file, name) not in NOT_TOLERANCES
    }
    assert not found


def test_check__of_defaults_in_its_classes__has_none_outside_the_table() -> None:
    found = {
        (file, node.name, name)
        for file, module in _modules()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and not any("Enum" in ast.unparse(base) for base in node.bases)
        for name, value in _constants(node.body)
        if isinstance(value, ast.Constant) and any(number not in NEUTRAL for number in _numbers(value))
    }
    assert not found


def test_check__of_floats_in_its_expressions__has_none_outside_the_table() -> None:
    found = {
        (file, number)
        for file, module in _modules()
        for number in _numbers(module)
        if isinstance(number, float) and number not in (*NEUTRAL, *COEFFICIENTS.get(file, ()))
    }
    assert not found


def test_documentation__of_tolerances__is_the_table() -> None:
    assert (ROOT / "docs" / "tolerances.md").read_text(encoding="utf-8") == tolerances.markdown()
