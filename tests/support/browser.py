"""A real browser without a window: pages are opened in Chromium and asked what they look like, through its own pipe."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@dataclass
class Browser:
    """One tab; ``events`` is everything that it told unasked."""

    to: BinaryIO
    back: BinaryIO
    session: str = ""
    number: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    rest: bytes = b""

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command of the DevTools protocol and wait for its answer."""
        self.number += 1
        message: dict[str, object] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        self.to.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = os.read(self.back.fileno(), 1 << 16)
            assert more, "the browser went away"
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def open(self, page: Path | str, *, width: int = 1300, height: int = 900, dark: bool = False) -> None:
        """Open a page, a file or an address, and wait until it is there."""
        self.events.clear()
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def resize(self, width: int, height: int) -> None:
        """Make the window of a size in pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; of a promise, what it ends with."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str, code: int = 0) -> None:
        """Press and release a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self) -> bytes:
        """The window as PNG."""
        data: str = self.send("Page.captureScreenshot", format="png")["data"]
        return base64.b64decode(data)


@contextmanager
def browser(program: str, profile: Path, graphics: tuple[str, ...] = ("--disable-gpu",)) -> Iterator[Browser]:
    """A browser that is running; ``graphics`` are its flags for GPUs."""
    in_there, to = os.pipe()
    back, out_there = os.pipe()
    flags = ["--headless", "--no-sandbox", *graphics, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    quiet = [
        "--no-first-run",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "about:blank",
    ]
    redirected = f'exec "$@" 3<&{in_there} 4>&{out_there}'
    process = subprocess.Popen(
        ["bash", "-c", redirected, "bash", program, *flags, *quiet],
        pass_fds=(in_there, out_there),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(in_there)
    os.close(out_there)
    with os.fdopen(to, "wb") as writing, os.fdopen(back, "rb", buffering=0) as reading:
        tab = Browser(writing, reading)  # type: ignore[arg-type]  # raw, since it is read by its number
        target = tab.send("Target.createTarget", url="about:blank")["targetId"]
        tab.session = tab.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.send(f"{domain}.enable")
        try:
            yield tab
        finally:
            tab.session = ""
            tab.send("Browser.close")
            process.wait(20)
