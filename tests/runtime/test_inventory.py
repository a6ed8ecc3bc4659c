"""What ``slangad doctor`` says of C++ compilers that don't work."""

from __future__ import annotations

import pytest

from slangad.compiler.runtime.device import inventory


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
