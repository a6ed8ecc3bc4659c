"""docs/ci.md and the pre-commit hooks: what they show is valid and asks for options that exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from slangad.cli.check import check_command
from slangad.compiler.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
GRADIENT = """
import slangad as sa


@sa.differentiable
def square(x: float) -> float:
    return x * x
"""


def _blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def test_page__every_format__has_a_row() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(FORMATS)


def test_page__its_yaml__is_yaml() -> None:
    action, gitlab, matrix, parallel, hooks, further = map(yaml.safe_load, _blocks("yaml"))
    shards = matrix["jobs"]["check"]["strategy"]["matrix"]["shard"]
    checks = [step["run"] for step in matrix["jobs"]["check"]["steps"] if "--shard" in step.get("run", "")]
    assert shards == list(range(1, len(shards) + 1))
    assert checks[0].startswith(f"slangad check --shard ${{{{ matrix.shard }}}}/{len(shards)} ")
    assert parallel["check"]["parallel"] == len(shards)
    for merged in (matrix["jobs"]["gradients"]["steps"], [{"run": line} for line in parallel["gradients"]["script"]]):
        assert any(step.get("run", "").startswith("slangad report merge shard-*.json ") for step in merged)
    steps = action["jobs"]["gradients"]["steps"]
    assert any("--format github" in step.get("run", "") for step in steps)
    assert any(step.get("with", {}).get("sarif_file") == "slangad.sarif" for step in steps)
    assert gitlab["gradients"]["artifacts"]["reports"]["junit"] in gitlab["gradients"]["script"][-1]
    known = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    shown = {hook["id"]: hook for hook in (*hooks["repos"][0]["hooks"], *further)}
    assert shown.keys() == known.keys()
    assert hooks["repos"][0]["repo"] == "local", "nothing that people must fill in"
    for name, hook in shown.items():
        assert {"name", "entry", "language", "files"} <= hook.keys(), "what pre-commit needs of a local hook"
        assert hook.get("pass_filenames") == known[name].get("pass_filenames")


@pytest.mark.parametrize("line", sorted(set(re.findall(r"slangad (?:-q )?check (--[^'\n|`]*)", PAGE))))
def test_page__its_commands__have_options_that_exist(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_NODE_INDEX", "2")
    monkeypatch.setenv("CI_NODE_TOTAL", "4")
    line = line.replace("${{ matrix.shard }}", "2")
    with check_command.make_context("check", shlex.split(line)) as context:
        assert context.params["output_format"] in (None, *FORMATS)


def test_hooks__their_commands__exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert all(hook["entry"] == "slangad check" and hook["language"] == "python" for hook in hooks)
    assert re.search(hooks[0]["files"], "shaders/a.yml")
    assert not re.search(hooks[1]["files"], "a.py")


@pytest.mark.toolchain
def test_page__its_ninja_rule__checks_once_and_again_after_a_failure(
    tmp_path: Path, tool: Callable[[str], str]
) -> None:
    rules = _blocks("ninja")[0].replace("slangad -q", f"{sys.executable} -m slangad.cli -q")
    (tmp_path / "build.ninja").write_text(rules, encoding="utf-8")
    description = tmp_path / "brdf.py"

    def build(text: str) -> tuple[int, str]:
        if not description.exists() or description.read_text(encoding="utf-8") != text:
            description.write_text(text, encoding="utf-8")
        ended = subprocess.run([tool("ninja")], cwd=tmp_path, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    wrong = GRADIENT + "\n\n@square.backward\ndef square_bwd(x, d_out):\n    return 3.0 * x * d_out\n"
    code, said = build(GRADIENT)
    assert code == 0, said
    assert "no work to do" in build(GRADIENT)[1]
    assert build(wrong)[0] == 1
    assert build(wrong)[0] == 1
    assert "<failure" in (tmp_path / "gradients.xml").read_text(encoding="utf-8")
