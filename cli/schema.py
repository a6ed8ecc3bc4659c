"""Print the JSON Schema of YAML descriptions, reports of checks or manifests: the command ``slangad schema``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from slangad.cli.help import HelpCommand
from slangad.cli.parameters import OneOf

if TYPE_CHECKING:
    from slangad.cli.console import Session


@click.command("schema", cls=HelpCommand)
@click.argument("document", type=OneOf(("description", "report", "manifest")), default="description")
@click.pass_obj
def schema_command(session: Session, document: str) -> None:
    """Print the JSON Schema of descriptions, reports or manifests.

    The schema follows draft 2020-12. Editors use it to complete and check descriptions; docs/yaml.md has the settings.
    `report` selects the schema of `slangad check --format json`, `manifest` that of manifest.json.

    \b
      slangad schema > slangad.schema.json
      slangad schema report
      slangad schema manifest
    """  # noqa: D301  (click's mark for text that it must not wrap)
    session.write(json.dumps(_schema(document), indent=2, ensure_ascii=False).encode() + b"\n")


def _schema(document: str) -> dict[str, object]:
    if document == "report":
        from slangad.compiler.report.check_schema import check_schema

        return check_schema()
    if document == "manifest":
        from slangad.compiler.driver.manifest_schema import manifest_schema

        return manifest_schema()
    from slangad.compiler.frontends.yaml.schema import json_schema

    return json_schema()


__all__ = ["schema_command"]
