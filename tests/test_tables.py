"""The tables of one: what the command line, the schema, the stubs and the documents offer is what each table has."""

from __future__ import annotations

import ast
import pkgutil
import re
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner
from support.generated_pages import api_page, intrinsics_page

import slangad as sa
from slangad.cli.check import check_command
from slangad.cli.main import cli
from slangad.cli.parameters import DeviceName, TargetName
from slangad.cli.train import train_command
from slangad.compiler import passes
from slangad.compiler.check import tolerances
from slangad.compiler.driver import settings
from slangad.compiler.emit.entry_points import steps
from slangad.compiler.errors import codes, explain
from slangad.compiler.frontends.yaml import sections
from slangad.compiler.frontends.yaml.networks import LAYER
from slangad.compiler.frontends.yaml.schema import json_schema
from slangad.compiler.frontends.yaml.shape import Choice, Either, ListOf, Record
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.ir.pipelines import Optimizer
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.lang import public
from slangad.compiler.lang.intrinsics import typed
from slangad.compiler.lang.types import intrinsic_functions
from slangad.compiler.nn.initialisers import INITIALISERS
from slangad.compiler.passes import order
from slangad.compiler.report.formats import FORMATS
from slangad.compiler.report.model import Leg
from slangad.compiler.runtime.device import inventory
from slangad.compiler.runtime.device.table import AUTO, DEVICE_NAMES, DEVICES
from slangad.compiler.runtime.training import train

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
OPTIMIZER_CLASSES = {"sgd": sa.SGD, "adam": sa.Adam, "adamw": sa.AdamW}


@cache
def page(name: str) -> str:
    """The text of a document."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def first_cells(text: str, header: str) -> list[str]:
    """The code words in the first column of the table whose header row begins so."""
    (rows,) = re.findall(rf"^\| {re.escape(header)}.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [word for row in rows.splitlines() for word in re.findall(r"`([^`]+)`", row.split("|")[1])]


def option(command: click.Command, name: str) -> click.Parameter:
    """An option of a command by its parameter's name."""
    return next(parameter for parameter in command.params if parameter.name == name)


def completed(kind: click.ParamType) -> list[str]:
    """Everything that a shell offers for a parameter of a kind."""
    command = click.Command("c", params=[click.Argument(["value"], type=kind)])
    return [item.value for item in kind.shell_complete(click.Context(command), command.params[0], "")]


def tolerance_names() -> set[str]:
    """The names of the tolerances."""
    return {name for name in vars(tolerances) if name.isupper()}


def choices(record: Record, name: str) -> tuple[str, ...]:
    """The names that a key of a record takes."""
    (shape,) = (key.shape for key in record.keys if key.name == name)
    shape = shape.item if isinstance(shape, ListOf) else shape
    assert isinstance(shape, Choice)
    return shape.words


def same(path: Path, expected: str, config: pytest.Config) -> None:
    """Compare a file with the text that is generated for it, or write that with ``--update``."""
    if config.getoption("--update"):
        path.write_text(expected, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == expected, "run pytest tests/test_tables.py --update"


# --- targets ---


def test_targets__in_descriptions_settings_and_completion__are_those_of_the_table() -> None:
    assert tuple(TARGETS) == choices(settings.SETTINGS, "targets") == choices(sections.ROOT, "targets")
    assert completed(TargetName()) == list(TARGETS)


def test_targets__in_the_document__are_those_of_the_table() -> None:
    assert sorted(first_cells(page("running.md"), "targets")) == sorted(TARGETS)


# --- devices ---


def test_devices__in_settings_and_completion__are_those_of_the_table() -> None:
    assert choices(settings.CHECK, "device") == DEVICE_NAMES == (AUTO, *DEVICES)
    assert completed(DeviceName()) == list(DEVICE_NAMES)


def test_devices__in_the_document__are_those_of_the_table() -> None:
    assert sorted(first_cells(page("running.md"), "device | runs")) == sorted(DEVICE_NAMES)


def test_devices__that_doctor_tries__are_those_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "try_device", lambda name: (True, name))
    monkeypatch.setattr(inventory, "_try_targets", lambda _: ())
    assert [check.name for check in inventory.take_inventory().devices] == list(DEVICES)


@pytest.mark.parametrize("name", DEVICES)
def test_device__of_the_table__has_a_target_an_opener_and_hardware_that_auto_can_find(name: str) -> None:
    kind = DEVICES[name]
    module, _, function = kind.opener.partition(":")
    assert kind.target in TARGETS
    assert callable(getattr(import_module(module), function))
    assert "linux" not in kind.ranks or kind.files


# --- report formats ---


def test_formats__of_the_check_and_its_document__are_those_of_the_table() -> None:
    kind = option(check_command, "output_format").type
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == list(FORMATS) == first_cells(page("ci.md"), "`--format`")


# --- generated documents ---


@pytest.mark.parametrize(("name", "written"), [("intrinsics.md", intrinsics_page), ("api.md", api_page)])
def test_page__that_is_generated__is_current(
    name: str, written: Callable[[], str], pytestconfig: pytest.Config
) -> None:
    same(ROOT / "docs" / name, written(), pytestconfig)


# --- optimisers ---


def test_optimizers__that_train_offers_and_users_import__are_those_of_the_table() -> None:
    kind = option(train_command, "optimizer").type
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == list(OPTIMIZERS) == list(OPTIMIZER_CLASSES)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer__of_the_table__has_a_class_with_its_settings_and_a_kernel_that_takes_them(name: str) -> None:
    kind = OPTIMIZERS[name]
    usual = OPTIMIZER_CLASSES[name](lr=0.5)
    assert {field.name: getattr(usual, field.name) for field in fields(usual)} == {**kind.usual, "lr": 0.5}
    optimizer = Optimizer(name, tuple(0.5 if usual is None else usual for usual in kind.usual.values()))
    parameters = {p.split()[1] for p in steps._KINDS[kind.kernel][0].split(", ")}
    own = {"settings", "clock", "gradient", "master", "values", "stop"}
    assert parameters == {*kind.state, *own}
    assert tuple(train.optimizer_settings(optimizer, 1)) == steps.UPDATE_SETTINGS[kind.kernel]


def test_optimizers__in_the_document__are_those_of_the_table() -> None:
    rows = first_cells(page("pipelines.md"), "optimizer")
    names = [re.match(r"sa\.(\w+)\(", row) for row in rows]
    assert [name and getattr(sa, name[1]) for name in names] == list(OPTIMIZER_CLASSES.values())


# --- initialisers of networks ---


def test_initialisers__in_yaml_and_in_the_document__are_those_of_the_table() -> None:
    for layer in ("linear", "mlp"):
        settings = next(key.shape for key in LAYER.keys if key.name == layer)
        assert isinstance(settings, Record)
        shape = next(key.shape for key in settings.keys if key.name == "init")
        assert isinstance(shape, Either)
        assert [one.words for one in shape.shapes if isinstance(one, Choice)] == [tuple(INITIALISERS)]
    rows = first_cells(page("networks.md"), "`init`")
    assert [row.strip('"') for row in rows if row.startswith('"')] == list(INITIALISERS)


# --- intrinsics ---


def test_intrinsics__that_users_import__are_those_of_the_table(pytestconfig: pytest.Config) -> None:
    path = Path(intrinsic_functions.__file__)
    before, _, rest = path.read_text(encoding="utf-8").partition(typed.BEGIN)
    _, _, after = rest.partition(typed.END)
    after = after.partition("__all__ = [")[0]
    names = typed.typed_names(typed.public_rows())
    expected = f"{before}{typed.BEGIN}\n{typed.typed_functions()}\n{typed.END}{after}{names}"
    same(path, expected, pytestconfig)
    assert all(getattr(sa, name) is intrinsic_functions.FUNCTIONS[name] for name in typed.public_rows())


def test_names__that_users_import__are_those_that_the_module_has(pytestconfig: pytest.Config) -> None:
    path = Path(public.__file__)
    names = {name for name in vars(public) if name[0].isalpha()} - {"annotations"}
    before = path.read_text(encoding="utf-8").partition("__all__ = [")[0]
    same(path, before + typed.typed_names(names), pytestconfig)


# --- codes ---


def test_codes__of_the_stages__are_listed_and_documented_once() -> None:
    assert sorted(m.name for m in pkgutil.iter_modules(codes.__path__)) == sorted(explain.TABLES)
    headings = re.findall(r"^## (SA\d{3}):", page("errors.md"), re.MULTILINE)
    assert headings == list(explain.explanations())


# --- passes ---


def test_passes__in_the_folder__are_all_in_the_order() -> None:
    used = {step.function.__module__.split(".")[3] for step in order.PIPELINE}
    optional = {"differentiate_twice", "sum_exactly"}  # for the mode hvp, and for --deterministic
    analyses = {"bound_indices", "classify_accesses", "common_values", "disjoint_elements"}  # that passes use
    others = {"order", *optional, *analyses}
    assert {module.name for module in pkgutil.iter_modules(passes.__path__)} == used | others
    assert len(set(order.PASS_NAMES)) == len(order.PIPELINE)


def test_passes__that_dump_after_offers__are_those_of_the_order() -> None:
    result = CliRunner().invoke(cli, ["compile", "none.py", "--dump-after", "nothing"])
    assert result.exit_code == 2
    assert f"Choose from {', '.join(order.PASS_NAMES)} or all" in " ".join(result.stderr.split())


# --- keys of YAML ---


def test_yaml_keys__of_the_schema_and_the_document__are_those_of_the_table() -> None:
    names = [key.name for key in sections.ROOT.keys]
    assert [name for name in json_schema()["properties"] if name not in names] == []
    assert [name for name in names if name not in json_schema()["properties"]] == []
    assert [name for name in names if f"`{name}" not in page("yaml.md")] == []


# --- no second list ---

TABLES: dict[str, tuple[set[str], set[str]]] = {
    "targets": (set(TARGETS), set()),
    "devices": (set(DEVICES), set()),
    "report formats": (set(FORMATS), {"compiler/report/formats.py"}),
    "optimisers": (set(OPTIMIZERS), {"compiler/ir/optimizers.py"}),
    "intrinsics": (
        set(typed.public_rows()),
        {"compiler/lang/types/intrinsic_functions.py"},
    ),
    "codes": (set(explain.explanations()), set()),
    "passes": (set(order.PASS_NAMES), set()),
    "legs": ({leg.name for leg in Leg}, {"compiler/report/words.py"}),
    "tolerances": (tolerance_names(), set()),
    "YAML keys": ({key.name for key in sections.ROOT.keys}, set()),
}
"""The names of each table, and the files that may list them: the table, what is generated from it, its words."""


@cache
def listed() -> list[tuple[str, int, set[str]]]:
    """The names in each list, tuple, set, dictionary and ``Literal`` of the code, with file and line."""
    found = []
    for path in sorted(path for folder in ("cli", "compiler") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
                continue
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            words = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
            words |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
            if len(words) > 1:
                found.append((path.relative_to(ROOT).as_posix(), node.lineno, words))
    return found


def second_lists(names: set[str], owners: set[str], lists: list[tuple[str, int, set[str]]]) -> list[str]:
    """Where the code lists more than two thirds of some names, and little else, outside the files that may."""
    return [
        f"{file}:{line}"
        for file, line, words in lists
        if file not in owners and 3 * len(words & names) > 2 * max(len(names), len(words))
    ]


@pytest.mark.parametrize("table", TABLES)
def test_table__of_one_kind_of_thing__is_the_only_list(table: str) -> None:
    names, owners = TABLES[table]
    assert second_lists(names, owners, listed()) == []
    assert owners <= {file for file, _, words in listed() if words & names}


@pytest.mark.parametrize("table", TABLES)
def test_second_lists__a_list_of_all_names_elsewhere__is_found(table: str) -> None:
    names, owners = TABLES[table]
    assert second_lists(names, owners, [("cli/x.py", 1, names), ("cli/y.py", 2, {*list(names)[:1], "other"})]) == [
        "cli/x.py:1"
    ]
