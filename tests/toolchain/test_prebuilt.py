"""Library modules in binary form: made when it pays, and the code is the same as from their text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.shared_builds import build_each_time

from slangad.compiler.toolchain.cache import Cache
from slangad.compiler.toolchain.jobs.prebuilt import ModuleStore
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.locate import find_library
from slangad.compiler.toolchain.messages.messages import to_diagnostics
from slangad.compiler.toolchain.session import Toolchain, compile_here

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.toolchain

FILLER = "".join(f"public float filler_{n}(float x) {{ return x * {n}.0; }}\n" for n in range(120))
LIBRARY = (
    "module library;\n"
    "[BackwardDerivative(cube_backward)] public float cube(float x) { return x * x * x; }\n"
    "void cube_backward(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3.0 * x.p * x.p * d); }\n"
    "public T twice<T : __BuiltinFloatingPointType>(T x) { return x + x; }\n" + FILLER
)
KERNEL = """
import library;
[Differentiable] float f(float x) {{ return cube(x) + {number}.0; }}
[shader("compute")] [numthreads(8, 1, 1)]
void k(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<float> r)
{{ var p = diffPair(r[t.x]); bwd_diff(f)(p, twice(1.0)); r[t.x] = p.d; {more} }}
"""


def job(number: int, more: str = "", library: str = LIBRARY) -> CompileJob:
    text = KERNEL.format(number=number, more=more)
    return CompileJob("k.slang", text, ("k",), ("spirv", "hlsl", "cpp"), modules=(("library.slang", library),))


@pytest.fixture(autouse=True)
def _real_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    build_each_time(monkeypatch)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    original = ModuleStore.ready

    def ready(self, jobs, build):  # type: ignore[no-untyped-def]  # as the original
        return original(self, jobs, lambda *facts: (names.append(facts[0]), build(*facts))[1])

    monkeypatch.setattr(ModuleStore, "ready", ready)
    return names


def test_prebuilt__second_use__is_binary_and_gives_the_same_code(builds: list[str]) -> None:
    with Toolchain(workers=1) as toolchain:
        (from_text,) = toolchain.compile([job(1)])
        assert builds == []
        (from_binary,) = toolchain.compile([job(1)])
        (again,) = toolchain.compile([job(1)])
    assert builds == ["library.slang"]
    assert from_text.ok
    assert from_text == from_binary == again == compile_here([job(1)])[0]


def test_prebuilt__in_this_process__gives_the_same_code(builds: list[str]) -> None:
    modules = ModuleStore(find_library(), None)
    results = [compile_here([job(1)], modules)[0] for _ in range(3)]
    assert builds == ["library.slang"]
    assert results[0].ok
    assert results == [*compile_here([job(1)]) * 3]


def test_prebuilt__several_jobs__share_one_from_the_start(builds: list[str], tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with Toolchain(workers=2, cache=cache) as toolchain:
        assert all(result.ok for result in toolchain.compile([job(n) for n in range(4)]))
    with Toolchain(workers=1, cache=cache) as another:
        (result,) = another.compile([job(9)])
        assert result.ok
        assert not result.cached
    assert builds == ["library.slang"]


def test_prebuilt__next_process__builds_on_its_first_use(builds: list[str], tmp_path: Path) -> None:
    for number in range(3):
        with Toolchain(workers=1, cache=Cache(tmp_path)) as toolchain:
            toolchain.compile([job(number)])
        assert len(builds) == min(number, 1)


def test_prebuilt__error_beside_it__names_no_temporary_folder() -> None:
    with Toolchain(workers=1) as toolchain:
        results = [toolchain.compile([job(1, more="twice(1, 2, 3);")])[0] for _ in range(3)]
    assert results[0].messages
    for result in results:
        for diagnostic in to_diagnostics(result.messages, lambda *_: None):
            assert "slangad-" not in str(diagnostic)


def test_prebuilt__module_with_an_error__tells_it_as_ever() -> None:
    broken = job(1, library=LIBRARY + "float wrong() { return nothing; }")
    with Toolchain(workers=1) as toolchain:
        first, second = (toolchain.compile([broken])[0] for _ in range(2))
    assert first == second
    assert next((m.code, m.file) for m in first.messages) == (30015, "library.slang")


def test_prebuilt__small_or_dependent_module__stays_text(builds: list[str]) -> None:
    small = "module library; public float cube(float x) { return x; } public float twice(float x) { return x; }"
    with Toolchain(workers=1) as toolchain:
        for library in (small, LIBRARY.replace("module library;\n", "module library;\nimport glsl;\n")):
            for number in range(2):
                toolchain.compile([job(number, library=library)])
    assert builds == []


def test_prebuilt__module_in_a_folder__stays_text(builds: list[str]) -> None:
    text = 'import "common/library.slang";'
    jobs = [
        replace(one, source=one.source.replace("import library;", text), modules=(("common/library.slang", LIBRARY),))
        for one in map(job, range(4))
    ]
    with Toolchain(workers=1) as toolchain:
        assert all(result.ok for result in toolchain.compile(jobs))
    assert builds == []


def test_prebuilt__installed_module__is_read_in_binary_form_with_the_same_reflection(
    builds: list[str], tmp_path: Path
) -> None:
    (tmp_path / "installed.slang").write_text("module installed;\n__include more;\n")
    (tmp_path / "more.slang").write_text("implementing installed;\npublic struct Point { public float x; }\n" + FILLER)
    text = "import installed;\n[Differentiable] float f(Point p) { return p.x WIDTH; }\n"

    def reflected(width: str) -> CompileJob:
        return CompileJob(
            "d.slang",
            text,
            (),
            ("spirv",),
            include_dirs=(str(tmp_path),),
            defines=(("WIDTH", width),),
            whole=True,
            declarations=("Point",),
            installed=(str(tmp_path / "installed.slang"),),
        )

    with Toolchain(workers=1) as toolchain:
        results = [toolchain.compile([reflected("")])[0] for _ in range(3)]
        assert builds == [str(tmp_path / "installed.slang")]
        wrong = [toolchain.compile([reflected("+")])[0] for _ in range(2)]
        (tmp_path / "more.slang").write_text("implementing installed;\npublic struct Point { public double x; }\n")
        changed = [toolchain.compile([reflected("")])[0] for _ in range(2)]
    assert results[0].ok
    assert results[0] == results[1] == results[2]
    assert [path.rpartition("/")[2] for path in results[2].dependencies] == ["installed.slang", "more.slang"]
    assert len(builds) == 3
    assert not any(result.ok for result in wrong)
    assert {str(result.reflection).count("double") for result in changed} == {1}


def test_prebuilt__with_macros__is_made_for_each_set_of_them_and_gives_the_same_code(builds: list[str]) -> None:
    jobs = [replace(job(1), defines=defines) for defines in ((), (("float", "double"),), (("twice", "thrice"),))]
    jobs = [replace(one, targets=("hlsl", "cpp")) for one in jobs]
    with Toolchain(workers=1) as toolchain:
        from_text = toolchain.compile(jobs)
        assert builds == []
        from_binary = toolchain.compile(jobs)
    assert builds == ["library.slang"] * len(jobs)
    assert all(result.ok for result in from_text)
    assert from_text == from_binary
    assert len({result.artefacts[1].data for result in from_text}) > 1
