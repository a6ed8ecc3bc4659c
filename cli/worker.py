"""Run commands that a build system sends one after another: ``slangad worker``, Bazel's persistent worker in JSON."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from slangad.cli.help import HelpCommand

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command("worker", cls=HelpCommand, context_settings={"ignore_unknown_options": True})
@click.option("--persistent_worker", is_flag=True, help="Read requests from stdin until it ends.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[WORD]...")
def worker_command(words: tuple[str, ...], *, persistent_worker: bool) -> None:
    """Run commands for Bazel, in one process.

    Stdin has requests, JSON objects with `arguments` and `requestId`. Each line of stdout is the response, with
    `exitCode` and `output`. Without `--persistent_worker` the words are one command; `@FILE` stands for
    the lines of a file.

    \b
      slangad worker --persistent_worker
      slangad worker @params
    """  # noqa: D301  (click's mark for text that it must not wrap)
    if not persistent_worker:
        code, output = _run(_unfolded(words))
        click.echo(output, err=True, nl=False)
        raise click.exceptions.Exit(code)
    from slangad.compiler.toolchain.workers.kept_children import kept_children

    answers = sys.stdout
    with kept_children():
        for request in requests_of(sys.stdin.fileno()):
            code, output = _run(_unfolded((*words, *request.get("arguments", ()))))
            answer = {"exitCode": code, "output": output, "requestId": request.get("requestId", 0)}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


_LONGEST: Final = len("-Infinity")
"""Characters of the longest word of JSON. An error that is nearer to the end may be one of an incomplete word."""


def requests_of(stdin: int) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream as soon as they are complete; Bazel 4 writes no line ends between them.

    Raises:
        ClickException: The text is no JSON object, whatever follows, or the last one is incomplete.
    """
    decoder, text = codecs.getincrementaldecoder("utf-8")(), ""
    while received := os.read(stdin, 65536):
        text += decoder.decode(received)
        if b"}" not in received and text.startswith("{"):
            continue
        while text := text.lstrip():
            try:
                request, end = json.JSONDecoder().raw_decode(text)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated string") or error.pos + _LONGEST > len(text)
                if text.startswith("{") and is_cut:  # the rest of it comes later
                    break
                raise _no_request(text) from None
            if not isinstance(request, dict):
                raise _no_request(text)
            text = text[end:]
            yield request
    if text:
        raise _no_request(text)


def _no_request(text: str) -> click.ClickException:
    return click.ClickException(f"a request is no complete JSON object: {text[:80]}")


def _unfolded(words: tuple[str, ...]) -> list[str]:
    """Return words with the lines of each ``@FILE`` in its place."""
    files = ((Path(word[1:]).read_text("utf-8").splitlines() if word.startswith("@") else [word]) for word in words)
    return [word for lines in files for word in lines]


def _run(words: list[str]) -> tuple[int, str]:
    """Run a command line in this process; return its exit code and all that it printed."""
    from slangad.cli.main import cli

    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with redirect_stdout(printed), redirect_stderr(printed):
        code = 0
        try:
            cli.main(words, prog_name="slangad")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    printed.seek(0)
    return code, printed.read()


__all__ = ["requests_of", "worker_command"]
