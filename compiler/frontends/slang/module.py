"""Load a Slang file as a module: its differentiable functions, each with a kernel that runs it once per element.

The functions stay in the file (``External``). The emitted module imports the file. It includes the file instead if
the file is no ``.slang`` file, hides names from importers, or has entry points. Slang would check imported entry points
against every target. The emitted module repeats the imports of the file that declare structs of kernels.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.frontends.lowering.assembly import used_structs
from slangad.compiler.frontends.reading.encoding import decode, read_bytes
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.frontends.slang.adapted import (
    adapted,
    default_methods,
    defaults_needed,
    extension_methods,
    operator,
    types_needed,
)
from slangad.compiler.frontends.slang.functions import Candidate, Converted, convert, kernel_names
from slangad.compiler.frontends.slang.generics import without_arguments
from slangad.compiler.frontends.slang.imports import Repeated, SourceText, repeated_imports
from slangad.compiler.frontends.slang.instances import Chosen, chosen_instances
from slangad.compiler.frontends.slang.layout import Unlaid
from slangad.compiler.frontends.slang.locations import SourceFiles
from slangad.compiler.frontends.slang.reflected import DeclaredFunction, ReflectedModule, read_declared
from slangad.compiler.frontends.slang.unreflected import unreflected_functions
from slangad.compiler.ir.nodes import External, LeftOut, Module, StructDef
from slangad.compiler.ir.types import Scalar
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.endings import SLANG
from slangad.compiler.slang_text.global_parameters import global_parameters
from slangad.compiler.slang_text.headers import DERIVATIVE_OF, Scan, scan_text, whole_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.slang.arguments import Row
    from slangad.compiler.frontends.slang.locations import FunctionLocation
    from slangad.compiler.frontends.slang.model import ReflectedFile, SlangSetting
    from slangad.compiler.ir.nodes import Function
    from slangad.compiler.ir.types import Struct
    from slangad.compiler.slang_text.headers import Header

_GENERIC_CALL: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*<[\w\s,.<>:\[\]+-]+>(?:(?:\.|::)\w+)?")
_OTHER_ARGUMENTS: Final = "check the number, order and kind of its arguments, and the constraints on them"
_FEWER_OVERLOADS: Final = (
    "Slang makes it only if all generic functions with this name take these arguments: rename the others"
)
_ALIKE: Final = "another function with this name takes the same arguments, and Slang can't distinguish them: rename one"
_HINT: Final = ", and Slang accepts no arguments that suit it: call it in a differentiable function"
_OWN_DIFFERENTIAL: Final = frozenset({"dzero", "dadd", "dmul"})


def load_slang(path: Path, setting: SlangSetting) -> Module:
    """Load a Slang file.

    Raises:
        CompileError: It can't be read, Slang rejects it, or there is nothing in it to compile.
        ToolchainError: Slang crashed on it, or can't be run.
    """
    text = setting.text
    if text is None:
        text = decode(read_bytes(path), "utf-8", path)  # Slang misreads the bytes after a wrong one
    scan = scan_text(text.replace("\r\n", "\n"), str(path))
    if scan.is_part:
        raise _rejected("SA082", f"this file is a part of the module '{scan.begins[1]}'", scan, _PART_HELP)
    problems = Problems()
    asked = tuple(word.replace("::", ".") for word in setting.specialize if _is_generic_call(word))
    extra = tuple(sorted(scan.derivatives_of))

    def read(further: tuple[str, ...]) -> ReflectedModule:
        return _with_enums(setting.reflect(path, (*asked, *extra, *further), setting.text), files)

    def read_instead(other: str) -> ReflectedModule:
        return _with_enums(setting.reflect(path, (), other), files)

    reflection = setting.reflect(path, (*asked, *extra), setting.text)
    declared = read_declared(reflection.text)
    files = _files(path, text, scan, reflection.dependencies, setting)
    _check_specializations(setting.specialize, declared, problems, scan)
    instances = Chosen()
    defaults: tuple[tuple[str, Header], ...] = ()
    if any(setting.instances):
        wanted = _unspecialized(declared, asked, files)
        defaults = defaults_needed(declared, files)
        extra += (*types_needed(declared, files), *(text for text, _ in defaults))
        instances = chosen_instances(wanted, read, setting.instances)
        asked, declared = (*asked, *instances.names), instances.declared or read(())
    left_out: list[LeftOut] = []
    functions = list(_found(declared, asked, files, left_out, every=any(setting.instances)))
    if any(setting.instances):
        further = unreflected_functions(files, read_instead, setting.instances)
        declared = replace(declared, structs={**further.structs, **declared.structs})
        instances = instances.joined([one.symbol for one in further.candidates], further.unused)
        functions += (*default_methods(declared, defaults), *extension_methods(declared, files), *further.candidates)
        functions = [made for one in functions for made in adapted(one, files, declared.structs, setting.instances[0])]
        left_out = [left for left in left_out if left.span not in {one.place.span for one in functions}]
    declared = _with_empty_structs(declared, files)
    ranges = Problems() if setting.lenient else problems
    outer = _globals(text, str(path)) if "range" in text else frozenset[str]()
    converted = tuple(_converted(functions, path.name, declared, (ranges, outer), left_out, instances.names))
    problems.raise_if_any()
    if not converted and not (setting.lenient and left_out):
        raise _nothing(scan, left_out)
    return _module(path, files, declared, converted, (reflection.dependencies, tuple(left_out), instances.unused))


def _with_enums(reflection: ReflectedFile, files: SourceFiles) -> ReflectedModule:
    return read_declared(reflection.text).with_enums(files.surroundings.cases)


_OPERATOR: Final = "it is an operator: call it in a function"
_MEMBER_OPERATOR: Final = "it is an operator in a struct, where Slang does not look for it: declare it outside"
_PART_HELP: Final = "compile the main file of the module, which includes this one"


def _files(path: Path, text: str, scan: Scan, dependencies: tuple[str, ...], setting: SlangSetting) -> SourceFiles:
    return SourceFiles(SourceText(path, text), scan, dependencies, included=setting.included, defines=setting.defines)


def candidates_of(
    path: Path, text: str, setting: SlangSetting, instances: tuple[str, ...] = ()
) -> tuple[ReflectedModule, tuple[Candidate, ...]]:
    """Return Slang's reflection of a text, and its differentiable functions, including those that cannot be kernels.

    Args:
        path: The file.
        text: The text.
        setting: The settings to load it.
        instances: Generic functions with arguments, which count, too.

    Raises:
        CompileError: Slang rejects the text.
        ToolchainError: Slang crashed on it, or can't be run.
    """
    scan = scan_text(text, str(path))
    reflection = setting.reflect(path, (*instances, *sorted(scan.derivatives_of)), text)
    declared = read_declared(reflection.text)
    files = _files(path, text, scan, reflection.dependencies, setting)
    return declared, tuple(_found(declared, instances, files, [], every=False))


def _module(
    path: Path,
    files: SourceFiles,
    declared: ReflectedModule,
    converted: tuple[Converted, ...],
    rest: tuple[tuple[str, ...], tuple[LeftOut, ...], tuple[str, ...]],
) -> Module:
    dependencies, left_out, untried = rest
    functions = tuple(one.function for one in converted)
    hides = any(scan.controls_visibility or scan.has_entry_points for scan in files.text_scans)
    included = hides or path.suffix != SLANG
    kernels = tuple(one.kernel(name) for one, name in zip(converted, kernel_names(functions), strict=True))
    structs = used_structs(functions, kernels, (), ())
    keys = [*(struct.key for struct in structs), *_enums(functions, structs, files)]
    repeated = Repeated() if included else repeated_imports(keys, declared.names, files.text, files.other_texts)
    taken = {*declared.names, *repeated.names, *(files.macros() if included else ())}
    return Module(
        name=path.stem,
        source=str(path),
        structs=tuple(StructDef(struct, external=struct.key) for struct in structs),
        functions=functions,
        kernels=kernels,
        slang_imports=() if included else (path.name, *repeated.paths),
        sources=(str(path), *(file for file in dependencies if Path(file).resolve() != path.resolve())),
        slang_includes=(path.name,) if included else (),
        taken=tuple(sorted(taken)),
        file_name=f"{path.stem}_kernels.slang",
        left_out=tuple(sorted((*left_out, *(left for one in converted for left in one.left_out)), key=_by_place)),
        untried=untried,
    )


def _enums(functions: Iterable[Function], structs: Iterable[Struct], files: SourceFiles) -> Iterator[str]:
    """Yield the enums that kernels name."""
    fields = (field.type for struct in structs for field in struct.fields)
    yield from (one.cases[0].rpartition(".")[0] for one in fields if isinstance(one, Scalar) and one.cases)
    calls = [one.body.call for one in functions if isinstance(one.body, External)]
    yield from (name for name in files.surroundings.cases if any(f"{name}." in call for call in calls))


def _by_place(left: LeftOut) -> tuple[bool, Span]:
    """Return a sort key by location. Unknown locations come last."""
    return not left.span.line, left.span


def _rejected(code: str, message: str, scan: Scan, help_: str, notes: tuple[str, ...] = ()) -> CompileError:
    return CompileError([Diagnostic(code, message, whole_file(scan.file), help=help_, notes=notes)])


def _nothing(scan: Scan, left_out: list[LeftOut]) -> CompileError:
    if not left_out:
        help_ = "mark the functions to compile with [Differentiable], or omit this file"
        return _rejected("SA080", "there is no differentiable function in this file", scan, help_)
    notes = tuple(f"{left.function}: {left.reason}" for left in left_out)
    return _rejected("SA081", "none of the differentiable functions in this file can be a kernel", scan, "", notes)


def _with_empty_structs(declared: ReflectedModule, files: SourceFiles) -> ReflectedModule:
    """Mark the structs that a file declares without fields. Inheriting from such a struct adds nothing."""
    bare = [name for name, struct in declared.structs.items() if not struct.fields]
    empty = {name for name in bare if files.surroundings.is_empty(without_arguments(name))}
    derived = [name for name, struct in declared.structs.items() if struct.inherits]
    alone = {name for name in derived if files.surroundings.base_structs(without_arguments(name)) <= empty}
    marked = {
        name: replace(struct, empty=name in empty, inherits=struct.inherits and name not in alone)
        for name, struct in declared.structs.items()
    }
    return replace(declared, structs=marked)


def _unspecialized(
    declared: ReflectedModule, asked: tuple[str, ...], files: SourceFiles
) -> Iterator[tuple[dict[str, Row], dict[str, Row]]]:
    """Yield instances to try of each generic function of the file for which the user gives no arguments."""
    specialized = {without_arguments(text) for text in asked}
    for function, which in _numbered(list(_candidates(declared, files))):
        place = files.place(function, which) if function.generic and function.qualified not in specialized else None
        if place is not None and function.name.isidentifier():
            yield files.candidates(function.pattern, place)


def _is_generic_call(text: str) -> bool:
    return _GENERIC_CALL.fullmatch(text.strip()) is not None and text.count("<") == text.count(">")


def _check_specializations(texts: tuple[str, ...], declared: ReflectedModule, problems: Problems, scan: Scan) -> None:
    """Report arguments of ``--specialize`` that fit no function of this file. Functions of other files are skipped."""
    for text in texts:
        root = re.split(r"\W", text.strip(), maxsplit=1)[0]
        if not _is_generic_call(text):
            problems.error(
                "SA083",
                whole_file(scan.file),
                f"'{text}' is not a generic function with its arguments",
                help="write it as in --specialize 'f<float, 4>'",
            )
        elif root in declared.names and not declared.asked.get(text.replace("::", ".")):
            problems.error(
                "SA083",
                scan.words.get(root, whole_file(scan.file)),
                f"Slang can't make '{text}'",
                help=_FEWER_OVERLOADS if _is_overloaded(text, declared) else _OTHER_ARGUMENTS,
            )


def _is_overloaded(text: str, declared: ReflectedModule) -> bool:
    plain = without_arguments(text.replace("::", "."))
    return sum(function.generic and function.qualified == plain for function in declared.functions) > 1


def _found(
    declared: ReflectedModule, asked: tuple[str, ...], files: SourceFiles, left_out: list[LeftOut], *, every: bool
) -> Iterator[Candidate]:
    """Yield the functions to compile. Leave out those of other files, and generic ones without arguments.

    If ``every`` generic function should have arguments, those without are left out even if an overload has some.
    """
    elsewhere: list[str] = []
    made: set[str] = set()
    placed: set[Span] = set()
    generic: list[tuple[DeclaredFunction, FunctionLocation]] = []
    for function, which in _numbered(list(_candidates(declared, files))):
        place = files.place(function, which)
        specialized = [text for text in asked if without_arguments(text) == function.qualified]
        attributes = files.main.derivatives_of.get(function.name, frozenset())
        further = attributes, files.without_forward.get(function.name, "")
        if place is None:
            elsewhere.append(function.qualified)
        elif not function.name.isidentifier():
            plain = operator(Candidate(function, function.qualified, place, *further)) if every else None
            if plain is not None:
                yield plain
            else:
                reason = _MEMBER_OPERATOR if function.owner else _OPERATOR
                left_out.append(LeftOut(f"operator{function.name}", reason, span=place.span))
        elif not function.generic:
            yield Candidate(function, function.qualified, place, *further)
        else:
            if every or not specialized:
                generic.append((function, place))
            for text in [text for text in specialized if text not in made]:
                for one, at in _specialized(text, function, declared, files):
                    placed.add(at.span)
                    yield Candidate(one, text, at, *further)
            made |= {*specialized}
    missing = [(function, at) for function, at in generic if at.span not in placed]
    left_out += [_without_arguments(f, at, declared, files, tried=every) for f, at in missing]
    hint = _HINT if every else ""
    left_out += [
        LeftOut(header.name, f"it is a method of {_article(header.path[-1])}{hint}", span=header.span)
        for header in files.unreflected
    ]
    if elsewhere:
        left_out.append(LeftOut(", ".join(elsewhere), "declared in a file that this one includes: compile that one"))


def _without_arguments(
    function: DeclaredFunction, place: FunctionLocation, declared: ReflectedModule, files: SourceFiles, *, tried: bool
) -> LeftOut:
    """Leave out a generic function that has no arguments. ``tried`` is True if some were looked for."""
    why = _lack(function, place, declared, files, tried=tried)
    lacking = files.lacking(function.pattern, place) if tried else ()
    return LeftOut(function.qualified, why, span=place.span, lacking=lacking)


def _lack(
    function: DeclaredFunction, place: FunctionLocation, declared: ReflectedModule, files: SourceFiles, *, tried: bool
) -> str:
    """Return the reason why a generic function has no arguments. ``tried`` is True after a search for some."""
    example = files.example(function.pattern, place)
    if not tried:
        return f"it is generic: say for which arguments, as in --specialize '{example}'"
    tries = [name for group in files.candidates(function.pattern, place) for name in group]
    if not tries:
        return f"it is generic, and no type in its files fits: give one, as in --specialize '{example}'"
    if _is_overloaded(function.qualified, declared):
        return f"it is generic. {_FEWER_OVERLOADS}"
    return f"it is generic, and Slang can't make '{tries[0]}': give other arguments, as in --specialize '{example}'"


def _specialized(
    text: str, generic: DeclaredFunction, declared: ReflectedModule, files: SourceFiles
) -> Iterator[tuple[DeclaredFunction, FunctionLocation]]:
    """Yield the functions of a name with arguments, each with its location. ``generic`` is any of that name."""
    marked = [one for one in declared.asked[text] if one.differentiable]
    placed = [replace(one, path=generic.path, pattern=generic.pattern) for one in marked]
    for one, (like, which) in zip(marked, _numbered(placed), strict=True):
        place = files.place(like, which)
        if place is not None:
            yield one, place


def _numbered(functions: Sequence[DeclaredFunction]) -> Iterator[tuple[DeclaredFunction, tuple[int, int]]]:
    """Yield functions, each with its number among those with the same name and parameter names, and their count."""
    likes = [(function.qualified, tuple(param.name for param in function.params)) for function in functions]
    for index, (function, like) in enumerate(zip(functions, likes, strict=True)):
        yield function, (likes[:index].count(like), likes.count(like))


def _globals(text: str, file: str) -> frozenset[str]:
    """Return the names of the global parameters of a text."""
    return frozenset(one.name for one in global_parameters(read_source(text, file)))


def _article(name: str) -> str:
    return f"an {name}" if name.startswith("e") else f"a {name}"


def _candidates(declared: ReflectedModule, files: SourceFiles) -> Iterator[DeclaredFunction]:
    """Yield every differentiable function of the user, without derivatives and the members of IDifferentiable."""
    known = {function.qualified for function in declared.functions}
    headers = (header for scan in files.kernel_scans for header in scan.headers)
    derivatives = {header.name for header in headers if not DERIVATIVE_OF.isdisjoint(header.attributes)}
    derived = (f for name in files.main.derivatives_of if name not in known for f in declared.asked.get(name, ()))
    for function in (*declared.functions, *derived):
        pairs = any(param.type.get("name", "").startswith("DifferentialPair<") for param in function.params)
        is_operation = function.owner and function.name in _OWN_DIFFERENTIAL
        if not pairs and not is_operation and function.name not in derivatives:
            yield function


def _converted(
    result: list[Candidate],
    file: str,
    declared: ReflectedModule,
    ranges: tuple[Problems, frozenset[str]],
    left_out: list[LeftOut],
    chosen: Collection[str],
) -> Iterator[Converted]:
    """Yield functions with their kernels. Name a function once if none of its ``chosen`` instances can be a kernel."""
    made: list[tuple[Candidate, Converted]] = []
    unlaid: dict[Span, LeftOut] = {}
    for one in result:
        try:
            made.append((one, convert(one, file, declared.structs, *ranges)))
        except Unlaid as reason:  # noqa: PERF203  (one function left out must not hide another)
            left = LeftOut(one.symbol, str(reason), span=one.place.span, held=reason.held)
            if one.symbol in chosen:
                before = unlaid.get(left.span, replace(left, function=without_arguments(one.symbol)))
                unlaid[left.span] = replace(before, instances=(*before.instances, one.symbol))
            else:
                left_out.append(left)
    laid = {one.place.span for one, _ in made}
    left_out += [left for span, left in unlaid.items() if span not in laid]
    keys = Counter(converted.function.key for _, converted in made)
    for one, converted in made:
        if keys[converted.function.key] == 1:
            yield converted
        else:
            left_out.append(LeftOut(one.symbol, _ALIKE, span=one.place.span))
