"""The kernels that a module of tests names as ``DESCRIBED``, on every device in turn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.covering import is_covered
from support.devices import DEVICES, GPUS, device_of, loaded, need_half

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile
    from slangad.compiler.runtime.device.model import Device


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the combinations that others cover."""
    covered = [item for item in items if Path(__file__).parent not in item.path.parents or is_covered(item)]
    config.hook.pytest_deselected(items=[*set(items).difference(covered)])
    items[:] = covered


@pytest.fixture(params=DEVICES)
def kernels(request: pytest.FixtureRequest, cxx: object) -> LoadedFile:
    """The kernels on a device; ``DETERMINISTIC`` says whether gradients have the same bits on every run."""
    _need_features(request)
    return loaded(
        request.module.DESCRIBED, request.param, deterministic=getattr(request.module, "DETERMINISTIC", False)
    )


@pytest.fixture(params=GPUS)
def gpu(request: pytest.FixtureRequest) -> Device:
    """A device that is no CPU."""
    _need_features(request)
    return device_of(request.param)


def _need_features(request: pytest.FixtureRequest) -> None:
    """Skip or fail a test marked ``half`` on a device without half precision."""
    if request.node.get_closest_marker("half"):
        need_half(device_of(request.param))
