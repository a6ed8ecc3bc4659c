"""Slang files on the command line: what is written, what is told, and that the file stays as it is."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.slang_files import SHADERS

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.toolchain

FILE = """// A file of the user's.
#include "common.h"

[Differentiable]
float curve(float x, no_diff float k) { return x * x * k * SCALE; }

[Differentiable]
T power<T : __BuiltinFloatingPointType, let N : int>(T x)
{
    T result = x;
    [ForceUnroll]
    for (int i = 1; i < N; ++i)
        result = result * x;
    return result;
}

[Differentiable]
float textured(float x, Texture2D<float4> image) { return x; }
"""


@pytest.fixture
def slang(project: Project) -> Project:
    project.write("curve.slang", FILE)
    project.write("inc/common.h", "#ifndef SCALE\n#define SCALE 2.0\n#endif\n")
    return project


def test_compile__a_slang_file__writes_its_kernels_and_leaves_it_alone(slang: Project) -> None:
    before = (slang.folder / "curve.slang").stat()
    ended = slang.run("compile", "curve.slang", "-I", "inc", "-t", "spirv", "-t", "wgsl")
    entries = [f"curve.curve.{mode}" for mode in ("forward", "backward", "jvp")]
    names = {f"{entry}{ending}" for entry in entries for ending in (".spv", ".wgsl")}
    names |= {f"{name}.reflection.json" for name in names}
    files = slang.files()
    assert files.keys() == names | {"curve_kernels.slang", "curve.manifest.json", "curve.d", "manifest.json"}
    assert b'import "curve.slang";' in files["curve_kernels.slang"]
    assert "inc/common.h" in files["curve.d"].decode()
    after = (slang.folder / "curve.slang").stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    assert "note[SA084]: power is left out: it is generic" in ended.stderr
    assert "curve.slang:18:7: note[SA084]: textured is left out" in ended.stderr
    assert "1 kernel, 6 artefacts in build" in ended.stderr


def test_compile__a_slang_file__lists_what_is_left_out_in_the_manifest(slang: Project) -> None:
    slang.run("compile", "curve.slang", "-I", "inc")
    (record,) = slang.manifest()["inputs"]
    assert record["path"] == "../curve.slang"
    assert [source["path"] for source in record["sources"]] == ["../curve.slang", "../inc/common.h"]
    assert [kernel["name"] for kernel in record["kernels"]] == ["curve"]
    assert [(left["function"], left["line"], left["modes"]) for left in record["left_out"]] == [
        ("power", 8, []),
        ("textured", 18, []),
    ]
    backward = record["kernels"][0]["entry_points"][1]
    roles = [(p["name"], p["role"], p["bindings"]["spirv"]["index"]) for p in backward["parameters"][1:]]
    assert roles == [
        ("x", "input", 0),
        ("x_grad", "gradient", 1),
        ("k", "input", 2),
        ("result_cotangent", "cotangent", 3),
    ]


def test_compile__unchanged_slang_file__comes_from_the_cache(slang: Project) -> None:
    slang.run("compile", "curve.slang", "-I", "inc")
    files = slang.files()
    broken = {"SLANGAD_SLANG_LIBRARY": str(slang.write("empty.so", ""))}
    again = slang.run("compile", "curve.slang", "-I", "inc", "--force", code=None)
    assert "1 of 1 from the cache" in again.stderr
    assert slang.files() == files
    slang.run("compile", "curve.slang", "-I", "inc", "--no-cache", code=4, **broken)


def test_compile__a_changed_include__is_seen(slang: Project) -> None:
    slang.run("compile", "curve.slang", "-I", "inc", "-t", "hlsl")
    slang.write("inc/common.h", "#define SCALE 3.0\n")
    slang.run("compile", "curve.slang", "-I", "inc", "-t", "hlsl")
    assert b"3.0" in slang.files()["curve.curve.forward.hlsl"]


@pytest.mark.parametrize("word", ["-DSCALE=5.0", "SCALE=5.0"])
def test_compile__a_macro__reaches_the_file(slang: Project, word: str) -> None:
    words = [word] if word.startswith("-D") else ["-D", word]
    slang.run("compile", "curve.slang", "-I", "inc", "-t", "hlsl", *words)
    assert b"5.0" in slang.files()["curve.curve.forward.hlsl"]
    slang.run("compile", "curve.slang", "-I", "inc", "-D", "2x", code=2)


def test_compile__specialisations__become_kernels(slang: Project) -> None:
    asked = ("--specialize", "power<float, 4>", "--specialize", "power<half, 2>")
    ended = slang.run("compile", "curve.slang", "-I", "inc", "-t", "hlsl", *asked)
    kernels = [kernel["name"] for kernel in slang.manifest()["inputs"][0]["kernels"]]
    assert kernels == ["curve", "power_float_4", "power_half_2"]
    assert "power is left out" not in ended.stderr


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("powers<float, 4>", "no Slang file declares 'powers<float, 4>'"),
        ("power<float>", "Slang can't make 'power<float>'"),
        ("power", "'power' is not a generic function with its arguments"),
    ],
)
def test_compile__a_specialisation_of_nothing__is_refused(slang: Project, asked: str, said: str) -> None:
    ended = slang.run("compile", "curve.slang", "-I", "inc", "--specialize", asked, code=1)
    assert f"error[SA083]: {said}" in ended.stderr
    assert not (slang.folder / "build").exists()


def test_compile__one_kernel_of_a_slang_file__leaves_the_rest_unsaid(slang: Project) -> None:
    ended = slang.run("compile", "curve.slang:curve", "-I", "inc", "--mode", "backward")
    assert "left out" not in ended.stderr
    ended = slang.run("compile", "curve.slang:textured", "-I", "inc", code=1)
    assert "has no kernel called textured" in ended.stderr
    assert "textured is left out: parameter 'image' is a Texture2D<float4>" in ended.stderr


def test_compile__into_the_folder_of_the_file__never_overwrites_a_source(slang: Project) -> None:
    slang.run("compile", "curve.slang", "-I", "inc", "-o", ".")
    assert (slang.folder / "curve.slang").read_text(encoding="utf-8") == FILE
    assert (slang.folder / "curve_kernels.slang").exists()
    slang.write("mine.slang", "[Differentiable] float f(float x) { return x; }\n")
    slang.write("user_kernels.slang", "[Differentiable] float helper(float x) { return x; }\n")
    slang.write("user.slang", 'import "user_kernels.slang";\n[Differentiable] float g(float x) { return helper(x); }\n')
    ended = slang.run("compile", "user.slang", "-o", ".", code=1)
    assert "error[SA406]: user_kernels.slang is a source and would be overwritten" in ended.stderr
    slang.write(
        "k.yaml", "slangad: 1\nname: mine\nkernels: {k: {params: {x: each float}, returns: each float, expr: x}}\n"
    )
    ended = slang.run("compile", "k.yaml", "-o", ".", code=1)
    assert "error[SA406]: mine.slang was not made by slangad and would be overwritten" in ended.stderr
    assert (slang.folder / "mine.slang").read_text(encoding="utf-8").startswith("[Differentiable]")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("float f(float x) { return x; }", 1, "one.slang: error[SA080]: there is no differentiable function"),
        (
            "[Differentiable] float f(float x) { return y; }",
            1,
            "one.slang:1:44: error[SA200]: undefined identifier 'y'",
        ),
        ("implementing two;", 1, "one.slang: error[SA082]: this file is a part of the module 'two'"),
        ("[Differentiable] float f(Texture2D t) { return 1.0; }", 1, "one.slang: error[SA081]: none of the"),
        ("// range: x 1\n[Differentiable] float f(float x) { return x; }", 1, "one.slang:1:1: error[SA085]"),
    ],
)
def test_compile__a_slang_file_that_is_wrong__is_one_diagnostic(
    project: Project, text: str, code: int, said: str
) -> None:
    project.write("one.slang", text + "\n")
    ended = project.run("compile", "one.slang", code=code)
    assert said in ended.stderr
    assert ended.stderr.count("error[") == 1
    assert not (project.folder / "build").exists()


def test_compile__a_file_that_hangs_slang__is_one_diagnostic(slang: Project) -> None:
    ended = slang.run("compile", "curve.slang", "-I", "inc", "--time-limit", "0.001", code=4)
    assert "curve.slang: error[SA241]: the Slang compiler was still checking the program curve.slang" in ended.stderr
    assert ended.stderr.count("error[") == 1


PARTLY = """[Differentiable] float fine(float x) { return x * x; }

// Slang crashes on the reverse mode of such a loop.
[Differentiable]
float crashes(float x)
{
    float y = x;
    int i = 0;
    [MaxIters(8)]
    while (y < 10.0 && i < 8)
    {
        y = y * y + 1.0;
        i++;
    }
    return y;
}

[Differentiable] double narrow(double x) { return x * x; }

[Differentiable] float compile_time(float x, constexpr float k) { return x * k; }
"""


def test_compile__functions_slang_fails_on__are_left_out_and_the_others_compiled(project: Project) -> None:
    project.write("partly.slang", PARTLY)
    words = ("compile", "partly.slang", "-t", "cpp", "-t", "metal")
    ended = project.run(*words)
    assert "the backward kernel of crashes is left out: the Slang compiler crashes on it" in ended.stderr
    assert "narrow is left out for metal: the type double is not available on this target" in ended.stderr
    assert (
        "the forward kernel of compile_time is left out: arg 2 in 'compile_time' is not a compile-time constant"
        in ended.stderr
    )
    files = project.files()
    made = {name.removeprefix("partly.").removesuffix(".cpp") for name in files if name.endswith(".cpp")}
    whole = {f"{kernel}.{mode}" for kernel in ("fine", "narrow") for mode in ("forward", "backward", "jvp")}
    assert made == whole | {"crashes.forward", "crashes.jvp", "compile_time.backward", "compile_time.jvp"}
    assert not any(name.startswith("partly.narrow") and name.endswith(".metal") for name in files)
    assert b"compile_time_forward" not in files["partly_kernels.slang"]
    (record,) = project.manifest()["inputs"]
    assert {(left["function"], *left["modes"], *left["targets"]) for left in record["left_out"]} == {
        ("crashes", "backward"),
        ("narrow", "metal"),
        ("compile_time", "forward"),
    }
    for again, said in ((words, "up to date"), ((*words, "--force"), "from the cache")):
        assert project.run(*again).stderr.replace(f", 1 of 1 {said}", "") == ended.stderr
    assert project.files() == files


def test_compile__python_yaml_and_slang_together__is_one_run(project: Project) -> None:
    project.kernel("fit")
    project.write(
        "tone.yaml", "slangad: 1\nfunctions:\n  f:\n    params: {x: float}\n    returns: float\n    expr: x * x\n"
    )
    shutil.copytree(SHADERS, project.folder / "shaders")
    project.run("compile", "fit.py", "tone.yaml", "shaders/hidden.slang", "shaders/directions.slang")
    paths = [record["path"] for record in project.manifest()["inputs"]]
    assert paths == ["../fit.py", "../tone.yaml", "../shaders/hidden.slang", "../shaders/directions.slang"]
    hidden = project.files()["hidden_kernels.slang"].decode()
    assert '#include "hidden.slang"' in hidden
    assert "import" not in hidden
    sources = [source["path"] for source in project.manifest()["inputs"][2]["sources"]]
    assert sources == [
        f"../shaders/{name}"
        for name in ("hidden.slang", "lib/tools.slang", "parts/hidden_part.slang", "parts/macros.h")
    ]


def test_compile__slang_files_with_functions_of_one_name__are_one_run(project: Project) -> None:
    for name, value in (("one", "x"), ("two", "x * x")):
        project.write(f"{name}.slang", f"[Differentiable] float fit(float x) {{ return {value}; }}\n")
    project.kernel("fit")
    project.run("compile", "fit.py", "one.slang", "two.slang")
    assert {"fit.fit.jvp.spv", "one.fit.jvp.spv", "two.fit.jvp.spv"} <= set(project.files())


def test_compile__an_external_slangc__still_reads_declarations_with_the_library(project: Project) -> None:
    project.write("one.slang", "[Differentiable] float f(float x) { return x; }\n")
    ended = project.run("compile", "one.slang", "--slangc", "/bin/false", "--no-cache", code=4)
    assert "SA247" in ended.stderr or "SA243" in ended.stderr


@pytest.mark.parametrize("command", ["compile", "check", "run"])
def test_specialize__what_no_file_declares__is_refused(project: Project, command: str) -> None:
    project.write("one.slang", "[Differentiable] float f(float x) { return x; }\n")
    ended = project.run(command, "one.slang", "--specialize", "nope<float>", code=1)
    assert "error[SA083]: no Slang file declares 'nope<float>'" in ended.stderr


ALONE = """
[BackwardDerivative(f_bwd)] float f(float x) { return x * x; }
void f_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }
[ForwardDerivative(g_fwd)] float g(float x) { return x * x; }
DifferentialPair<float> g_fwd(DifferentialPair<float> x) { return diffPair(x.p * x.p, 2.0 * x.p * x.d); }
"""


PLAIN = """
import slangad as sa


@sa.kernel
def plain(x: sa.NoDiff[sa.Each[float]]) -> sa.Each[float]:
    return x
"""


def test_compile__a_mode_that_the_named_kernel_lacks__is_an_error_with_the_reason(project: Project) -> None:
    (project.folder / "alone.slang").write_text(ALONE, "utf-8")
    (project.folder / "plain.py").write_text(PLAIN, "utf-8")
    for name, mode, reason in (
        ("alone.slang:g", "backward", "g has no backward mode: it has a forward derivative alone"),
        ("alone.slang:f", "jvp", "f has no jvp mode: it has [BackwardDerivative] alone"),
        ("plain.py:plain", "backward", "plain has no backward mode: no gradient flows from its parameters"),
    ):
        refused = project.run("compile", name, "--mode", mode, code=1)
        assert f"error[SA417]: {reason}" in refused.stderr
        assert not (project.folder / "build").exists()
    project.run("compile", "alone.slang:g", "--mode", "backward", "--mode", "forward")
    project.run("compile", "alone.slang", "--mode", "backward")
    assert (project.folder / "build/alone.f.backward.spv").exists()
