"""``slangad check`` on what crashes, hangs, can't be read or gives no numbers: it says so, and the rest goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from support.hanging import HANGS_SLANG
from support.processor import children_of, worked

from slangad.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "\n[Differentiable]\nfloat good(float x) { return x * x; }\n"
LATER = "\n[Differentiable]\nfloat later(float x) { return x * x * x; }\n"
CRASHES_SLANG = """
[Differentiable]
float bad(float x, int n)
{
    float s = x;
    int k = 0;
    [MaxIters(8)]
    while (k < n && s < 10.0) { s = s * 1.5; k++; }
    return s;
}
"""
RECURS = "\n[Differentiable]\nfloat bad(float x) { if (x > 1.0) return bad(x * 0.5); return x; }\n"
CRASHES = """
[Differentiable]
[BackwardDerivative(bad_bwd)]
float bad(float a[4], int i) { return a[i & 3]; }
void bad_bwd(inout DifferentialPair<float[4]> a, int i, float d_out)
{
    float g[4] = { 0, 0, 0, 0 };
    g[(i + 1) * 500000000] = d_out;
    a = diffPair(a.p, g);
}
"""
HANGS = """
// range: n 1 1
[Differentiable]
float bad(float x, uint n)
{
    float s = x;
    uint k = 0;
    [MaxIters(8)]
    while (k != n) { s = s * 0.5; k = k + 2; }
    return s;
}
"""
NOISY = """
float noise()
{
    __requirePrelude("#include <cstdlib>");
    __intrinsic_asm "(float(rand()) / float(RAND_MAX))";
}

[BackwardDerivative(bad_bwd)]
[Differentiable]
float bad(float x) { return x * x; }
void bad_bwd(inout DifferentialPair<float> x, float d_out)
{
    x = diffPair(x.p, (2.0 * x.p + 1e-10 * noise()) * d_out);
}
"""
NAN = "\n[Differentiable]\nfloat bad(float x) { return sqrt(-1.0 - x * x); }\n"
REJECTED = "\n[Differentiable]\nfloat bad(float x) { return y; }\n"
STRUCT = "\nstruct bad { float k; Missing m; };\n"
LOST = """
struct Passive { float a; };
[Differentiable]
float bad(float x)
{
    Passive p;
    p.a = x;
    return p.a * x;
}
"""

Checked = tuple[int, dict[str, dict[str, Any]]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*words: str) -> Checked:
    """The exit code, and the results by name."""
    result = CliRunner().invoke(cli, ["check", *words, "--format", "json", "--time-limit", "3", "--run-limit", "4"])
    results = json.loads(result.stdout)["results"]
    return result.exit_code, {one["function"] or one["file"]: one for one in results}


@pytest.mark.parametrize(
    ("text", "verdict", "leg", "words"),
    [
        pytest.param(CRASHES_SLANG, "FAIL", "compile", "the Slang compiler crashes on it", id="crashes Slang"),
        pytest.param(HANGS_SLANG, "INCONCLUSIVE", None, "takes too long on it. Raise --time-limit", id="hangs Slang"),
        pytest.param(RECURS, "FAIL", "compile", "", id="recurs"),
        pytest.param(CRASHES, "FAIL", "compile", "it crashes (SIG", id="crashes"),
        pytest.param(HANGS, "FAIL", "compile", "it does not end within 4 s", id="hangs"),
        pytest.param(NOISY, "NONDETERMINISTIC", "repeat", "two runs with the same inputs", id="noisy"),
        pytest.param(REJECTED, "FAIL", "compile", "does not compile: undefined identifier 'y' [SA200]", id="rejected"),
        pytest.param(STRUCT, "FAIL", "compile", "struct bad does not compile: undefined identifier", id="struct"),
        pytest.param("import bad;\n", "FAIL", "compile", "cannot open file 'bad.slang' [SA200]", id="import"),
        pytest.param(LOST, "FAIL", "compile", "the derivative is lost at this assignment", id="loses"),
        pytest.param(NAN, "INCONCLUSIVE", None, "not finite at any sample", id="NaN"),
    ],
)
def test_check__a_bad_function_between_two_good_ones__costs_only_itself(
    folder: Path, text: str, verdict: str, leg: str | None, words: str
) -> None:
    (folder / "f.slang").write_text(GOOD + text + LATER, encoding="utf-8")
    code, results = checked("f.slang", "-j", "1")
    assert [results[name]["verdict"] for name in ("good", "bad", "later")] == ["PASS", verdict, "PASS"]
    assert words in results["bad"]["reason"]
    assert code == (0 if verdict == "INCONCLUSIVE" else 3)
    if leg is not None:
        assert results["bad"]["failures"][0]["leg"] == leg
        assert results["bad"]["failures"][0]["reproduce"].endswith("--only bad")
        assert len(results["bad"]["failures"]) == 1


def test_check__several_that_die__leave_the_others_their_verdicts(folder: Path) -> None:
    parts = [CRASHES.replace("bad", f"bad{n}") + GOOD.replace("good", f"good{n}") for n in range(3)]
    (folder / "f.slang").write_text("".join(parts) + HANGS.replace("bad", "endless"), encoding="utf-8")
    code, results = checked("f.slang", "-j", "2")
    assert code == 3
    assert {name: one["verdict"] for name, one in results.items()} == {
        **{f"bad{n}": "FAIL" for n in range(3)},
        **{f"good{n}": "PASS" for n in range(3)},
        "endless": "FAIL",
    }


@pytest.mark.parametrize(
    ("text", "verdict", "words"),
    [
        pytest.param("#error not like this\n", "FAIL", "#error: not like this", id="rejected"),
        pytest.param("[Differentiable] float f(float x {\n", "FAIL", "", id="no Slang"),
        pytest.param("\0\xff", "FAIL", "", id="no text"),
        pytest.param("float f(float x) { return x; }\n", "SKIPPED", "ifferentiable", id="nothing differentiable"),
        pytest.param("", "SKIPPED", "", id="empty"),
    ],
)
def test_check__a_file_that_is_no_program__leaves_the_others_their_verdicts(
    folder: Path, text: str, verdict: str, words: str
) -> None:
    (folder / "bad.slang").write_text(text, encoding="latin-1")
    (folder / "good.slang").write_text(GOOD, encoding="utf-8")
    code, results = checked("bad.slang", "good.slang")
    assert results["good"]["verdict"] == "PASS"
    assert results["bad.slang"]["verdict"] == verdict
    assert words in results["bad.slang"]["reason"]
    assert code == (3 if verdict == "FAIL" else 0)
    assert checked("bad.slang", "good.slang", "--strict")[0] == 3


def test_check__a_division_by_an_integer_0__is_told_with_what_to_do(folder: Path) -> None:
    text = "[Differentiable] float f(float x, int n) { return x * float(12 / n); }\n"
    (folder / "f.slang").write_text(text, encoding="utf-8")
    code, results = checked("f.slang")
    assert code == 3
    assert results["f"]["reason"].endswith(
        "likely an integer is divided by 0, for its quotient or its remainder: declare a range without 0 for 'n'"
    )
    assert checked("f.slang", "--range", "f.n=1:12")[0] == 0


@pytest.mark.parametrize("text", ["import slangad as sa\nraise ValueError('no')\n", "import slangad as sa\ndef f(:\n"])
def test_check__a_description_that_can_not_be_loaded__leaves_the_others_their_verdicts(folder: Path, text: str) -> None:
    (folder / "bad.py").write_text(text, encoding="utf-8")
    (folder / "good.slang").write_text(GOOD, encoding="utf-8")
    code, results = checked("bad.py", "good.slang")
    assert code == 3
    assert results["bad.py"]["verdict"] == "FAIL"
    assert results["good"]["verdict"] == "PASS"


def test_check__a_description_that_ends_the_program__is_told_with_place_and_remedy(folder: Path) -> None:
    (folder / "bad.py").write_text("import sys\n\nimport slangad as sa\n\nsys.exit(7)\n", encoding="utf-8")
    (folder / "good.slang").write_text(GOOD, encoding="utf-8")
    code, results = checked("bad.py", "good.slang")
    assert code == 3
    assert results["good"]["verdict"] == "PASS"
    (failure,) = results["bad.py"]["failures"]
    place, remedy = failure["notes"]
    assert place == "bad.py:5:1: error[SA003]: the file raised SystemExit: 7"
    assert "if __name__ == '__main__'" in remedy


ENDLESS = """
[Differentiable]
float endless(float x, int n)
{
    float y = x;
    int i = 0;
    [MaxIters(1000000000)]
    while (i < 1000000000) { i = i * 1; if (n < 9) { y = y * 1.0; } else i++; }
    return y;
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_check__interrupted_while_a_function_runs__waits_for_nothing(tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "f.slang").write_text(GOOD + ENDLESS, encoding="utf-8")
    command = [sys.executable, "-m", "slangad.cli", "check", "f.slang", "--run-limit", "200"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        while not any(worked(process) > 4.0 for process in children_of(child.pid)):
            assert child.poll() is None
            time.sleep(0.1)
        child.send_signal(number)
        shown, said = child.communicate(timeout=20)
    assert child.returncode == code
    assert said == f"slangad: {'interrupted' if code == 130 else 'ended by SIGTERM'}\n"
    assert [line.split()[:2] for line in shown.splitlines()] == [["f.slang"], ["PASS", "good"]]


@pytest.mark.parametrize("option", ["--run-limit", "--time-limit"])
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_check__a_limit_that_is_no_number__is_refused(tmp_path: Path, option: str, number: str) -> None:
    path = tmp_path / "good.slang"
    path.write_text(GOOD, encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", str(path), option, number])
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': {number} is not a finite number." in result.stderr


LARGE = """
import slangad as sa
from slangad import Array, Each, Param, Sum


@sa.kernel
def large(w: Param[Array[Array[float, 70], 70]], x: Each[Array[float, 70]]) -> Sum[float]:
    total = 0.0
    for i in range(70):
        row = 0.0
        for j in range(70):
            row += w[i][j] * x[j]
        total += row * row
    return total


@sa.differentiable
def small(x: float) -> float:
    return x * x
"""


def test_check__more_work_than_the_limit_allows__is_no_mistake_of_a_description(folder: Path) -> None:
    (folder / "large.py").write_text(LARGE, encoding="utf-8")
    code, results = checked("large.py", "-j", "1")
    assert (code, results["small"]["verdict"], results["large"]["verdict"]) == (0, "PASS", "INCONCLUSIVE")
    reason = "its samples take more than 4 s: --run-limit gives them more; not finished: "
    assert results["large"]["reason"].startswith(reason)
