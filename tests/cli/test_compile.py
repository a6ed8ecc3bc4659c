"""``slangad compile``: what it writes, what it prints, what it refuses."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.devices import device_of

from slangad.compiler.driver.unsupported import _GROUP_OF
from slangad.compiler.ir import types
from slangad.compiler.ir.targets import TRANSCENDENTAL
from slangad.compiler.lang.errors import TypeRuleError
from slangad.compiler.lang.intrinsics.typed import public_rows
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.lang.intrinsics.model import IntrinsicRow
    from slangad.compiler.toolchain.jobs.request import CompileResult
    from slangad.compiler.toolchain.session import Toolchain
    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain
MODES = ("forward", "backward", "jvp")


def test_compile__lines__slang_reports_places_of_the_descriptions(
    project: Project, compile_slang: Callable[..., CompileResult]
) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py", "--emit", "slang")
    text = project.run("compile", "fit.py", "--emit", "lines", "-o", "-").stdout
    described = {name: (project.folder / name).read_text().splitlines() for name in ("fit.py", "lib.py")}
    for name, code in (("fit.py", "return r * r"), ("lib.py", "return GAIN"), ("fit.slang", "result[i] = ")):
        wrong = text.replace(code, f"{code.split()[0]} {'=' * ('=' in code)} absent + {code.split()[-1]}", 1)
        lines = described.get(name, wrong.splitlines())
        result = compile_slang(wrong, ("fit_forward",), ("cpp",))
        (message,) = (m for m in result.messages if "undefined identifier" in m.text)
        assert Path(message.file).name == name
        assert lines[message.line - 1].lstrip().startswith(code.strip())


def test_compile__file_without_kernels__is_a_module_for_renderers(
    project: Project, compile_slang: Callable[..., CompileResult]
) -> None:
    project.kernel("fit")
    project.run("compile", "lib.py", "--emit", "slang")
    assert not re.search(r"\[shader|\buniform\b|Buffer<", (project.folder / "build/lib.slang").read_text())
    shader = """import lib;
        [shader("compute")] [numthreads(1, 1, 1)]
        void render(uniform RWStructuredBuffer<float> pixel) { pixel[0] = curve(2.0, 0.5); }"""
    result = compile_slang(shader, ("render",), ("wgsl",), include_dirs=(str(project.folder / "build"),))
    (artefact,) = result.artefacts
    assert artefact.text.count("@binding") == 1


def test_compile__plain__writes_slang_artefacts_reflection_manifest_and_depfile(project: Project) -> None:
    project.kernel("fit")
    ended = project.run("compile", "fit.py")
    artefacts = {f"fit.fit.{mode}.spv" for mode in MODES}
    files = project.files()
    expected = {"fit.slang", "fit.d", "fit.manifest.json", "manifest.json", *artefacts}
    assert set(files) - {"slangad.slang"} == expected | {f"{name}.reflection.json" for name in artefacts}
    assert all(files[name][:4] == b"\x03\x02\x23\x07" for name in artefacts)
    assert ended.stdout == ""
    assert ended.stderr == "1 kernel, 3 artefacts in build\n"


@pytest.mark.parametrize("words", [("-v", "compile"), ("compile", "-v"), ("-vq", "compile", "-v")])
def test_compile__verbose__tells_how_every_gradient_comes_together(project: Project, words: tuple[str, ...]) -> None:
    project.kernel("fit")
    said = project.run(*words, "fit.py").stderr.splitlines()
    assert said[-1].startswith("1 kernel, 3 artefacts in build")
    (kernel,) = project.manifest("build/fit.manifest.json")["inputs"][0]["kernels"]
    ways = [f"fit.{name}: {way}" for name, way in kernel["accumulation"].items()]
    assert ways
    assert [line.split(" (")[0] for line in said[:-1]] == ways
    assert project.run("-v", "compile", "-qq", "fit.py").stderr == ""


def test_compile__verbose__tells_in_groups_of_how_many_threads_sums_are_made(project: Project) -> None:
    text = "import slangad as sa\n"
    for size, name in (((4, 8), "few"), ((16, 32), "many")):
        text += f"@sa.kernel(dims=2, group_size={size})\n"
        text += f"def {name}(x: sa.Each[float], p: sa.Param[float]) -> sa.Each[float]:\n    return p * x\n"
    project.write("sums.py", text)
    said = project.run("compile", "-v", "--emit", "slang", "sums.py").stderr.splitlines()
    assert [line for line in said if "groups" in line and "_backward" in line] == [
        "few_backward: adds up in groups of 256 threads along one axis",
        "many_backward: adds up in groups of 512 threads along one axis",
    ]
    assert not any("forward" in line for line in said)


def test_compile__verbose__tells_what_groups_do(project: Project) -> None:
    head = "import slangad as sa\nfrom slangad import Array, Each, Param\n"
    net = "Net = sa.nn.MLP([8, 16, 1])\n@sa.kernel\ndef net(x: Each[Array[float, 8]], m: Param[Net]) -> Each[float]:\n"
    blur = "@sa.kernel(dims=2, group_size=(4, 8))\ndef blur(x: Each[float], p: Param[float]) -> Each[float]:\n"
    row = "@sa.kernel(group_size=(32,))\ndef row(x: Each[float]) -> Each[float]:\n    return x / sa.group_sum(x)\n"
    body = f"    return m(x)[0]\n{blur}    return p * sa.group_max(x)\n{row}"
    project.write("groups.py", head + net + body)
    multiplied = "multiplies matrices{} in groups of 256 threads along one axis"
    together = "computes together{} in groups of 32 threads that walk the domain in blocks of 4 x 8"
    for _ in range(2):  # the second time the description comes from the cache
        said = project.run("compile", "-v", "--emit", "slang", "groups.py").stderr.splitlines()
        assert [line for line in said if " in groups of " in line] == [
            f"net_forward: {multiplied.format('')}",
            f"net_backward: {multiplied.format(' and adds up')}",
            f"net_jvp: {multiplied.format('')}",
            f"blur_forward: {together.format('')}",
            f"blur_backward: {together.format(' and adds up')}",
            f"blur_jvp: {together.format('')}",
            "row_forward: computes together in groups of 32 threads along one axis",
            "row_backward: computes together in groups of 32 threads along one axis",
            "row_jvp: computes together in groups of 32 threads along one axis",
        ]


def test_compile__tile_of_a_kernel__is_in_what_verbose_says_and_in_the_manifest(project: Project) -> None:
    text = "import slangad as sa\n"
    for tile, name in (((8, 32), "blocks"), ("rows", "rows")):
        text += f"@sa.kernel(dims=2, tile={tile!r})\ndef {name}(x: sa.Each[float], w: sa.Tensor[float, 2]) -> "
        text += "sa.Each[float]:\n    return x * w[sa.thread_id(0) // 32 % 2, sa.thread_id(1) // 32]\n"
    project.write("lit.py", text)
    said = project.run("compile", "-v", "--emit", "slang", "lit.py").stderr.splitlines()
    assert [line for line in said if "groups of" in line and "_backward" in line] == [
        "blocks_backward: adds up in groups of 256 threads that walk the domain in tiles of 8 x 32",
        "rows_backward: adds up in groups of 256 threads along one axis",
    ]
    (one,) = project.manifest("build/lit.manifest.json")["inputs"]
    entries = {e["name"]: e for kernel in one["kernels"] for e in kernel["entry_points"]}
    assert (entries["blocks_backward"]["tile"], entries["rows_backward"]["tile"]) == ([8, 32], [])
    assert (entries["blocks_forward"]["tile"], entries["blocks_forward"]["group_size"]) == ([], [32, 8, 1])


def test_compile__verbose__tells_what_each_loop_keeps(project: Project) -> None:
    text = "import slangad as sa\n@sa.kernel\ndef f(x: sa.Each[float]) -> sa.Each[float]:\n    s = x\n"
    text += "    for k in sa.range(50, keep=10):\n        s = sa.sin(s + k)\n"
    text += "    for k in range(99):\n        s += sa.sin(x * k)\n    return s\n"
    project.write("loops.py", text)
    for _ in range(2):  # the second time the description comes from the cache
        said = project.run("compile", "-v", "--emit", "slang", "loops.py").stderr.splitlines()
        assert [line for line in said if "loop of" in line] == [
            "loops.py:5: loop of f: recompute, keeps 60 bytes (keep=10 says so)",
            "loops.py:7: loop of f: sum, keeps nothing (its state is only added to)",
        ]
    first, second = project.manifest("build/loops.manifest.json")["inputs"][0]["loops"]
    facts = {"function": "f", "line": 5, "way": "recompute", "kept": 60, "every": 10, "limit": 50}
    assert first == facts | {"reason": "keep=10 says so", "kernels": ["f"]}
    assert (second["way"], second["kept"], second["every"]) == ("sum", 0, 0)


def test_compile__verbose__of_a_loop_that_stays_as_it_is__says_that_it_keeps_every_state(project: Project) -> None:
    text = "import slangad as sa\n@sa.differentiable\ndef g(x: float) -> float:\n    return sa.sin(x)\n@sa.kernel\n"
    text += "def f(x: sa.Each[float]) -> sa.Each[float]:\n    s = x\n    for k in range(50):\n"
    text += "        s = s + sa.no_diff(sa.bwd_diff(g)(x, 1.0)) * s\n    return s\n"
    project.write("stays.py", text)
    said = project.run("compile", "-v", "--emit", "slang", "stays.py").stderr.splitlines()
    (line,) = [line for line in said if "loop of" in line]
    kept = "keep, keeps what Slang needs of every iteration"
    assert line == f"stays.py:8: loop of f: {kept} (the loop differentiates a function)"


def test_compile__verbose__of_a_loop_over_a_function_of_several_values__says_what_it_keeps(project: Project) -> None:
    text = "import slangad as sa\n@sa.differentiable\ndef step(x: float, v: float) -> tuple[float, float]:\n"
    text += "    return x + v, v - x\n@sa.kernel\ndef f(x: sa.Each[float], v: sa.Each[float]) -> sa.Each[float]:\n"
    text += "    for _ in range(100):\n        x, v = step(x, v)\n    return x\n"
    project.write("steps.py", text)
    said = project.run("compile", "-v", "--emit", "slang", "steps.py").stderr.splitlines()
    (line,) = [line for line in said if "loop of" in line]
    why = "x can't be found from its value after an iteration"
    assert line == f"steps.py:7: loop of f: recompute, keeps 160 bytes ({why})"


def test_compile__verbose__of_loops_with_one_name_for_counters__tells_of_each_tensor_by_its_own_loop(
    project: Project,
) -> None:
    text = "import slangad as sa\n@sa.kernel\ndef f(x: sa.Each[float], w: sa.Tensor[float, 1], v: sa.Tensor[float, 1])"
    text += " -> sa.Each[float]:\n    s = 0.0\n    for i in range(5):\n        s += w[i] * x\n    for k in range(50):\n"
    text += "        for i in range(5):\n            s = sa.sin(s + v[i])\n"
    text += "        if s > 0.9:\n            break\n    return s\n"
    project.write("counters.py", text)
    said = project.run("compile", "-v", "--emit", "slang", "counters.py").stderr.splitlines()
    found = {line.split(" (")[0] for line in said if line.startswith(("f.w:", "f.v:"))}
    assert found == {"f.w: shared", "f.v: together"}


TWO_KERNELS = """import slangad as sa
@sa.differentiable
def shared(x: float) -> float:
    s = x
    for k in range(99):
        s += sa.sin(x * k)
    return s
@sa.kernel
def f(x: sa.Each[float]) -> sa.Each[float]:
    s = shared(x)
    for k in range(50):
        s = sa.sin(s + k)
    return s
@sa.kernel
def g(x: sa.Each[float]) -> sa.Each[float]:
    s = shared(x)
    for k in range(50):
        s = sa.cos(s + k)
    return s
"""


def test_compile__verbose_of_one_kernel__tells_of_the_loops_that_it_runs(project: Project) -> None:
    project.write("loops.py", TWO_KERNELS)
    for words, of_loops in {"loops.py:f": [5, 11], "loops.py:g": [5, 17], "loops.py": [5, 11, 17]}.items():
        for _ in range(2):  # the second time the description comes from the cache
            said = project.run("compile", "-v", "--emit", "slang", words).stderr.splitlines()
            assert [int(line.split(":")[1]) for line in said if "loop of" in line] == of_loops
    (one,) = project.manifest("build/loops.g.manifest.json")["inputs"]
    assert [loop["line"] for loop in one["loops"]] == [5, 17]


IN_MEMORY = """import slangad as sa
from slangad import Array, Each, Param

@sa.struct
class Table:
    w: Array[float, 100]
    def at(self, x: float) -> float:
        s = x
        for k in range(100):
            s = s * sa.exp(-0.01 * self.w[k] * x)
        return s

@sa.differentiable
def shade(x: float, t: Table) -> float:
    return t.at(x)

@sa.kernel
def f(x: Each[float], t: Param[Table]) -> Each[float]:
    return shade(x, t)

@sa.kernel
def g(x: Each[float]) -> Each[float]:
    return x
"""


def test_compile__verbose_of_a_function_in_several_forms__tells_which_one_kernels_run(project: Project) -> None:
    project.write("forms.py", IN_MEMORY)
    ways = {"in no kernel": "keep, keeps 400 bytes", "in f": "invert, keeps 80 bytes"}
    for _ in range(2):  # the second time the description comes from the cache
        said = project.run("compile", "-v", "--emit", "slang", "forms.py").stderr.splitlines()
        found = [line.partition(" (")[0] for line in said if "loop of" in line]
        assert found == [f"forms.py:9: loop of Table_at {where}: {way}" for where, way in ways.items()]
        said = project.run("compile", "-v", "--emit", "slang", "forms.py:f").stderr.splitlines()
        (line,) = [line.partition(" (")[0] for line in said if "loop of" in line]
        assert line == "forms.py:9: loop of Table_at: invert, keeps 80 bytes"
    (one,) = project.manifest("build/forms.manifest.json")["inputs"]
    assert [(loop["way"], loop["kernels"]) for loop in one["loops"]] == [("keep", []), ("invert", ["f"])]


def test_compile__verbose__tells_what_each_target_has_for_scattered_gradients(project: Project) -> None:
    text = "import slangad as sa\n@sa.kernel\n"
    text += "def pick(i: sa.Each[int], w: sa.Tensor[float, 1]) -> sa.Each[float]:\n    return w[i]\n"
    project.write("pick.py", text)
    said = project.run("compile", "-v", *(f"-t{t}" for t in ("cpp", "spirv", "wgsl", "hlsl", "cuda")), "pick.py").stderr
    for line in (
        "on cpp: every worker adds to a copy of its own, in double; the copies are added up in fixed order",
        "on spirv, cuda: waves add up, then groups add up in memory of their own, then atomic additions of floats",
        "on wgsl: groups add up in memory of their own, then compare-and-exchange",
        "on hlsl: waves add up, then compare-and-exchange",
    ):
        assert f"shared, together and scatter {line}\n" in said
    assert "then atomic additions in a copy; on GPUs in float, doubles too; i decides)\n" in said


def test_compile__manifest__tells_everything_and_its_hashes_hold(project: Project) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py", "-t", "spirv", "-t", "wgsl", "-t", "cuda", "-o", "out/deep")
    manifest, files = project.manifest("out/deep/manifest.json"), project.files("out/deep")
    of_input = project.manifest("out/deep/fit.manifest.json")
    assert set(of_input.pop("build")["outputs"]) == files.keys() - {"manifest.json", "fit.manifest.json", "fit.d"}
    assert manifest == of_input
    assert manifest["schema"] == 1
    assert manifest["targets"] == ["spirv", "wgsl", "cuda"]
    assert manifest["toolchain"]["slang"]
    (record,) = manifest["inputs"]
    assert record["path"] == "../../fit.py"
    assert {source["path"] for source in record["sources"]} == {"../../fit.py", "../../lib.py"}
    for source in record["sources"]:
        content = (project.folder / "out/deep" / source["path"]).read_bytes()
        assert source["sha256"] == hashlib.sha256(content).hexdigest()
    assert record["constants"] == [{"name": "GAIN", "value": "2.0"}]
    (kernel,) = record["kernels"]
    assert [entry["mode"] for entry in kernel["entry_points"]] == list(MODES)
    listed = [file for entry in kernel["entry_points"] for file in entry["artefacts"]]
    assert len(listed) == 9
    for file in (*listed, *record["files"]):
        assert hashlib.sha256(files[file["file"]]).hexdigest() == file["sha256"]
    for entry in kernel["entry_points"]:
        assert entry["group_size"] == [64, 1, 1]
        bound = [p for p in entry["parameters"] if p["access"] != "value"]
        assert bound
        assert all(set(p["bindings"]) == {"spirv", "wgsl", "cuda"} for p in bound)


def test_compile__same_input_elsewhere__gives_the_same_bytes(project: Project) -> None:
    for name in ("one", "two"):
        here = replace(project, folder=project.folder / name)
        here.folder.mkdir()
        here.kernel("fit")
        here.run("compile", "fit.py", "--no-cache")
    assert project.files("one/build") == project.files("two/build")


def test_compile__again__keeps_files_and_their_times(project: Project) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py")
    before = {path: path.stat().st_mtime_ns for path in (project.folder / "build").iterdir()}
    for words, said in (((), "up to date"), (("--force",), "from the cache")):
        ended = project.run("compile", "fit.py", *words)
        assert f"1 of 1 {said}" in ended.stderr
    assert {path: path.stat().st_mtime_ns for path in (project.folder / "build").iterdir()} == before


def test_compile__depfile__names_inputs_and_all_that_is_written(project: Project) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py", "--depfile", "all.d")
    made, _, needed = (project.folder / "build/fit.d").read_text().replace("\\\n", " ").partition(":")
    assert set(needed.split()) == {"fit.py", "lib.py"}
    assert set(made.split()) == {f"build/{name}" for name in project.files()} - {"build/fit.d", "build/manifest.json"}
    assert set((project.folder / "all.d").read_text().replace("\\\n", " ").partition(":")[2].split()) == {
        "fit.py",
        "lib.py",
    }
    project.run("compile", "fit.py", "--depfile-target", "stamp")
    assert (project.folder / "build/fit.d").read_text().startswith("stamp:")


def test_compile__stdout__prints_the_slang_alone(project: Project) -> None:
    project.kernel("fit")
    ended = project.run("compile", "fit.py", "-o", "-")
    project.run("compile", "fit.py")
    assert ended.stdout == project.files()["fit.slang"].decode()
    assert ended.stderr == ""
    assert not (project.folder / "-").exists()


def test_compile__stdout_with_a_target__prints_the_one_artefact(project: Project) -> None:
    project.kernel("fit")
    ended = project.run("compile", "fit.py", "-t", "wgsl", "--mode", "forward", "-o", "-")
    assert "@compute" in ended.stdout
    refused = project.run("compile", "fit.py", "-t", "wgsl", "-o", "-", code=2)
    assert "gives 3" in refused.stderr
    assert "--mode" in refused.stderr
    assert refused.stdout == ""


def test_compile__emit__writes_only_what_is_asked(project: Project) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py", "--emit", "slang", "-o", "slang")
    assert not [name for name in project.files("slang") if "spv" in name]
    assert "fit.slang" in project.files("slang")
    project.run("compile", "fit.py", "--emit", "ir", "-o", "ir")
    assert set(project.files("ir")) == {"fit.ir.txt", "fit.d", "fit.manifest.json", "manifest.json"}
    assert (
        project.run("compile", "fit.py", "--emit", "ir", "-o", "-").stdout == project.files("ir")["fit.ir.txt"].decode()
    )


def test_compile__one_kernel_of_a_file__gets_files_of_its_own(project: Project) -> None:
    text = project.kernel("pair", kernel="first").read_text()
    second = text[text.index("@sa.kernel") :].replace("def first", "def second")
    project.write("pair.py", f"{text}\n\n{second}")
    project.run("compile", "pair.py:second")
    files = set(project.files())
    assert {"pair.slang", "pair.second.d", "pair.second.manifest.json", "pair.second.forward.spv"} <= files
    assert not any("first" in name for name in files)
    (record,) = project.manifest()["inputs"]
    assert [kernel["name"] for kernel in record["kernels"]] == ["second"]
    ended = project.run("compile", "pair.py:third", code=1)
    assert "error[SA403]" in ended.stderr
    assert "first, second" in ended.stderr


def test_compile__several_inputs__share_one_manifest(project: Project) -> None:
    for name in ("fit", "other"):
        project.kernel(name)
    ended = project.run("compile", "fit.py", "other.py", "-j", "2")
    assert ended.stderr == "2 kernels, 6 artefacts in build\n"
    assert [record["path"] for record in project.manifest()["inputs"]] == ["../fit.py", "../other.py"]
    assert [record["path"] for record in project.manifest("build/other.manifest.json")["inputs"]] == ["../other.py"]


def test_compile__json__is_one_document(project: Project) -> None:
    project.kernel("fit")
    ended = project.run("compile", "fit.py", "--format", "json")
    document = json.loads(ended.stdout)
    assert ended.stderr == "1 kernel, 3 artefacts in build\n"
    assert (document["schema"], document["ok"], document["exit_code"], document["diagnostics"]) == (1, True, 0, [])
    assert {name.removeprefix("build/") for name in document["files"]} == set(project.files())
    assert document["inputs"] == project.manifest()["inputs"]


def test_compile__dump_after__shows_the_ir_on_stderr(project: Project) -> None:
    from slangad.compiler.passes.order import PASS_NAMES

    project.kernel("fit")
    ended = project.run("compile", "fit.py", "-o", "-", "--dump-after", PASS_NAMES[0])
    assert f"after {PASS_NAMES[0]}" in ended.stderr
    assert ended.stdout == project.run("compile", "fit.py", "-o", "-").stdout
    assert PASS_NAMES[0] in project.run("compile", "fit.py", "--dump-after", "nonsense", code=2).stderr


def test_compile__no_input__says_what_to_do(project: Project) -> None:
    assert "slangad compile brdf.py" in project.run("compile", code=2).stderr


@pytest.mark.parametrize(
    "words", [["--watch", "-o", "-"], ["--watch", "--format", "json"], ["-o", "-", "--format", "json"], ["-O", "4"]]
)
def test_compile__options_that_contradict__are_a_usage_error(project: Project, words: list[str]) -> None:
    project.kernel("fit")
    project.run("compile", "fit.py", *words, code=2)


def test_compile__missing_tool__writes_the_other_targets(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from slangad.compiler.ir.targets import TARGETS
    from slangad.compiler.toolchain.tools import TOOLS

    lacking = next((t for t in TARGETS.values() if t.tool and TOOLS[t.tool].find() is None), None)
    if lacking is None:
        pytest.skip("this machine has every tool")
    project.kernel("fit")
    ended = project.run("compile", "fit.py", "-t", lacking.name, "-t", "spirv", code=4)
    assert "error[SA242]" in ended.stderr
    assert TOOLS[lacking.tool].name in ended.stderr
    assert {f"fit.fit.{mode}.spv" for mode in MODES} <= set(project.files())
    (record,) = project.manifest()["inputs"]
    listed = [file for entry in record["kernels"][0]["entry_points"] for file in entry["artefacts"]]
    assert {file["target"] for file in listed} == {"spirv"}


def test_compile__functions_only__writes_the_slang(project: Project) -> None:
    project.kernel("fit")
    ended = project.run("compile", "lib.py")
    assert "curve" in project.files()["lib.slang"].decode()
    assert "no kernel" in ended.stderr


REBUILD = """
import resource, sys
from slangad.cli.main import cli
try:
    cli.main(["compile", "fit.py", "other.py", "-t", "spirv", "-t", "wgsl"])
except SystemExit as end:
    assert not end.code, end.code
heavy = [name for name in ("numpy", "slangpy", "yaml", "rich", "slangad.compiler.frontends") if name in sys.modules]
assert not heavy, heavy
with open("/proc/self/maps") as maps:
    assert "slang-compiler" not in maps.read()
assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss == 0, "a process was started"
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_compile__unchanged__loads_no_compiler_and_starts_no_process(project: Project) -> None:
    for name in ("fit", "other"):
        project.kernel(name)
    project.run("compile", "fit.py", "other.py", "-t", "spirv", "-t", "wgsl")
    ended = subprocess.run(
        [sys.executable, "-c", REBUILD],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "2 of 2 up to date" in ended.stderr


def test_compile__fresh__loads_no_numpy(project: Project) -> None:
    project.kernel("fit")
    program = "import sys\nfrom slangad.cli.main import cli\ntry: cli.main(['compile', 'fit.py'])\n"
    program += "except SystemExit as end: assert not end.code\nassert 'numpy' not in sys.modules\n"
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, cwd=project.folder, env=project.environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_compile__double_where_a_target_has_none__is_refused_there_and_the_others_are_written(project: Project) -> None:
    project.write(
        "wide.py",
        "import slangad as sa\nfrom slangad import Each\n\n\n@sa.differentiable\ndef f(x: float) -> float:\n"
        "    return float(sa.double(x) * 2.0)\n\n\n"
        "@sa.kernel\ndef wide(x: Each[float]) -> Each[float]:\n    return f(x)\n\n\n"
        "@sa.kernel\ndef narrow(x: Each[float]) -> Each[float]:\n    return x\n",
    )
    words = ("compile", "wide.py", "-t", "metal", "-t", "hlsl", "-t", "wgsl", "--mode", "forward")
    for _ in range(2):  # the second time the description is remembered
        ended = project.run(*words, code=1)
        assert "wide.py:7:18: error[SA211]: metal and wgsl have no double, which kernel 'wide' uses" in ended.stderr
        endings = {name.rpartition(".")[2] for name in project.files() if ".forward." in name}
        assert endings == {"hlsl", "json"}
    project.run("compile", "wide.py:narrow", "-t", "metal", "-o", "narrow")
    project.run("compile", "wide.py:wide", "-t", "metal", "-o", "nothing", code=1)
    assert not (project.folder / "nothing").exists()


DOUBLE_FUNCTIONS = """import slangad as sa
from slangad import Each


@sa.differentiable
def grown(x: sa.double) -> sa.double:
    return sa.exp(x)


@sa.kernel
def power(x: Each[sa.double]) -> Each[sa.double]:
    return grown(x) + 1.0


@sa.kernel
def root(x: Each[sa.double]) -> Each[sa.double]:
    return sa.sqrt(sa.abs(x)) + 1.0


@sa.kernel
def plain(x: Each[sa.double]) -> Each[sa.double]:
    return sa.radians(x) * x / 3.0 + max(x, sa.clamp(x, 0.0, 2.0)) + x**3
"""


def test_compile__function_of_double_that_a_target_lacks__is_refused_there_and_the_others_are_written(
    project: Project,
) -> None:
    project.write("wide.py", DOUBLE_FUNCTIONS)
    targets = ("spirv", "spirv-asm", "glsl", "hlsl", "cuda", "cpp")
    words = ("compile", "wide.py", *(word for target in targets for word in ("-t", target)), "--mode", "forward")
    ended = project.run(*words, code=1)
    what = "exponential, logarithm, power or angle function of double, which kernel 'power' uses"
    assert f"wide.py:7:15: error[SA211]: spirv and spirv-asm and glsl and hlsl have no {what}" in ended.stderr
    what = "root, rounding, remainder or geometric function of double, which kernel 'root' uses"
    assert f"wide.py:17:15: error[SA211]: hlsl has no {what}" in ended.stderr
    assert ended.stderr.count("SA211") == 2
    for kernel, missing in (("power", ("spirv", "hlsl")), ("root", ("hlsl",)), ("plain", ())):
        for target in ("spirv", "hlsl", "cuda", "cpp"):
            code = 1 if target in missing else 0
            project.run("compile", f"wide.py:{kernel}", "-t", target, "-o", "one", code=code)


def _of_doubles(row: IntrinsicRow) -> bool:
    try:
        return row.rule([types.DOUBLE] * len(row.params)).result == types.DOUBLE
    except TypeRuleError:
        return False


def test_functions_of_double__that_vulkan_has__use_no_instruction_of_float(project: Project) -> None:
    rows = [row for row in public_rows().values() if _of_doubles(row) and _GROUP_OF.get(row.name) != TRANSCENDENTAL]
    assert len(rows) >= 20
    calls = "".join(f"    t += sa.{row.name}({', '.join('xyz'[: len(row.params)])})\n" for row in rows)
    parameters = ", ".join(f"{name}: sa.Each[sa.double]" for name in "xyz")
    body = f"    t = sa.double(0.0)\n{calls}    return t\n"
    kernel = f"@sa.kernel\ndef all_of_them({parameters}) -> sa.Each[sa.double]:\n{body}"
    project.write("wide.py", f"import slangad as sa\n\n\n{kernel}")
    project.run("compile", "wide.py", "-t", "spirv-asm", "-o", "asm")
    text = "".join(path.read_text(encoding="utf-8") for path in (project.folder / "asm").glob("*.spvasm"))
    found = set(re.findall(r"OpExtInst %(?:v\ddouble|double) %\d+ (\w+)", text))
    assert "Sqrt" in found
    assert {name for name in found if re.match(r"Exp|Log|Pow|A?(Sin|Cos|Tan)", name)} == set()


def test_run__function_of_double_that_vulkan_lacks__is_refused(project: Project) -> None:
    device_of("vulkan")
    project.write("wide.py", DOUBLE_FUNCTIONS)
    ended = project.run("run", "wide.py:power", "--random", "1", "--domain", "4", "--device", "vulkan", code=1)
    assert "wide.py:7:15: error[SA211]: vulkan has no exponential" in ended.stderr
    project.run("run", "wide.py:root", "--random", "1", "--domain", "4", "--device", "vulkan")


def test_compile__table_that_is_not_finite__is_refused_for_wgsl(project: Project) -> None:
    project.write(
        "table.py",
        "import math\nimport slangad as sa\nfrom slangad import Each\n\nENDS = (1.0, math.inf)\nTOP = math.inf\n\n\n"
        "@sa.kernel\ndef table(x: Each[float]) -> Each[float]:\n"
        "    for i in range(2):\n        x = min(x, ENDS[i])\n    return x\n\n\n"
        "@sa.kernel\ndef top(x: Each[float]) -> Each[float]:\n    return min(x, TOP)\n",
    )
    ended = project.run("compile", "table.py", "-t", "wgsl", "-t", "glsl", code=1)
    assert "table.py:12:20: error[SA211]: wgsl has no table with inf or nan, which kernel 'table' uses" in ended.stderr
    project.run("compile", "table.py:top", "-t", "wgsl", "-o", "top")


def test_compile__emitted_slang_in_another_folder__compiles_with_the_descriptions_folder(
    project: Project, toolchain: Toolchain
) -> None:
    project.write("src/sub/bsdf.slang", "[Differentiable]\npublic float ggx(float x) { return x * x; }\n")
    project.write(
        "src/lit.py",
        "import slangad as sa\nfrom slangad import Each\n\n"
        'ggx = sa.extern("ggx", "sub/bsdf.slang", "(x: float) -> float", differentiable=True)\n\n\n'
        "@sa.kernel\ndef lit(x: Each[float]) -> Each[float]:\n    return ggx(sa.sqrt(x))\n",
    )
    project.run("compile", "src/lit.py", "--emit", "slang", "-o", "build")
    text = (project.folder / "build" / "lit.slang").read_text()
    folders = tuple(str(project.folder / name) for name in ("build", "src"))
    job = CompileJob("lit.slang", text, ("lit_forward",), ("glsl",), include_dirs=folders)
    (result,) = toolchain.compile([job])
    assert result.ok, result.messages


def test_compile__a_pipeline__is_the_kernels_it_calls(project: Project) -> None:
    project.write("fit.py", PIPELINE)
    for _ in range(2):
        project.run("compile", "fit.py:all", "-t", "wgsl", "-o", "build")
        (record,) = project.manifest("build/fit.all.manifest.json")["inputs"]
        assert [kernel["name"] for kernel in record["kernels"]] == ["inner", "outer"]
        assert record["pipelines"] == {"all": ["inner", "outer"]}
    assert "it has: inner, outer, other, all" in project.run("compile", "fit.py:lost", code=1).stderr


PIPELINE = """
import slangad as sa
from slangad import Each, Sum, Tensor


@sa.kernel
def inner(x: Each[float]) -> Each[float]:
    return x * x


@sa.kernel
def outer(x: Tensor[float, 1], y: Each[float]) -> Sum[float]:
    return x[0] * y


@sa.kernel
def other(x: Each[float]) -> Each[float]:
    return x


@sa.pipeline
def all(x: Tensor[float, 1]) -> Sum[float]:
    return outer(inner(x), x)
"""


def test_compile__a_folder__stands_for_what_it_describes(project: Project) -> None:
    project.kernel("fit")
    project.write("plain.py", "raise SystemExit(1)\n")
    project.write("test_fit.py", "import slangad as sa\nraise SystemExit(1)\n")
    project.run("compile", ".", "--emit", "slang", "-o", "out")
    assert "fit.slang" in [file.name for file in (project.folder / "out").glob("*.slang")]
