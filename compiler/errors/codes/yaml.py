"""The diagnostic codes of YAML descriptions: SA050 to SA064."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation
from slangad.compiler.errors.examples import file, yaml

CODES: Final[dict[str, Explanation]] = {
    "SA050": Explanation(
        "not valid YAML",
        """The file is not YAML, or has several documents. The caret is where the parser stopped: the mistake is there
or shortly before. Usual causes are a tab in the indentation, a text that contains ': ' or ', ' without quotes, and a
body without the | after its key.""",
        wrong=yaml("""
            functions:
              f:
                params: {x: float
                returns: float
                expr: x * 2.0
        """),
        right=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                expr: x * 2.0
        """),
    ),
    "SA051": Explanation(
        "the YAML is too large",
        """Descriptions may come from untrusted sources, so there are limits that ordinary descriptions do not reach:
half a million characters, 48 levels of nesting, and a hundred thousand values. An alias counts as all the values of
its anchor.""",
        wrong=yaml("""
            constants:
              a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
              b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
              c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
              d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
              e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
            functions:
              f: {params: {x: float}, returns: float, expr: x * 2.0}
        """),
        right=yaml("""
            constants:
              a: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
            functions:
              f: {params: {x: float}, returns: float, expr: x * 2.0}
        """),
    ),
    "SA052": Explanation(
        "a key occurs twice",
        """Many YAML readers silently take the first or the last of two equal keys; slangad reports an error. Keys that
a merge (<<) brings in may be repeated: the mapping's own key wins.""",
        wrong=yaml("""
            functions:
              f: {params: {x: float}, returns: float, expr: x * 2.0}
              f: {params: {x: float}, returns: float, expr: x * 3.0}
        """),
        right=yaml("""
            functions:
              f: {params: {x: float}, returns: float, expr: x * 2.0}
              g: {params: {x: float}, returns: float, expr: x * 3.0}
        """),
    ),
    "SA053": Explanation(
        "an unknown key",
        """The mapping, or the table in pyproject.toml, has no such key. The help suggests a similar key if there is
one. `slangad schema` prints all keys as a JSON Schema. Most editors can use it for completion and checks.""",
        wrong=yaml("""
            functions:
              f:
                parms: {x: float}
                returns: float
                expr: "2.0"
        """),
        right=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                expr: "2.0"
        """),
    ),
    "SA054": Explanation(
        "keys are missing or exclude each other",
        """A required key is missing, or a mapping does not have exactly one of several alternative keys. A function
has exactly one of body, expr, slang and extern.""",
        wrong=yaml("""
            functions:
              f:
                params: {x: float}
                expr: x * 2.0
        """),
        right=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                expr: x * 2.0
        """),
    ),
    "SA055": Explanation(
        "a value of the wrong kind",
        """The key takes another kind of value. Examples are a text instead of a mapping, a number that is too large,
and a list of the wrong length. Scalars follow YAML 1.2: no, on and y are texts, true is a bool, 1e-3 is a number.
Quotes make anything a text.""",
        wrong=yaml("""
            kernels:
              shade:
                dims: two
                params: {x: each float}
                returns: each float
                expr: x * 2.0
        """),
        right=yaml("""
            kernels:
              shade:
                dims: 2
                params: {x: each float}
                returns: each float
                expr: x * 2.0
        """),
    ),
    "SA056": Explanation(
        "a tag is not allowed",
        """slangad accepts the tags of YAML itself (!!str, !!int, !!float, !!bool, !!null, !!map, !!seq), if the value
fits, and refuses all others. This includes !!python/…: a description in YAML is data, can't name Python objects, and
never executes anything.""",
        wrong=yaml("""
            constants:
              GAIN: !number 2.0
            functions:
              f: {params: {x: float}, returns: float, expr: x * GAIN}
        """),
        right=yaml("""
            constants:
              GAIN: !!float 2.0
            functions:
              f: {params: {x: float}, returns: float, expr: x * GAIN}
        """),
    ),
    "SA057": Explanation(
        "a name can't be used",
        """Names of constants, structs, functions, kernels, fields and parameters consist of letters, digits and _, and
do not begin with a digit. They must not be keywords of Python, since bodies are Python expressions. All sections of a
description share one namespace. The custom derivatives of f are called f_bwd and f_fwd in it.""",
        wrong=yaml("""
            functions:
              2nd:
                params: {x: float}
                returns: float
                expr: x * 2.0
        """),
        right=yaml("""
            functions:
              second:
                params: {x: float}
                returns: float
                expr: x * 2.0
        """),
    ),
    "SA058": Explanation(
        "a type can't be read",
        """Types are float, int, bool, uint, half, double, vectors and matrices of them (float3, int2, float4x4),
array<T, N> and structs. In a kernel the memory precedes the type of a parameter or result: each float3, uniform float.
no_diff before either means that it has no gradient.""",
        wrong=yaml("""
            functions:
              f:
                params: {x: flaot}
                returns: float
                expr: "2.0"
        """),
        right=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                expr: "2.0"
        """),
    ),
    "SA059": Explanation(
        "an alias or a merge can't be resolved",
        """An alias *name needs an anchor &name before it, and the anchor must not contain the alias. The merge key <<
takes a mapping or a list of mappings.""",
        wrong=yaml("""
            functions:
              f: {params: {x: float}, returns: float, expr: x * 2.0}
              g: {params: *common, returns: float, expr: x * 3.0}
        """),
        right=yaml("""
            functions:
              f: {params: &common {x: float}, returns: float, expr: x * 2.0}
              g: {params: *common, returns: float, expr: x * 3.0}
        """),
    ),
    "SA060": Explanation(
        "a body has a syntax error",
        """A body is a sequence of Python statements; expr is one Python expression. The caret is where Python's parser
stopped, in the YAML file. slangad executes nothing of it.""",
        wrong=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                body: |
                  y = x +
                  return y
        """),
        right=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                body: |
                  y = x + 1.0
                  return y
        """),
    ),
    "SA061": Explanation(
        "a constant, default or range does not fit",
        """Constants are numbers, bools, and lists whose items have the same kind and length. Vectors and matrices also
give their type. A default fits the type of its parameter or field. A range is [low, high].""",
        wrong=yaml("""
            constants:
              WEIGHTS: {type: float3, value: [0.3, 0.6]}
            functions:
              f: {params: {v: float3}, returns: float, expr: "dot(v, WEIGHTS)"}
        """),
        right=yaml("""
            constants:
              WEIGHTS: {type: float3, value: [0.3, 0.6, 0.1]}
            functions:
              f: {params: {v: float3}, returns: float, expr: "dot(v, WEIGHTS)"}
        """),
    ),
    "SA062": Explanation(
        "an external function can't be found",
        """extern names a function in one of the Slang files under imports, or gives the file as well: extern: {file:
bsdf.slang}. Paths are relative to the description.""",
        wrong=yaml("""
            imports: [lib.slang]
            functions:
              halve: {params: {x: float}, returns: float, extern: halved}
        """).plus(file("lib.slang", "public float half_of(float x) { return x * 0.5; }")),
        right=yaml("""
            imports: [lib.slang]
            functions:
              halve: {params: {x: float}, returns: float, extern: half_of}
        """).plus(file("lib.slang", "public float half_of(float x) { return x * 0.5; }")),
    ),
    "SA063": Explanation(
        "a Slang body can't be inserted",
        """slangad inserts the text under slang: between the braces of the function, so the brackets of the text must
match. The text uses the parameters by name, so the names must not be keywords of Slang.""",
        wrong=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                slang: if (x > 0.0) { return x; return 0.0;
        """),
        right=yaml("""
            functions:
              f:
                params: {x: float}
                returns: float
                slang: if (x > 0.0) { return x; } return 0.0;
        """),
    ),
    "SA064": Explanation(
        "a range names an unknown parameter",
        """check: ranges: takes function.parameter, struct.method.parameter or kernel.parameter, and parts of them:
shade.m.roughness, f.v.x, f.m[0][1].""",
        wrong=yaml("""
            functions:
              f: {params: {x: float}, returns: float, expr: x * 2.0}
            check:
              ranges: {f.y: [0.0, 1.0]}
        """),
        right=yaml("""
            functions:
              f: {params: {x: float}, returns: float, expr: x * 2.0}
            check:
              ranges: {f.x: [0.0, 1.0]}
        """),
    ),
}
