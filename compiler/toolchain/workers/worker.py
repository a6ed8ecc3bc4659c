"""A worker process: calls of the Slang library come in on stdin, events go out on what was stdout.

Its only argument is the library's path. When the other end of stdin is gone, so is the worker, even in the middle of a
compile.
"""

from __future__ import annotations

import sys
import time

from slangad.compiler.toolchain.workers.events import CompilerCall, CompilerUnusable, End
from slangad.compiler.toolchain.workers.frames import private_stdout, requests, send
from slangad.compiler.toolchain.workers.library import SlangSession


def main() -> None:
    """Serve until stdin ends."""
    with private_stdout() as pipe:
        incoming = requests()
        try:
            session = SlangSession(sys.argv[1])
        except (OSError, AttributeError) as error:
            send(pipe, CompilerUnusable(str(error)))
            return
        for work in incoming:
            start = time.process_time()
            if isinstance(work, CompilerCall):
                for event in session.compile(work):
                    send(pipe, event)
            send(pipe, End(time.process_time() - start))
