"""The store on disk, and the results in it: found again when nothing changed, never when something did."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import slangad
from slangad.compiler.toolchain.cache import DIRECTORY_VARIABLE, SIZE_VARIABLE, Cache, cache_directory, default_cache
from slangad.compiler.toolchain.jobs import cached_results as results
from slangad.compiler.toolchain.jobs.records import pack_result, unpack_result
from slangad.compiler.toolchain.jobs.request import Artefact, CompileJob, CompileResult
from slangad.compiler.toolchain.messages.messages import SlangMessage
from slangad.compiler.toolchain.session import Toolchain, compile_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "ab" * 32


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def _noise(size: int) -> bytes:
    """Return bytes that do not become fewer."""
    return random.Random(size).randbytes(size)


def stored(cache: Cache) -> Iterator[Path]:
    return cache.directory.glob("??/*")


def test_cache__put__is_got(cache: Cache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, b"value")
    assert cache.get(KEY) == b"value"
    assert Cache(cache.directory).get(KEY) == b"value"


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_cache__damaged_entry__is_missing_and_deleted(cache: Cache, damage: str) -> None:
    cache.put(KEY, _noise(500))
    (path,) = stored(cache)
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(
        {"flip": bytes(content), "cut": bytes(content[:80]), "empty": b"", "other": b"something else"}[damage]
    )
    assert cache.get(KEY) is None
    assert not path.exists()


def test_cache__too_large__drops_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=10_000)
    keys = [f"{n:064x}" for n in range(20)]
    for age, key in enumerate(keys):
        cache.put(key, _noise(900))
        os.utime(cache.directory / key[:2] / key[2:], (age, age))
    assert cache.get(keys[0]) is None
    recent = next(key for key in keys if cache.get(key))  # using an entry makes it the youngest
    cache.put("f" * 64, _noise(6000))
    cache.evict()
    assert cache.get(recent) is not None
    assert sum(path.stat().st_size for path in stored(cache)) <= 10_000


def test_cache__build_larger_than_the_limit__keeps_its_own_entries(tmp_path: Path) -> None:
    old, keys = "e" * 64, [f"{n:064x}" for n in range(30)]
    Cache(tmp_path, limit=10_000).put(old, _noise(900))
    os.utime(tmp_path / old[:2] / old[2:], (0, 0))
    for key in keys:
        Cache(tmp_path, limit=10_000).put(key, _noise(900))  # each from a process of its own
    assert all(Cache(tmp_path).get(key) for key in keys)
    assert Cache(tmp_path).get(old) is None
    for key in keys:
        os.utime(tmp_path / key[:2] / key[2:], (1, 1))
    Cache(tmp_path, limit=10_000).evict()
    assert sum(path.stat().st_size for path in tmp_path.glob("??/*")) <= 10_000


def test_cache__recent_entries_of_many_times_the_limit__are_dropped_too(tmp_path: Path) -> None:
    for n in range(60):
        Cache(tmp_path, limit=10_000).put(f"{n:064x}", _noise(900))
    assert 10_000 < sum(path.stat().st_size for path in tmp_path.glob("??/*")) <= 40_000


def test_cache__folder_not_writable__stores_nothing_silently(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "cache")
    cache.put(KEY, b"value")
    assert cache.get(KEY) is None


WRITER = """
import sys
from pathlib import Path
from slangad.compiler.toolchain.cache import Cache
cache = Cache(Path(sys.argv[1]), limit=200_000)
for turn in range(300):
    key = f"{turn % 40:064x}"
    found = cache.get(key)
    if found is not None and found != key.encode() * 200:
        sys.exit("torn entry")
    cache.put(key, key.encode() * 200)
"""


def test_cache__four_processes_at_once__never_see_a_torn_entry(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(slangad.__file__).parent.parent)}
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    running = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    assert not [path for path in stored(Cache(tmp_path)) if path.name.startswith(".")]


def test_default_cache__environment__decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.setenv(SIZE_VARIABLE, "0")
    assert default_cache() is None
    monkeypatch.setenv(SIZE_VARIABLE, "1000")
    cache = default_cache()
    assert cache is not None
    assert (cache.limit, cache.directory) == (1000, tmp_path)
    monkeypatch.delenv(DIRECTORY_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform == "linux":
        assert cache_directory() == tmp_path / "xdg" / "slangad"


def test_records__result__comes_back_the_same() -> None:
    note = SlangMessage(1, "note", "f", 1, 2, 1, 3, "see")
    message = SlangMessage(2, "warning", "f", 4, 5, 6, 7, "mind", (note,), ("cpp",))
    result = CompileResult(
        artefacts=(Artefact("spirv", "a", b"\0\1"), Artefact("cpp", "", b"")),
        reflection=(("spirv", "a", "{}"),),
        messages=(message,),
        dependencies=("/x",),
        cached=True,
    )
    assert unpack_result(pack_result(result)) == result


def job(entry: str, folder: Path | None = None, **more: object) -> CompileJob:
    text = "import table;\n" + entry.format(name="k", body="r[i] = value();")
    plain = CompileJob("k.slang", text, ("k",), ("hlsl",), include_dirs=(str(folder),) if folder else ())
    return replace(plain, **more)  # type: ignore[arg-type]  # fields of the job


@pytest.mark.toolchain
def test_results__again__comes_from_the_cache_without_slang(cache: Cache, tmp_path: Path, entry: str) -> None:
    (tmp_path / "table.slang").write_text("float value() { return 1.0; }")
    (first,) = compile_jobs([job(entry, tmp_path)], cache=cache)
    assert first.ok
    assert not first.cached
    assert first.dependencies == (str(tmp_path / "table.slang"),)
    script = f"""
import sys
from pathlib import Path
from slangad.compiler.toolchain.cache import Cache
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.session import compile_jobs
(result,) = compile_jobs([{job(entry, tmp_path)!r}], cache=Cache(Path({str(cache.directory)!r})))
assert result.cached
print(result.artefacts[0].text)
maps = Path("/proc/self/maps")
assert not maps.exists() or "slang-compiler" not in maps.read_text()
assert not {{"numpy", "slangpy", "ctypes.util", "rich", "yaml"}} & set(sys.modules), "loads too much"
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(slangad.__file__).parent.parent)}
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.stdout.strip() == first.artefacts[0].text.strip(), ended.stderr


@pytest.mark.toolchain
def test_results__anything_changes__compiles_again(cache: Cache, tmp_path: Path, entry: str) -> None:
    folder, earlier = tmp_path / "slang", tmp_path / "earlier"
    folder.mkdir()
    earlier.mkdir()
    table = folder / "table.slang"
    table.write_text("float value() { return 1.0; }")

    with Toolchain(workers=1, cache=cache) as toolchain:

        def compile_it(**more: object) -> CompileResult:
            (result,) = toolchain.compile([job(entry, folder, **more)])
            return result

        assert not compile_it().cached
        assert compile_it().cached
        assert not compile_it(optimization=2).cached
        assert not compile_it(defines=(("A", "1"),)).cached
        assert not compile_it(whole=True, targets=("cpp",)).cached
        both = (str(earlier), str(folder))
        assert not compile_it(include_dirs=both).cached
        assert compile_it(include_dirs=both).cached
        (earlier / "table.slang").write_text("float value() { return 7.0; }")
        shadowed = compile_it(include_dirs=both)
        assert not shadowed.cached
        assert "7.0" in shadowed.artefacts[0].text
        table.write_text("float value() { return 2.0; }")
        changed = compile_it()
        assert not changed.cached
        assert "2.0" in changed.artefacts[0].text
        table.write_text("float value() { return 1.0; }")
        assert compile_it().cached


@pytest.mark.toolchain
def test_results__slangads_own_finish_changes__compiles_again(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    one = job(entry, modules=(("table.slang", "public float value() { return 1.0; }"),))
    for name in results.FINISHERS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((Path(results.__file__).parents[1] / name).read_bytes())
    monkeypatch.setattr(results, "__file__", str(tmp_path / "jobs" / "results.py"))
    compile_jobs([one], cache=cache)
    (again,) = compile_jobs([one], cache=cache)
    assert again.cached
    for name in results.FINISHERS:
        results._finish.cache_clear()
        with (tmp_path / name).open("a") as file:
            file.write("# changed\n")
        (changed,) = compile_jobs([one], cache=cache)
        assert not changed.cached
    results._finish.cache_clear()


@pytest.mark.toolchain
def test_results__damaged__are_built_again(cache: Cache, entry: str) -> None:
    one = job(entry, modules=(("table.slang", "public float value() { return 1.0; }"),))
    (first,) = compile_jobs([one], cache=cache)
    for path in stored(cache):
        path.write_bytes(path.read_bytes()[:-3] + b"bad")
    (again,) = compile_jobs([one], cache=cache)
    assert not again.cached
    assert again.artefacts == first.artefacts
    (third,) = compile_jobs([one], cache=cache)
    assert third.cached


@pytest.mark.toolchain
def test_results__interrupted__keep_what_was_finished(cache: Cache, entry: str) -> None:
    texts = [entry.format(name="k", body=f"r[i] = {number};") for number in range(2)]
    jobs = [CompileJob(f"k{number}.slang", text, ("k",), ("hlsl",)) for number, text in enumerate(texts)]

    def interrupt(through: int, _: int) -> None:
        if through:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        compile_jobs(jobs, workers=1, cache=cache, progress=interrupt)
    first, second = compile_jobs(jobs, cache=cache)
    assert first.cached
    assert not second.cached


@pytest.mark.toolchain
def test_results__rejected__are_not_kept(cache: Cache, entry: str) -> None:
    one = job(entry)
    for _ in range(2):
        (result,) = compile_jobs([one], cache=cache)
        assert not result.ok
        assert not result.cached
    assert not list(stored(cache))


@pytest.mark.toolchain
def test_results__many_hits__are_fast(cache: Cache, entry: str) -> None:
    jobs = [
        CompileJob(
            f"k{n}.slang", entry.format(name="k", body=f"r[i] = {n};"), ("k",), ("hlsl", "glsl", "wgsl", "metal")
        )
        for n in range(20)
    ]
    compile_jobs(jobs, cache=cache)
    seen: list[tuple[int, int]] = []
    start = time.monotonic()
    results = compile_jobs(jobs, cache=cache, progress=lambda through, total: seen.append((through, total)))
    assert time.monotonic() - start < 0.3
    assert all(result.cached for result in results)
    assert seen[-1] == (80, 80)
