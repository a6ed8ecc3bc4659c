"""A cache that machines share: the second machine compiles nothing, and damage is noticed."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.toolchain

COMPILE = ("compile", "src/fit.py", "src/curve.slang", "-I", "inc", "-t", "wgsl", "--mode", "forward")


class Server(ThreadingHTTPServer):
    """A server that keeps what is put."""

    entries: dict[str, bytes]
    asked: list[tuple[str, str, str]]


class Handler(BaseHTTPRequestHandler):
    """GET and PUT."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Answer with an entry."""
        self._answer("GET", self.server.entries.get(self.path))

    def do_PUT(self) -> None:
        """Keep an entry."""
        self.server.entries[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer("PUT", b"")

    def _answer(self, method: str, content: bytes | None) -> None:
        self.server.asked.append((method, self.path, self.headers.get("Authorization", "")))
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A running server."""
    with Server(("127.0.0.1", 0), Handler) as running:
        running.entries, running.asked = {}, []
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def machine(folder: Path) -> Project:
    """Return a machine with the sources in this folder, and a cache of its own."""
    project = Project(folder)
    project.kernel("src/fit")
    (folder / "lib.py").rename(folder / "src/lib.py")
    project.write("src/fit.py", (folder / "src/fit.py").read_text().replace("src/", ""))
    project.write("inc/gain.slang", "module gain;\n[Differentiable] public float gain(float x) { return x * 2.0; }\n")
    project.write("src/curve.slang", "import gain;\n[Differentiable] float curve(float x) { return gain(x) * x; }\n")
    return project


def url_of(server: Server) -> str:
    """Return the URL of a cache on the server."""
    return f"http://127.0.0.1:{server.server_address[1]}/shared"


@pytest.mark.parametrize("kind", ["folder", "server"])
def test_shared_cache__second_machine__compiles_nothing(tmp_path: Path, server: Server, kind: str) -> None:
    shared = {"SLANGAD_SHARED_CACHE": str(tmp_path / "shared") if kind == "folder" else url_of(server)}
    shared["SLANGAD_SHARED_CACHE_AUTHORIZATION"] = "Bearer 1234"
    first, second = machine(tmp_path / "one"), machine(tmp_path / "of/the others")
    assert "from the cache" not in first.run(*COMPILE, **shared).stderr
    assert "2 of 2 from the cache" in second.run(*COMPILE, **shared, SLANGAD_SHARED_CACHE_READ_ONLY="1").stderr
    assert first.files() == second.files()
    assert "2 of 2 from the cache" in second.run(*COMPILE, "--force").stderr  # kept in its own cache
    second.write("inc/gain.slang", (second.folder / "inc/gain.slang").read_text().replace("2.0", "4.0"))
    assert "from the cache" not in second.run("compile", "src/curve.slang", *COMPILE[3:], **shared).stderr
    if kind == "server":
        assert {(path.split("/")[1], word) for _, path, word in server.asked} == {("shared", "Bearer 1234")}


def test_shared_cache__damaged_entries__are_compiled(tmp_path: Path, server: Server) -> None:
    shared = {"SLANGAD_SHARED_CACHE": url_of(server)}
    first, second = machine(tmp_path / "one"), machine(tmp_path / "two")
    first.run(*COMPILE, **shared)
    server.entries = {path: content[:-1] + b"?" for path, content in server.entries.items()}
    assert "from the cache" not in second.run(*COMPILE, **shared).stderr
    assert first.files() == second.files()


def test_shared_cache__server_without_answer__is_left_alone(tmp_path: Path, server: Server) -> None:
    url = url_of(server)
    server.server_close()
    project = machine(tmp_path / "one")
    project.run("compile", "src/fit.py", *COMPILE[3:], SLANGAD_SHARED_CACHE=url)
    assert server.asked == []
