"""``slangad check --device all`` checks on every device of the machine, and shows all of them in one table."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.matrix import Matrix, render_matrix
from slangad.compiler.report.model import Verdict
from slangad.compiler.report.read_json import read_report
from slangad.compiler.runtime.device import drivers
from slangad.compiler.runtime.device.drivers import DeviceHere, devices_here

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Project

SQUARE = """
import slangad as sa


@sa.differentiable
def square(x: float) -> float:
    return x * x
"""


@pytest.mark.toolchain
def test_check_all_devices__a_function__has_a_cell_for_each_with_the_same_float64(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "DEVICES", {name: drivers.DEVICES[name] for name in ("cpu", "vulkan", "metal")})
    project.write("f.py", SQUARE)
    check = ("check", "f.py", "--device", "all", "--samples", "8")
    ended = project.run(*check, "--report", "json=m.json", "--report", "html=m.html")
    matrix = json.loads((project.folder / "m.json").read_text(encoding="utf-8"))
    here = [one["name"] for one in matrix["devices"]]
    assert here[0] == "cpu"
    assert [*here, *(one["name"] for one in matrix["absent"])] == ["cpu", "vulkan", "metal"]
    assert ended.stdout.splitlines()[0].split() == here
    assert ended.stdout.count("PASS") == len(here)
    assert f"metal: not here: {matrix['absent'][-1]['reason']}" in ended.stdout
    assert "float64 entries on all devices" in ended.stdout
    reports = [read_report(json.dumps(one["report"])) for one in matrix["devices"]]
    assert [report.device for report in reports] == here
    assert all(leg.state.value == "agrees" for r in reports for leg in r.results[0].legs if leg.leg.value == "float32")
    page = (project.folder / "m.html").read_text(encoding="utf-8")
    assert page.count('<td><span class="verdict good" title=') == len(here)

    (result,) = reports[0].results  # as if a device was wrong, and had other samples
    wrong = replace(reports[0], results=(replace(result, verdict=Verdict.PRECISION, samples=result.samples[:3]),))
    other = Matrix((("cpu", reports[0]), ("gpu", wrong)))
    text = render_matrix(other, "text")
    assert "✓ PASS" in text
    assert "✓ PRECISION" in text
    assert "on gpu:\n" in text
    assert "float64 entries differ between devices: square" in text
    assert "1 of 2 results pass" in text
    assert not other.ok
    assert "PRECISION" in render_matrix(other, "html")
    assert json.loads(render_matrix(other, "json"))["float64_differs"] == ["square"]
    assert "--shard is for one device" in project.run(*check, "--shard", "1/2", code=2).stderr
    assert "name a device for junit" in project.run(*check, "--report", "junit=a.xml", code=2).stderr


def test_devices_here__several_vulkan_drivers__are_told_apart_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    for name in ("a_icd", "b_icd", "c_icd"):
        (tmp_path / f"{name}.json").write_text("{}")
    monkeypatch.setattr(drivers, "_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(drivers, "DEVICES", {name: drivers.DEVICES[name] for name in ("cpu", "vulkan")})
    there = ["a_icd", "b_icd"]

    def tried(name: str, environment: dict[str, str]) -> tuple[bool, str]:
        file = environment.get("VK_DRIVER_FILES", "")
        return name == "cpu" or any(one in file for one in there), f"adapter of {file or name}"

    monkeypatch.setattr(drivers, "try_device", tried)
    assert [one.label for one in devices_here()] == ["cpu", "vulkan (a_icd)", "vulkan (b_icd)"]
    there.remove("a_icd")
    _, only = devices_here()
    assert (only.label, only.adapter) == ("vulkan", f"adapter of {tmp_path / 'b_icd.json'}")
    with only.selected():
        assert os.environ["VK_DRIVER_FILES"] == str(tmp_path / "b_icd.json")
    assert "VK_DRIVER_FILES" not in os.environ
    there.clear()
    assert [bool(one.reason) for one in devices_here()] == [False, True, True, True]
    assert DeviceHere("cpu").label == "cpu"
