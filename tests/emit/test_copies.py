"""Copies of totals: what the text of the library and those who launch it must agree on, and what a launch gets."""

from __future__ import annotations

import re

import pytest

from slangad.compiler.emit.library import library_text
from slangad.compiler.emit.model import COPIED_SCALARS, MANY_COPIES
from slangad.compiler.runtime.device.gpu_launches import copies_of


def test_many_copies__in_the_library__are_those_of_the_launcher() -> None:
    text = library_text("slangad_tensors.slang")
    assert re.findall(r"uint MANY_COPIES = (\d+);", text) == [str(MANY_COPIES)]


@pytest.mark.parametrize("power", [14, 16, 18])
def test_copies__of_a_table_without_slots__are_many_and_at_most_128_mebibytes(power: int) -> None:
    scalars = 1 << power
    for elements in (MANY_COPIES * 512, 1 << 18, 1 << 22, 1 << 26):
        copies = copies_of(elements, scalars, alone=True)
        assert copies >= MANY_COPIES
        assert copies * scalars * 4 <= 128 << 20


def test_copies__of_a_tensor_with_slots__take_what_is_set_aside_for_them() -> None:
    for elements, scalars in ((0, 0), (1, 1), (1 << 18, 180_000), (1 << 22, 1 << 22), (1 << 24, 3)):
        copies = copies_of(elements, scalars)
        assert 1 <= copies <= 528
        assert copies * scalars <= COPIED_SCALARS
