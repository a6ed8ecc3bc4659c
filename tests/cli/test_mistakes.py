"""Mistakes that people type, at the command line and in descriptions: each message names the place and the remedy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from slangad.cli.distributed import first_rank_speaks
from slangad.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """import slangad as sa
from slangad import Each, NoDiff, Param, Sum

@sa.struct
class Line:
    slope: float
    offset: float

@sa.differentiable
def at(line: Line, x: float) -> float:
    return line.slope * x + line.offset

@sa.kernel
def fit(line: Param[Line], x: NoDiff[Each[float]]) -> Sum[float]:
    return at(line, x) ** 2
"""
TWO = GOOD + "\n@sa.kernel\ndef other(x: Each[float]) -> Sum[float]:\n    return x\n"

FROZEN = GOOD.replace("fit(line", "fit(base: NoDiff[Param[Line]], line").replace("** 2", "- at(base, x)")

TYPED = {
    "compil ok.py": ("'compil'", "'compile'"),
    "compile okk.py": ("okk.py", "did you mean ok.py?"),
    "run ok.p": ("ok.p", "did you mean 'ok.py'?"),
    "compile": ("Nothing to compile", "slangad compile brdf.py"),
    "compile ok.py -t vulkan": ("'vulkan'", "spirv or glsl"),
    "compile ok.py -t spriv": ("'spriv'", "Did you mean spirv?"),
    "compile ok.py -t spirvv": ("'spirvv'", "Did you mean spirv?"),
    "compile ok.py -t webgpu": ("'webgpu'", "Did you mean wgsl?"),
    "compile ok.py --target=d3d12": ("'d3d12'", "hlsl or dxil"),
    "compile two.py:fitt": ("two.py", "did you mean fit?"),
    "compile ok.py --mode backwards": ("'--mode'", "Did you mean 'backward'?"),
    "compile ok.py --taget spirv": ("'--taget'", "'--target'"),
    "compile ok.py -D 1x": ("'1x'", "-D SAMPLES=16"),
    "compile ok.py -t cpp --emit slan": ("'--emit'", "Did you mean 'slang'?"),
    "run two.py:fitt": ("two.py", "did you mean fit?"),
    "run two.py --random 0": ("two.py", "two.py:fit"),
    "run ok.py": ("line.slope is missing", "--random 0 --domain 1024"),
    "run ok.py --device gpu": ("'--device'", "Did you mean auto?"),
    "run ok.py --device spirv": ("'--device'", "Did you mean vulkan?"),
    "run ok.py --mode bakward": ("'--mode'", "Did you mean 'backward'?"),
    "run ok.py --random 0": ("x is missing", "--domain n"),
    "run ok.py --domain 8, --random 0": ("'8,'", "4096 or 512x512"),
    "run ok.py --set x": ("'x'", "name=value"),
    "run ok.py --set line.slop=1 --random 0 --domain 4": ("line.slop", "did you mean line.slope?"),
    "run ok.py -i goood.npz": ("goood.npz", "did you mean good.npz?"),
    "run ok.py -i good.npz": ("good.npz", "numpy.savez"),
    "run ok.py --mode hvp --set x=[1,2] --set line.slope=1 --set line.offset=1": ("direction", "tangent.line.slope"),
    "run ok.py --set x=[1,2]": ("line.slope is missing", "draw what is missing: --random 0"),
    "train frozen.py --lr 1 --set x=[1,2]": ("base.slope is missing", "base is not trained, so it is not drawn"),
    "run ok.py -o out.jpg": ("can't write out.jpg", "-o out.png"),
    "train ok.py --random 0 --domain 8": ("'--random'", "It is an option of `slangad run`."),
    "train ok.py --optimizer adamm": ("'--optimizer'", "Did you mean 'adam'?"),
    "train ok.py --lr=-0.1": ("'--lr'", "x>0"),
    "train ok.py --plot loss.gif": ("loss.gif", ".svg"),
    "check ok.py --only fitt": ("'fitt'", "Did you mean 'fit'?"),
    "check ok.py --range fit.line.slope=1": ("'--range'", "shade.m.roughness=0.1:1"),
    "check ok.py --device cudaa": ("'cudaa'", "Did you mean cuda?"),
    "check ok.py --fail-on unguard": ("'--fail-on'", "Did you mean 'unguarded'?"),
    "explain sa021x": ("sa021x", "Did you mean SA021"),
    "schema reprot": ("'reprot'", "Did you mean 'report'?"),
    "graph ok.py:fitt": ("ok.py", "did you mean 'fit'?"),
    "graph ok.py -o x.pdf": ("x.pdf", ".svg, .dot or .mmd"),
    "completion zshh": ("'zshh'", "Did you mean 'zsh'?"),
    "cache inof": ("'inof'", "Did you mean 'info'?"),
}
"""Words after ``slangad``, and what the message holds: the place, then the remedy."""

WRITTEN = {
    "sa.differentiable": ("sa.diferentiable", ":9:5", "did you mean 'differentiable'?"),
    "x: float)": ("x: flaot)", ":10:23", "did you mean 'float'?"),
    "line.slope *": ("line.slop *", ":11:17", "did you mean 'slope'?"),
    "Sum[float]:": ("Summ[float]:", ":14:55", "did you mean 'Sum'?"),
    "line.slope * x + line.offset": ("sa.sine(x)", ":11:15", "did you mean 'sin'?"),
    "slope * x + line.offset": ("slope * y", ":11:25", "here are: line, x"),
    "return line.slope": ("return lin.slope", ":11:12", "did you mean 'line'?"),
    "return line.slope * x + line.offset": ("return x if x else 0.0", ":11:17", "x != 0"),
    "from slangad import Each": ("from slangad import Eech", ":2:1", "did you mean 'Each'?"),
    "Param[Line]": ("Param[Lines]", ":14:21", "did you mean 'Line'?"),
    "return at(line, x)": ("return att(line, x)", ":15:12", "did you mean 'at'?"),
    "at(line, x) **": ("at(line) **", ":15:12", "at(line: Line, x: float)"),
    "return at(line, x) ** 2": ("while x > 0.0:\n        x = x - 1.0\n    return x", ":15:5", "sa.max_iters(32)"),
    "at(line, x) ** 2": ("x\n\n@sa.pipeline(optimizer=sa.Adam(0.1, beta2=1.0))\ndef p(): pass", ":17:43", "to below 1"),
    "at(line, x) ** 2\n": ("x\n\n@sa.pipeline(optimizer=sa.SGD(-0.1))\ndef p(): pass\n", ":17:31", "above 0"),
    "return at(line, x) ** 2\n": (
        "return x\n\n@sa.pipeline(optimizer=sa.Adam(0.1, weight_decay=0.1))\ndef p(): pass\n", ":17:37", "use sa.AdamW",
    ),
    "@sa.kernel\ndef fit": (
        "@sa.pipeline(optimizer=sa.SGD(0.1, wramup=3))\ndef p(): pass\n\n@sa.kernel\ndef fit", ":13:36",
        "did you mean warmup?",
    ),
    "@sa.kernel": ("@sa.pipeline(optimizer=sa.Adam())\ndef p(): pass\n\n@sa.kernel", ":13:24", "write Adam(lr, beta1"),
    "@sa.kernel\n": ("Net = sa.nn.MLP([2, 1], activaton='relu')\n\n@sa.kernel\n", ":13:7", "did you mean activation?"),
    "    return at(line, x) ** 2": ("    print(x)\n    return x", ":15:5", "call the function in Python"),
}
"""A part of the description, what stands there instead, the place of the message, and the remedy."""

GOOD_YAML = """slangad: 1
constants:
  GAIN: 2.0
structs:
  Line:
    fields: {slope: float, offset: float}
functions:
  at:
    params: {line: Line, x: float}
    returns: float
    expr: line.slope * x + line.offset * GAIN
kernels:
  fit:
    params: {line: param Line, x: no_diff each float}
    returns: sum float
    body: |
      y = at(line, x)
      return y * y
pipelines:
  learn:
    params: {line: param Line, x: no_diff each float}
    returns: sum float
    optimizer: {adam: {lr: 0.01}}
    body: return fit(line, x)
"""
IN_YAML = {
    "GAIN: 2.0": ("GAIN 2.0", ":3:3", "{name: …}"),
    "structs": ("struct", ":4:1", "did you mean 'structs'?"),
    "fields: {slope": ("field: {slope", ":6:5", "did you mean 'fields'?"),
    "params: {line: Line, x: float}": ("params: [line, x]", ":9:13", "{name: …}"),
    "{line: Line,": ("{line: line,", ":9:20", "did you mean 'Line'?"),
    "x: float}": ("x: f32}", ":9:29", "write float"),
    "Line, x: float}": ("Line, x: vec3}", ":9:29", "write float3"),
    "returns: float": ("return: float", ":10:5", "did you mean 'returns'?"),
    "line.slope *": ("line.slop *", ":11:16", "did you mean 'slope'?"),
    "line.slope * x": ("return line.slope", ":11:11", "statements stand under 'body: |'"),
    "slope * x": ("slope ^ x", ":11:11", "the power is x ** y"),
    "no_diff each": ("nodiff each", ":14:35", "did you mean 'no_diff'?"),
    "param Line": ("Line", ":14:20", "uniform Line for one value for all threads"),
    "returns: sum": ("returns: summ", ":15:14", "did you mean 'sum'?"),
    "    body: |": ("    expr: x\n    body: |", ":16:5", "keep one of them"),
    "y = at(line, x)": ("float y = at(line, x);", ":17:13", "a name has no type before it: y = …"),
    "at(line, x)": ("at(x)", ":17:11", "at(line: Line, x: float)"),
    "{adam: {lr: 0.01}}": ("adam", ":23:16", "write {adam: {lr: …}}"),
    "adam: {lr: 0.01}": ("lr: 0.01", ":23:17", "write optimizer: {sgd: {lr: …}}"),
    "lr: 0.01": ("lr: .inf", ":23:28", "write a number, such as 0.01"),
    "0.01": ("'0.01'", ":23:28", "remove the quotes"),
    "return fit(line, x)": ("return learn(line, x)", ":24:18", "a pipeline calls kernels and sa.bin only"),
    "    expr": ("\texpr", ":11:1", "indent with spaces"),
}
"""The same in YAML."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "two.py").write_text(TWO, encoding="utf-8")
    (tmp_path / "frozen.py").write_text(FROZEN, encoding="utf-8")
    (tmp_path / "good.npz").write_text("no arrays", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("words", TYPED)
def test_mistake__at_the_command_line__gets_its_place_and_a_remedy(folder: Path, words: str) -> None:
    result = CliRunner().invoke(cli, words.split())
    said = " ".join(result.stderr.split())
    assert result.exit_code in (1, 2), said
    assert all(part in said for part in TYPED[words]), said


@pytest.mark.parametrize(("rank", "ended", "shown"), [("0", True, 1), ("1", True, 0), ("1", False, 1)])
def test_mistake__of_several_ranks__is_printed_by_the_first_unless_another_is_alone_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rank: str, *, ended: bool, shown: int
) -> None:
    def sleep(_: float) -> None:
        if ended:  # as the launcher does
            raise KeyboardInterrupt

    monkeypatch.setenv("LOCAL_RANK", rank)
    monkeypatch.setattr("slangad.cli.distributed.time.sleep", sleep)
    with pytest.raises(SystemExit, match="2"), first_rank_speaks():
        cli.main(["train", "ok.py", "--optimizer", "adamm"], prog_name="slangad")
    assert capsys.readouterr().err.count("Did you mean 'adam'?") == shown


@pytest.mark.parametrize("command", ["run", "train"])
def test_mistake__picture_without_pillow__is_refused_before_anything_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    (folder / "ok.py").write_text("raise SystemExit('read')", encoding="utf-8")
    result = CliRunner().invoke(cli, [command, "ok.py", "-o", "out.png"])
    assert "can't write out.png: pictures need Pillow" in result.stderr
    assert "pip install 'slangad[images]'" in result.stderr


@pytest.mark.parametrize("part", [*WRITTEN, *IN_YAML])
def test_mistake__in_a_description__gets_its_place_and_a_remedy(folder: Path, part: str) -> None:
    name, good, (instead, place, remedy) = (
        ("ok.py", GOOD, WRITTEN[part]) if part in WRITTEN else ("ok.yaml", GOOD_YAML, IN_YAML[part])
    )
    assert part in good
    (folder / name).write_text(good.replace(part, instead, 1), encoding="utf-8")
    result = CliRunner().invoke(cli, ["compile", name])
    assert result.exit_code == 1
    assert f"{name}{place}" in result.stderr, result.stderr
    assert remedy in result.stderr, result.stderr
