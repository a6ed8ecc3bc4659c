"""docs/yaml.md: it names every key of the format, and its examples are descriptions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.frontends import load
from slangad.compiler.frontends.yaml.networks import FACTORIES, LAYER
from slangad.compiler.frontends.yaml.sections import FUNCTION, KERNEL, METHOD, ROOT
from slangad.compiler.frontends.yaml.shape import Record
from slangad.compiler.passes import run_passes

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "yaml.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("record", [ROOT, FUNCTION, METHOD, KERNEL], ids=lambda r: r.what)
def test_docs__of_the_format__name_every_key(record: Record) -> None:
    assert [key.name for key in record.keys if f"`{key.name}" not in TEXT] == []


def test_docs__first_example__is_a_description(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    path = tmp_path / "example.yaml"
    path.write_text(example[1], encoding="utf-8")
    module = load(path)
    assert (module.name, [kernel.name for kernel in module.kernels]) == ("tone_map", ["fit"])


def test_docs__example_of_networks__gives_the_slang_of_the_page(tmp_path: Path) -> None:
    example = re.search(r"### Networks\n.*?```yaml\n(.*?)```.*?```console\n(.*?)```", TEXT, re.DOTALL)
    assert example is not None
    path = tmp_path / "circle_net.yaml"
    path.write_text(example[1], encoding="utf-8")
    command, shown = example[2].split("…\n")[:2]
    assert command == "$ slangad compile circle_net.yaml -o -\n"
    assert shown in emit_module(run_passes(load(path))).text


def test_docs__table_of_networks__has_every_layer_with_its_settings() -> None:
    rows = {}
    for key in LAYER.keys:
        assert isinstance(key.shape, Record)
        words = ", ".join(f"`{setting.name}`" for setting in key.shape.keys)
        rows[key.name] = f"| `{key.name}` | {words} | `{FACTORIES[key.name].__name__}` |"
    assert [name for name, row in rows.items() if row not in TEXT] == []
