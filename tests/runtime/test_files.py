"""Files of arrays: complete or not at all, and what is no file stays what it is."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.arrays.files import save_together, write_arrays

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has neither such pipes nor such devices")


def test_save__to_a_pipe__sends_the_file_and_leaves_the_pipe(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    save_together({pipe: lambda file: write_arrays(file, {"x": np.arange(3.0)})})
    reader.join(10)
    assert pipe.is_fifo()
    with np.load(io.BytesIO(found[0])) as arrays:
        assert arrays["x"].tolist() == [0, 1, 2]


def test_save__to_a_device_that_is_full__is_refused_and_leaves_it(tmp_path: Path) -> None:
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    if not link.is_char_device():
        pytest.skip("no /dev/full here")
    with pytest.raises(ToolchainError, match=r"SA405.*No space left"):
        save_together({link: lambda file: file.write(b"something")})
    assert link.is_symlink()
    assert link.is_char_device()


def test_save_together__one_that_fails__leaves_all_as_they_were(tmp_path: Path) -> None:
    first, folder = tmp_path / "first", tmp_path / "folder"
    first.write_bytes(b"before")
    folder.mkdir()
    failing: list[Path] = [folder]
    if Path("/dev/full").is_char_device():
        failing.append(tmp_path / "full")
        failing[-1].symlink_to("/dev/full")
    for second in failing:
        with pytest.raises(ToolchainError, match="SA405"):
            save_together(dict.fromkeys((first, second), lambda file: file.write(b"after")))
        assert first.read_bytes() == b"before"
    assert not [*tmp_path.glob(".*")]
    save_together(dict.fromkeys((first, tmp_path / "new" / "second"), lambda file: file.write(b"after")))
    assert first.read_bytes() == (tmp_path / "new" / "second").read_bytes() == b"after"
