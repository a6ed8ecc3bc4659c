"""What ``slangad doctor`` says of C++ compilers that don't work."""

from __future__ import annotations

from pathlib import Path

import pytest

from slangad.compiler.runtime.device import inventory
from slangad.compiler.toolchain import tools


@pytest.mark.toolchain
@pytest.mark.parametrize("named", ["/nonexistent", "false", "'c++"])
def test_inventory__cxx_that_does_not_work__is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("CXX", named)
    for check in (inventory._tools()[0], inventory._try_device("cpu")):
        assert not check.works
        assert check.remedy == f"correct CXX, which names {named}, or unset it"


@pytest.mark.toolchain
def test_inventory__no_cxx_named__remedy_is_what_to_install(cxx: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    tool = inventory._tools()[0]
    assert tool.works
    assert tool.remedy.startswith("install g++ or clang++")


@pytest.mark.parametrize(
    ("version", "told"),
    [((12, 9), "version 12.9: before 13.1, a few kernels"), ((13, 1), "version 13.1"), (None, "libnvrtc.so.13")],
)
def test_inventory__nvrtc__says_which_versions_make_wrong_code(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int] | None, told: str
) -> None:
    monkeypatch.setattr(tools, "nvrtc_version", lambda _: version)
    detail = tools.TOOLS["nvrtc"].described(Path("lib/libnvrtc.so.13"))
    assert told in detail
    assert ("wrong" in detail) == (version == (12, 9))


def test_inventory__version_of_nvrtc__is_that_of_the_library(nvrtc: Path, tmp_path: Path) -> None:
    version = tools.nvrtc_version(nvrtc)
    assert version is not None
    assert version >= (11, 0)
    (tmp_path / "libnvrtc.so.13").write_bytes(b"no library")
    assert tools.nvrtc_version(tmp_path / "libnvrtc.so.13") is None
