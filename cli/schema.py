"""``slangad schema``: the structure of YAML descriptions as a JSON Schema, for editors and programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("schema")
@click.pass_obj
def schema_command(session: Session) -> None:
    """Print the JSON Schema of YAML descriptions (draft 2020-12).

    Editors complete and check descriptions from it; docs/yaml.md says how to hook it in.

    \b
      slangad schema > slangad.schema.json
    """  # noqa: D301  (click's mark for text to be left as it is)
    from slangad.compiler.frontends.yaml.schema import json_schema

    session.product(json.dumps(json_schema(), indent=2, ensure_ascii=False).encode() + b"\n")


__all__ = ["schema_command"]
