"""``slangad schema``: the structure of YAML descriptions, or of a check's report, as a JSON Schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("schema")
@click.argument("document", type=click.Choice(("description", "report")), default="description")
@click.pass_obj
def schema_command(session: Session, document: str) -> None:
    """Print the JSON Schema of YAML descriptions, or of what `slangad check --format json` writes (draft 2020-12).

    Editors complete and check descriptions from it; docs/yaml.md says how to hook it in.

    \b
      slangad schema > slangad.schema.json
      slangad schema report
    """  # noqa: D301  (click's mark for text to be left as it is)
    session.product(json.dumps(_schema(document), indent=2, ensure_ascii=False).encode() + b"\n")


def _schema(document: str) -> dict[str, object]:
    if document == "report":
        from slangad.compiler.report.check_schema import check_schema

        return check_schema()
    from slangad.compiler.frontends.yaml.schema import json_schema

    return json_schema()


__all__ = ["schema_command"]
