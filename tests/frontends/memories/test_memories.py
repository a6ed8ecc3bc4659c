"""Programs with every memory become the IR that stands beside them, from Python and from YAML alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from slangad.compiler.frontends import load
from slangad.compiler.ir.text import parse, show
from slangad.compiler.ir.verify import verify

HERE = Path(__file__).resolve().parent / "programs"
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py"))


def shown(name: str) -> str:
    """The text of a program's module, without what tells the two descriptions apart: keys and the source."""
    module = load(Path(name))
    assert [str(d) for d in verify(module)] == []
    text = show(module)
    assert parse(text) == module
    keys = {f.key: f.name for f in module.functions} | {s.struct.key: s.struct.name for s in module.structs}
    for key, plain in sorted(keys.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(f'"{key}" {plain}(', f"{plain}(").replace(f'"{key}"', plain)
    return text.split("\n", 1)[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_memories__python_and_yaml__become_the_golden_ir(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(HERE)
    python, yaml = shown(f"{name}.py"), shown(f"{name}.yaml")
    golden = HERE / f"{name}.ir.txt"
    if request.config.getoption("--update"):
        golden.write_text(python, encoding="utf-8")
    assert python == golden.read_text(encoding="utf-8")
    assert yaml.replace("\n\n", "\n") == python.replace("\n\n", "\n")
