"""The structure of a YAML description: every section, key and kind of value, with its purpose.

``validate`` refuses anything outside this table. ``schema`` prints it as a JSON Schema. A test compares docs/yaml.md
with it.
"""

from __future__ import annotations

from typing import Final

from slangad.compiler.frontends.yaml.networks import LAYER
from slangad.compiler.frontends.yaml.shape import (
    CHECKED,
    END,
    NAME,
    PART,
    PATH,
    Choice,
    Either,
    Flag,
    Integer,
    Key,
    ListOf,
    MapOf,
    Named,
    Number,
    Record,
    Shape,
    ShapeTable,
    Text,
    When,
)
from slangad.compiler.ir.bounds import POSITIVE
from slangad.compiler.ir.optimizers import OPTIMIZERS, Setting
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.lang.decorators.kernels import ROWS

VERSION: Final = 1
SLANG_FILE: Final = rf"\.slang{END}"
FILE_STEM: Final = rf"^[A-Za-z0-9_][A-Za-z0-9_-]{{0,99}}{END}"
BODIES: Final = ("body", "expr", "slang")

_DESCRIPTION: Final = Key("description", Text(), "The purpose; becomes a comment in the Slang.")
_TYPE: Final = Text("a type such as float3", is_type=True)
_STATEMENTS: Final = Text("statements (body: |)")
_BODY: Final = (
    Key("body", _STATEMENTS, "The statements, as in Python: `body: |` and the lines below."),
    Key("expr", Text("an expression", or_number=True), "Instead of a body: the one expression that is returned."),
    Key(
        "slang",
        Text("Slang code: slang: |"),
        "Instead of a body: the inside of the function in Slang; parameters have their names.",
    ),
)
_PARAMS: Final = Key("params", MapOf(Named("param")), "Parameters in order: names and types.")
_RETURNS: Final = Key("returns", Named("result"), "The type of the result; a list for several results.", required=True)
_RANGES: Final = MapOf(Named("range"), PART, "a parameter, or a part of one as m.roughness")
_SAMPLES: Final = Integer(1, 1_000_000)
_SEED: Final = Integer(0)


def _each_or_all(number: Integer) -> Either:
    """Return a number for everything in a file, or numbers for what is named."""
    return Either((number, MapOf(number, CHECKED, "a function, struct.method, kernel or pipeline")))


_SHAPE: Final = Either((Integer(1), ListOf(Integer(1), 1, 4)))
_OWN: Final = Either((_STATEMENTS, Named("own_derivative")))
_CALLABLE: Final = (
    _DESCRIPTION,
    _PARAMS,
    _RETURNS,
    *_BODY,
    Key("differentiable", Flag(), "True if it is differentiated. Default: true; for extern, false."),
    Key("derivative", Named("policy"), "A gradient policy instead of the automatic derivative."),
    Key(
        "backward",
        _OWN,
        "The backward derivative: from the parameters and d_out to one gradient per differentiable parameter.",
    ),
    Key("forward", _OWN, "The forward derivative: parameters are pairs .p and .d; gives value and tangent."),
    Key("prefer", Choice(("recompute", "checkpoint")), "The way reverse mode treats intermediate values."),
    Key("precision", Choice(("float", "half")), "The factors of its products of matrices. Default: float."),
    Key("ranges", _RANGES, "Where `slangad check` draws samples: parameter to [low, high]."),
)
_EXTERN: Final = Key(
    "extern",
    Either((
        Flag(only=True),
        Text("the function's name in Slang, or its file", rf"{NAME}|{SLANG_FILE}"),
        Record("an external function", (
            Key("file", Text("a Slang file", SLANG_FILE), "The Slang file, relative to this one."),
            Key("name", Text("a name", NAME), "The name of the function there, if it differs."),
        )),
    )),
    "The function exists in Slang: true, its name there, or {file, name}.",
)  # fmt: skip
_DERIVED: Final = ("derivative", "backward", "forward", "prefer", "precision")
_ONE_DERIVATIVE: Final = ("derivative", ("backward", "forward"))
_UNDIFFERENTIATED: Final = When("differentiable", value=False, never=_DERIVED)

FUNCTION: Final = Record(
    "a function",
    (*_CALLABLE, _EXTERN),
    one_of=(*BODIES, "extern"),
    alone=(("extern", _DERIVED), _ONE_DERIVATIVE),
    when=(_UNDIFFERENTIATED,),
)
METHOD: Final = Record(
    "a method",
    (
        *_CALLABLE,
        Key("static", Flag(), "True if the method belongs to the struct and has no self."),
    ),
    one_of=BODIES,
    alone=(_ONE_DERIVATIVE,),
    when=(_UNDIFFERENTIATED,),
)
STRUCT: Final = Record(
    "a struct",
    (
        _DESCRIPTION,
        Key(
            "fields",
            MapOf(Named("field"), low=1),
            "Fields in order: names and types, `no_diff` for those without gradient.",
            required=True,
        ),
        Key("methods", MapOf(Named("method")), "Functions of a value of the struct, which is `self` in their bodies."),
    ),
)
_GROUP: Final = Integer(1, 1024)


def _axes(dims: int) -> When:
    """Return the rule for kernels over two or three axes."""
    sizes, words = ListOf(_GROUP, dims, dims), f"a list of {dims}, a number for each axis"
    tile = Either((sizes, Choice((ROWS,))))
    return When("dims", dims, then=(("group_size", sizes, words), ("tile", tile, f"{words}, or {ROWS}")))


KERNEL: Final = Record(
    "a kernel",
    (
        _DESCRIPTION,
        _PARAMS,
        Key(
            "returns",
            Named("result"),
            "Where results live and their types: each float; a list for several. None for a kernel that only writes.",
        ),
        *_BODY,
        Key("dims", Integer(1, 3), "The number of axes of the domain. Default: 1.", default=1),
        Key(
            "group_size",
            Either((_GROUP, ListOf(_GROUP, 1, 3))),
            "Threads per group along each axis.",
        ),
        Key(
            "tile",
            Either((ListOf(_GROUP, 2, 3), Choice((ROWS,)))),
            "The block of the domain that a group takes at a time: a power of two for each axis. `rows`: no block.",
        ),
        Key("ranges", _RANGES, "Where `slangad check` draws samples: parameter to [low, high]."),
        Key(
            "shapes", MapOf(_SHAPE), "Shapes of tensors and textures in `slangad check`: parameter to [rows, columns]."
        ),
    ),
    one_of=BODIES,
    when=(
        When(
            "dims",
            1,
            default=True,
            never=("tile",),
            then=(("group_size", Either((_GROUP, ListOf(_GROUP, 1, 1))), "one number"),),
        ),
        *(_axes(dims) for dims in (2, 3)),
    ),
)
PIPELINE: Final = Record(
    "a pipeline",
    (
        _DESCRIPTION,
        _PARAMS,
        Key("returns", Named("result"), "What it returns: mean float; none where kernels only write."),
        Key("body", _STATEMENTS, "Kernel calls, one after another or in loops over range.", required=True),
        Key("optimizer", Named("optimizer"), "How `slangad train` minimises the result."),
        Key(
            "fuse", Flag(), "True if neighbouring kernels over one domain may become one. Default: true.", default=True
        ),
    ),
)


def _setting(setting: Setting) -> Key:
    words = [setting.doc] if setting.doc else []
    words += [] if setting.usual is None else [f"Default: {setting.usual:g}."]
    doc = " ".join(words).replace("1e-08", "1e-8")
    return Key(setting.name, Number(setting.bounds), doc, setting.usual is None, setting.usual)


OPTIMIZER: Final = Record(
    "an optimizer",
    tuple(Key(name, Record(name, tuple(map(_setting, kind.settings))), kind.doc) for name, kind in OPTIMIZERS.items()),
    one_of=tuple(OPTIMIZERS),
)
_STEP: Final = (
    Key("step", Number(POSITIVE), "Half the distance of the two evaluations.", required=True),
    Key("relative", Flag(), "True if the step is scaled by max(1, |x|)."),
)
_AT: Final = (
    Key("at", Number(), "The point.", required=True),
    Key("value", Number(), "The derivative there.", required=True),
)
_PLAIN_POLICIES: Final = (
    Key("finite_difference", Record("finite_difference", _STEP), "Central differences."),
    Key("surrogate", Text("a function's name", NAME), "The derivative of another function of the same types."),
    Key("straight_through", Flag(only=True), "The derivative of the identity."),
    Key("subgradient", Record("subgradient", _AT), "A chosen derivative at one point."),
)
_CLIP: Final = Record(
    "clip_gradient",
    (
        Key("limit", Number(POSITIVE), "Every component of every gradient stays within plus and minus this."),
        Key("norm", Number(POSITIVE), "Instead: the norm of every parameter's gradient stays within this."),
        Key("of", Named("plain_policy"), "The derivative that is clipped. Default: the automatic one."),
    ),
    one_of=("limit", "norm"),
)
_POLICY_NAMES: Final = tuple(key.name for key in _PLAIN_POLICIES)

DEFINITIONS: Final[dict[str, Shape]] = {
    "param": Either((
        _TYPE,
        Record("a parameter", (
            Key("type", _TYPE, "Its type.", required=True),
            Key("default", Named("literal"), "The value if a call omits it."),
            Key("range", Named("range"), "Where `slangad check` draws samples."),
            _DESCRIPTION,
        )),
    )),
    "field": Either((
        _TYPE,
        Record("a field", (
            Key("type", _TYPE, "Its type.", required=True),
            Key("default", Named("literal"), "The value if a constructor call omits it."),
            _DESCRIPTION,
        )),
    )),
    "result": Either((_TYPE, ListOf(_TYPE, 1))),
    "range": ListOf(Number(), 2, 2),
    "literal": Either((Number(), Flag(), ListOf(Named("literal"), 1))),
    "constant": Either((
        Number(), Flag(), ListOf(Named("literal"), 1),
        Record("a constant", (
            Key("value", Named("literal"), "A number, a bool, or a list.", required=True),
            Key("type", _TYPE, "Its type, if the value is ambiguous: a vector or matrix."),
            _DESCRIPTION,
        )),
    )),
    "function": FUNCTION,
    "method": METHOD,
    "struct": STRUCT,
    "layer": LAYER,
    "kernel": KERNEL,
    "pipeline": PIPELINE,
    "optimizer": OPTIMIZER,
    "own_derivative": Record("a derivative", (_DESCRIPTION, *_BODY[:2]), one_of=BODIES[:2]),
    "plain_policy": Record("a policy", _PLAIN_POLICIES, one_of=_POLICY_NAMES),
    "policy": Record(
        "a policy",
        (*_PLAIN_POLICIES, Key("clip_gradient", Either((Number(POSITIVE), _CLIP)), "The gradient within bounds.")),
        one_of=(*_POLICY_NAMES, "clip_gradient"),
    ),
}  # fmt: skip

ROOT: Final = Record(
    "a description",
    (
        Key("slangad", Integer(VERSION, VERSION), "The version of this format: 1.", required=True),
        Key("name", Text("a file name without ending", FILE_STEM), "The stem of the emitted file. Default: this stem."),
        _DESCRIPTION,
        Key("constants", MapOf(Named("constant")), "Numbers, bools and tables by name."),
        Key("imports", ListOf(Text("a Slang file", SLANG_FILE)), "Slang files, relative to this one."),
        Key("structs", MapOf(Named("struct")), "Structs by name."),
        Key("nn", MapOf(Named("layer")), "Layers and encodings of networks by name."),
        Key("functions", MapOf(Named("function")), "Device functions by name."),
        Key("kernels", MapOf(Named("kernel")), "Functions that run once per element of a domain, by name."),
        Key("pipelines", MapOf(Named("pipeline")), "Pipelines of kernels by name."),
        Key(
            "check",
            Record("check", (
                Key("samples", _each_or_all(_SAMPLES), "The number of samples, for all functions or for each."),
                Key("seed", _each_or_all(_SEED), "The seed of the samples, for all functions or for each."),
                Key("ranges", MapOf(Named("range"), PATH, "function.parameter"), "Where to sample."),
                Key("shapes", MapOf(_SHAPE, PATH, "kernel.parameter"), "The shapes of tensors and textures."),
            )),
            "Settings of `slangad check`.",
        ),
        Key("targets", ListOf(Choice(tuple(TARGETS)), 1), "The targets, unless the command line names some."),
    ),
    some_of=("structs", "functions", "kernels", "pipelines"),
)  # fmt: skip

TABLE: Final = ShapeTable(ROOT, DEFINITIONS)
