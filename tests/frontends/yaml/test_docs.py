"""docs/yaml.md: it names every key of the format, and its examples are descriptions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.frontends import load
from slangad.compiler.frontends.yaml.sections import FUNCTION, KERNEL, METHOD, ROOT

if TYPE_CHECKING:
    from slangad.compiler.frontends.yaml.shape import Record

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
