"""``slangad check`` on the command line: exit codes, formats, selection, ranges, settings of the project."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.cli.conftest import Project

SLANG = """
// range: x 0.5 2
[Differentiable]
float good(float x) { return 1.0 / x; }

[BackwardDerivative(bad_bwd)]
[Differentiable]
float bad(float x) { return x * x; }
void bad_bwd(inout DifferentialPair<float> x, float d_out) { x = diffPair(x.p, x.p * d_out); }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "f.slang").write_text(SLANG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["check", *words])


def test_check__a_wrong_gradient__exits_with_3_and_says_all_of_it(folder: Path) -> None:
    result = run("f.slang")
    assert result.exit_code == 3
    for words in ("FAIL", "bad", "d result / d x", "a factor of 0.5", "slangad check --seed 0 f.slang --only bad"):
        assert words in result.stdout
    assert "1 FAIL" in result.stderr


def test_check__second_order_of_slang__says_that_it_has_no_effect(folder: Path) -> None:
    assert "--order 2 has no effect on Slang files (f.slang)" in run("f.slang:good", "--order", "2").stderr
    assert "--order" not in run("f.slang:good").stderr


def test_check__one_right_function__exits_with_0(folder: Path) -> None:
    for words in (("f.slang:good",), ("f.slang", "--only", "good")):
        result = run(*words)
        assert result.exit_code == 0
        assert "PASS" in result.stdout
        assert "bad" not in result.stdout


def test_check__json__has_every_number(folder: Path) -> None:
    result = run("f.slang", "--format", "json", "--samples", "20", "--seed", "5")
    document = json.loads(result.stdout)
    assert document["seed"] == 5
    good, bad = sorted(document["results"], key=lambda one: one["function"] != "good")
    assert (good["verdict"], bad["verdict"]) == ("PASS", "FAIL")
    sample = good["samples"][0]
    found, expected = (sample["jacobian"][key][0][0] for key in ("found", "expected"))
    x = sample["inputs"][0]["value"]
    assert found == pytest.approx(-1.0 / x**2)
    assert expected == pytest.approx(-1.0 / x**2)


def test_check__an_output_file__is_written_and_the_code_stays(folder: Path) -> None:
    result = run("f.slang", "--format", "junit", "-o", "out/report.xml")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "<testsuite" in (folder / "out" / "report.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["json", "text"])
def test_check__an_output_file_of_mutants__is_written(folder: Path, kind: str) -> None:
    result = run("f.slang:bad", "--mutate", "--format", kind, "-o", f"out/mutants.{kind}")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "mutants killed" in result.stderr
    text = (folder / "out" / f"mutants.{kind}").read_text(encoding="utf-8")
    assert json.loads(text)["mutants"] if kind == "json" else " mutants killed, " in text


def test_check__a_file_that_is_no_program__fails_and_the_others_are_checked(folder: Path) -> None:
    (folder / "g.slang").write_text("[Differentiable] float f(float x { return x; }\n", encoding="utf-8")
    result = run("g.slang", "f.slang:good")
    assert result.exit_code == 3
    assert "FAIL" in result.stdout
    assert "PASS" in result.stdout


def test_check__strict__fails_on_what_is_skipped(folder: Path) -> None:
    (folder / "plain.slang").write_text("float f(float x) { return x; }\n", encoding="utf-8")
    assert run("plain.slang").exit_code == 0
    assert run("plain.slang", "--strict").exit_code == 3


def test_check__a_range__wins_over_the_declared_one(folder: Path) -> None:
    result = run("f.slang:good", "--range", "good.x=8:9", "--format", "json")
    values = [sample["inputs"][0]["value"] for sample in json.loads(result.stdout)["results"][0]["samples"]]
    assert min(values) >= 8.0
    assert max(values) <= 9.0


@pytest.mark.parametrize(
    "words",
    ["good.x=3", "x=1:2", "good.x=2:1", "good.x=0:inf", "good.x=nan:1", "good.x=0:1e400", "good.x=-1e308:1e308"],
)
def test_check__a_malformed_range__is_a_usage_error(folder: Path, words: str) -> None:
    assert run("f.slang", "--range", words).exit_code == 2


GATHER = """
import slangad as sa
from slangad import Each, Tensor


@sa.differentiable
def g(x: float) -> float:
    return x * x


@g.backward
def g_bwd(x, d_out):
    return x * d_out


@sa.kernel
def fit(i: Each[int], w: Tensor[float, 2]) -> Each[float]:
    return g(w[i, 1])
"""


def test_check__a_shape__is_what_the_tensor_gets_also_when_it_is_reproduced(folder: Path) -> None:
    (folder / "gather.py").write_text(GATHER, encoding="utf-8")
    result = run("gather.py:fit", "--shape", "fit.w=6x3", "--samples", "8", "--format", "json")
    assert result.exit_code == 3
    (found,) = json.loads(result.stdout)["results"]
    assert found["samples"][0]["jacobian"]["columns"][-1] == "w[5, 2]"
    assert "--shape=fit.w=6x3" in found["failures"][0]["reproduce"]


@pytest.mark.parametrize("word", ["fit.w=", "w=3", "fit.w=3x", "fit.w=0", "fit.w=3x-1", "fit.v=3"])
def test_check__a_malformed_or_unknown_shape__is_a_usage_error(folder: Path, word: str) -> None:
    (folder / "gather.py").write_text(GATHER, encoding="utf-8")
    assert run("gather.py:fit", "--shape", word).exit_code == 2


PER_THREAD = """

@sa.kernel
def plain(x: Each[float]) -> Each[float]:
    return g(x)


@sa.pipeline
def chain(i: Each[int], v: Tensor[float, 2]) -> Each[float]:
    return plain(fit(i, v))
"""

LARGE = """

@sa.differentiable
def look(table: sa.Array[float, 4096], x: float) -> float:
    return table[int(abs(x) * 9.0)] * x


@sa.struct
class Field:
    table: sa.Array[float, 4096]

    def call(self, x: float) -> float:
        return look(self.table, x)
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(("name", "path"), [("look", "look.x"), ("Field.call", "Field.call.x")])
def test_check__a_shape_of_a_function_with_large_parameters__is_its_number_of_calls(
    folder: Path, name: str, path: str
) -> None:
    (folder / "large.py").write_text(GATHER + LARGE, encoding="utf-8")
    inputs = []
    for words in ([], ["--shape", f"{path}=7"]):
        result = run("large.py", "--only", name, *words, "--samples", "8", "--format", "json")
        (found,) = json.loads(result.stdout)["results"]
        assert found["verdict"] in ("PASS", "KINK_OK"), found
        inputs.append([one for one in found["samples"][0]["jacobian"]["columns"] if one.startswith("x[")])
    assert inputs == [[f"x[{i}]" for i in range(count)] for count in (5, 7)]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("fit.w=6", ["fit.w (gather.py:", "has 2 axes, not 1", "--shape fit.w=16x4"]),
        ("fit.w=6x3x2", ["has 2 axes, not 3"]),
        ("fit.i=4x4", ["has 1 axis, not 2", "--shape fit.i=16"]),
        ("fit.u=3x3", ["'fit.u' is no tensor", "fit.w"]),
        ("plain.x=4", ["'plain' has no tensor", "fit.w"]),
        ("g.x=4", ["'g' is checked one call at a time", "fit.w"]),
        ("look.x=4x4", ["look.x (gather.py:", "has 1 axis, not 2", "--shape look.x=16"]),
        ("look.table=9", ["all threads share one 'table', and its type gives its size", "Did you mean look.x?"]),
        ("Field.call.self=9", ["all threads share one 'self'", "Did you mean Field.call.x?"]),
        ("Field.x=9", ["nothing that is checked is called 'Field'", "Did you mean Field.call.x?"]),
        ("nothing.w=4x4", ["nothing that is checked is called 'nothing'"]),
        ("chain.v=6", ["chain.v", "has 2 axes, not 1"]),
        ("chain.w=6x3", ["Did you mean chain.v?"]),
    ],
)
def test_check__a_shape_that_nothing_can_have__is_refused_with_place_and_remedy(
    folder: Path, said: str, words: list[str]
) -> None:
    (folder / "gather.py").write_text(GATHER + PER_THREAD + LARGE, encoding="utf-8")
    result = run("gather.py", "--shape", said)
    assert result.exit_code == 2, result.output
    assert f"--shape {said}: " in result.stderr
    for word in words:
        assert word in result.stderr


def test_check__a_shape_of_what_is_not_checked__is_refused(folder: Path) -> None:
    (folder / "gather.py").write_text(GATHER + PER_THREAD, encoding="utf-8")
    result = run("gather.py:plain", "--shape", "fit.w=6x3")
    assert result.exit_code == 2
    assert "nothing that is checked is called 'fit'" in result.stderr


def test_check__a_failure__is_reproduced_by_a_command_that_can_be_pasted(folder: Path) -> None:
    name = "my shaders & more.slang"
    (folder / name).write_text(SLANG, encoding="utf-8")
    first = run(name, "--range", "bad.x=0.1234567890123:0.5", "--only", "bad", "--samples", "16", "--format", "junit")
    suite = ElementTree.fromstring(first.stdout).find("testsuite")
    assert suite is not None
    told = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert shlex.split(told["command"] or "")[2] == name
    text = suite.findtext("testcase/failure") or ""
    (line,) = (line for line in text.splitlines() if line.startswith("  reproduce"))
    again = run(*shlex.split(line.partition("reproduce")[2])[2:], "--format", "junit")
    assert again.exit_code == 3
    numbers = [re.findall(r"^  (?:input|expected|found) .*", one.stdout, re.MULTILINE) for one in (first, again)]
    assert numbers[0] == numbers[1] != []


@pytest.mark.parametrize("words", [["--only", "nothing"], ["--range", "nothing.x=0:1"], ["--range", "good.y=0:1"]])
def test_check__a_name_that_is_not_there__is_a_usage_error_that_names_it(folder: Path, words: list[str]) -> None:
    result = run("f.slang", *words)
    assert result.exit_code == 2
    assert words[1].split("=")[0] in result.stderr


def test_check__no_such_file__is_a_usage_error(folder: Path) -> None:
    assert run("nowhere.slang").exit_code == 2


def test_check__settings_of_the_project__hold_unless_said(folder: Path) -> None:
    settings = '[tool.slangad]\ninputs = ["f.slang:good"]\n[tool.slangad.check]\nsamples = 24\nseed = 9\n'
    ranges = '[tool.slangad.check.ranges]\n"good.x" = [4, 5]\n'
    (folder / "pyproject.toml").write_text(settings + ranges, encoding="utf-8")
    document = json.loads(run("--format", "json").stdout)
    assert (document["seed"], document["samples"]) == (9, 24)
    values = [sample["inputs"][0]["value"] for sample in document["results"][0]["samples"]]
    assert min(values) >= 4.0
    assert json.loads(run("--format", "json", "--seed", "2").stdout)["seed"] == 2


def test_check__a_folder__stands_for_what_it_describes(folder: Path) -> None:
    deep = folder / "src" / "deep"
    deep.mkdir(parents=True)
    (deep / "good.slang").write_text(SLANG.partition("[BackwardDerivative")[0], encoding="utf-8")
    (deep / "g.yaml").write_text(
        "slangad: 1\nname: g\nfunctions:\n  sq:\n    params: {x: float}\n    returns: float\n    body: return x * x\n",
        encoding="utf-8",
    )
    (deep / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    (deep / "plain.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    (deep / "test_it.py").write_text("import slangad as sa\nraise SystemExit(1)\n", encoding="utf-8")
    (folder / "src" / ".hidden").mkdir()
    (folder / "src" / ".hidden" / "f.slang").write_text(SLANG, encoding="utf-8")
    result = run("src", "--format", "json")
    assert result.exit_code == 0, result.output
    assert [one["function"] for one in json.loads(result.stdout)["results"]] == ["sq", "good"]


def test_check__a_folder_without_descriptions__is_a_usage_error(folder: Path) -> None:
    (folder / "nothing").mkdir()
    result = run("nothing")
    assert result.exit_code == 2
    assert "'nothing' describes a differentiable function" in result.stderr


def test_check__several_reports__come_from_one_run(folder: Path) -> None:
    result = run("f.slang:good", "--report", "junit=out/a.xml", "--report=json=a.json", "--report", "html=a.html")
    assert result.exit_code == 0
    assert "PASS" in result.stdout
    assert "<testsuite" in (folder / "out" / "a.xml").read_text(encoding="utf-8")
    assert "<html" in (folder / "a.html").read_text(encoding="utf-8")
    assert json.loads((folder / "a.json").read_text(encoding="utf-8"))["ok"] is True


@pytest.mark.parametrize("words", ["junit", "junit=", "xml=a.xml", "junit=."])
def test_check__a_malformed_report__is_a_usage_error(folder: Path, words: str) -> None:
    assert run("f.slang", "--report", words).exit_code == 2


def test_check__every_report__tells_what_it_was_made_with(folder: Path) -> None:
    result = run("f.slang:good", "--format", "json", "--report", "html=a.html", "--report", "junit=a.xml")
    toolchain = {one["name"]: one["version"] for one in json.loads(result.stdout)["toolchain"]}
    assert toolchain.keys() >= {"slang", "slangpy", "c++", "python"}
    assert toolchain["slang"][:2] == "20"
    for file in ("a.html", "a.xml"):
        text = (folder / file).read_text(encoding="utf-8")
        assert toolchain["slang"] in text


def test_check__the_command_of_a_report__is_the_whole_one_that_was_given(folder: Path) -> None:
    name = "my shaders & more.slang"
    (folder / name).write_text(SLANG, encoding="utf-8")
    words = (name, "--only", "good", "--run-limit", "30", "--samples=16", "--format", "json", "--report", "html=r.html")
    told = json.loads(run(*words).stdout)["command"]
    assert shlex.split(told) == ["slangad", "check", *words]
    assert json.loads(run(*shlex.split(told)[2:]).stdout)["command"] == told
    assert "--run-limit 30 --samples=16 --format json" in (folder / "r.html").read_text(encoding="utf-8")


GENERATED = """
[BackwardDerivative(wrong_bwd)] [Differentiable]
float wrong(float x) { return x * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d_out) { x = diffPair(x.p, x.p * d_out); }
"""


@pytest.mark.toolchain
def test_check__generated_files__are_kept_where_the_report_says(project: Project) -> None:
    project.write("s/f.slang", GENERATED)
    kept = project.run("check", "s/f.slang", "--samples", "8", "--keep", "out", code=3).stdout
    (place,) = re.findall(r"generated  (out/s/f\.slang/f_kernels\.slang):(\d+): (.*)", kept)
    name, line, text = place
    assert (project.folder / name).read_text().splitlines()[int(line) - 1].strip() == text
    texts = {path.name: path.read_text() for path in (project.folder / "out/s/f.slang/float64").glob("f_kernels.*")}
    assert texts.keys() == {"f_kernels.slang", "f_kernels.cpp"}
    assert "wrong_backward" in texts["f_kernels.cpp"]
    assert (project.folder / "out/s/f.slang/float32/f_kernels.cpp").is_file()
    again = project.run("check", "s/f.slang", "--samples", "8", code=3).stdout
    assert re.search(rf"generated  f_kernels\.slang:{line}: {re.escape(text)}", again)
    project.write("file", "")
    assert "Name a folder" in project.run("check", "s/f.slang", "--keep", "file/out", code=2).stderr
    assert "--mutate keeps no" in project.run("check", "s/f.slang", "--keep", "out", "--mutate", code=2).stderr
