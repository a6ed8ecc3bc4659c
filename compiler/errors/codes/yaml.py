"""What the diagnostic codes of YAML descriptions mean, at length: SA050 to SA069."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation

CODES: Final[dict[str, Explanation]] = {
    "SA050": Explanation(
        "not valid YAML",
        """The file is not YAML, or holds several documents. The place is where the reader could not go on; the
mistake is there or shortly before. Usual causes: a tab in the indentation, a text with ': ' or ', ' in it that
needs quotes, a body without the | after its key.""",
    ),
    "SA051": Explanation(
        "too much YAML",
        """Descriptions may come from anywhere, so there are limits that no honest one meets: half a million characters,
48 levels of nesting, and a hundred thousand values, with aliases counted as what they stand for.""",
    ),
    "SA052": Explanation(
        "a key that stands twice",
        """YAML readers take the last one or the first one silently; here it is an error. Keys that come in by
<< may be repeated: the mapping's own key wins.""",
    ),
    "SA053": Explanation(
        "an unknown key",
        """The mapping, or the table of pyproject.toml, has a key that means nothing there. If it looks like a
known one, that is suggested. `slangad schema` prints all keys as a JSON Schema, which most editors can complete
and check from.""",
    ),
    "SA054": Explanation(
        "keys that are missing or exclude each other",
        """A required key is not there, or of several keys of which one is wanted there is none or more than
one: a function has exactly one of body, expr, slang and extern.""",
    ),
    "SA055": Explanation(
        "a value of the wrong kind",
        """The key takes another kind of value: a text where a mapping stands, a number out of its bounds, a
list of the wrong length. Scalars follow YAML 1.2: no, on and y are texts, true is a bool, 1e-3 is a number;
quotes make anything a text.""",
    ),
    "SA056": Explanation(
        "a tag",
        """YAML's own tags (!!str, !!int, !!float, !!bool, !!null, !!map, !!seq) are understood; all others are
refused. In particular !!python/… is: a description in YAML is data, it can't name Python objects and never
executes anything.""",
    ),
    "SA057": Explanation(
        "a name that can't be used",
        """Names of constants, structs, functions, kernels, fields and parameters are identifiers: letters,
digits and _, not beginning with a digit, and no word of Python's own, since bodies are read as Python
expressions. All sections of a description share one namespace, in which an own derivative of f is called f_bwd
or f_fwd.""",
    ),
    "SA058": Explanation(
        "a type that can't be read",
        """Types are float, int, bool, uint, half, double, vectors and matrices of them (float3, int2,
float4x4), array<T, N> and structs. Before the type of a kernel's parameter or result stands where it lives:
each float3, uniform float. no_diff before either means that it carries no gradient.""",
    ),
    "SA059": Explanation(
        "an alias or a merge that can't be followed",
        """An alias *name needs an anchor &name before it that does not contain the alias. The merge key <<
takes a mapping or a list of mappings.""",
    ),
    "SA060": Explanation(
        "a body that can't be read",
        """Bodies are statements as Python writes them, expr is a single expression. The place is the one
Python's parser names, in the YAML file; nothing is executed.""",
    ),
    "SA061": Explanation(
        "a constant, default or range that does not fit",
        """Constants are numbers, bools, lists of one kind and one length, and vectors or matrices when they say
their type. A default fits the type of its parameter or field. A range is [low, high].""",
    ),
    "SA062": Explanation(
        "an external function that can't be found",
        """extern names a function in one of the Slang files under imports, or brings its file along: extern:
{file: bsdf.slang}. Paths are relative to the description.""",
    ),
    "SA063": Explanation(
        "a raw Slang body that can't be placed",
        """The text under slang: stands between the braces of the function, so its own brackets must match, and
it sees the parameters by their names, so those must not be keywords of Slang.""",
    ),
    "SA064": Explanation(
        "a range of something unknown",
        """check: ranges: takes function.parameter, struct.method.parameter or kernel.parameter, and parts of
them: shade.m.roughness, f.v.x, f.m[0][1].""",
    ),
}
