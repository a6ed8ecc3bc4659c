"""The codes of what can be wrong before and after the compiling itself: inputs, their names, and what gets written."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation

CODES: Final[dict[str, Explanation]] = {
    "SA401": Explanation(
        "two inputs of one name",
        """Every file written for an input starts with the input's stem: brdf.py gives brdf.slang, brdf.manifest.json
and so on. Two inputs of one stem would overwrite each other's files (also where they differ only in case, since many
file systems don't tell those apart). Rename one, or compile them in two runs with different output folders.""",
    ),
    "SA402": Explanation(
        "two kernels of one name",
        """Kernels are looked up by name by the program that launches them, so one run compiles every name once.
Rename one of the two kernels, or compile the two inputs in two runs with different output folders. Functions of Slang
files may have equal names in several files.""",
    ),
    "SA403": Explanation(
        "no kernel of this name",
        """FILE:NAME compiles one kernel of the file, and the file has no @sa.kernel of that name. The message lists
those it has. Kernels made by a factory carry the factory's arguments in their name.""",
    ),
    "SA404": Explanation(
        "two products of one file name",
        """Two of the files to be written have the same name, for example because an input is called like the library
module that emitted Slang imports. Rename the input.""",
    ),
    "SA405": Explanation(
        "the outputs can't be written",
        """The output folder can't be created or written, or the disk is full. Files of one run are written beside
their destination first and renamed at the end, so what was there before is unchanged.""",
    ),
    "SA406": Explanation(
        "an output would overwrite a source",
        """One of the files to be written has the name and place of a file that is compiled, imported or included, for
example because the output folder is the folder of the sources; or there is a Slang file of that name that slangad did
not make. Choose another output folder, or rename the source.
Nothing was written.""",
    ),
    "SA410": Explanation(
        "an input is missing",
        """A kernel needs an array for every parameter, and for every field of a struct: m.albedo. They come from
.npz files (--inputs), from --set name=value, or are drawn at random with --random SEED, as far as --domain, --shape
w=16x4 (of tensors and textures) or another array tells how large they are. jvp and jtjvp need a direction as well, at
least one tangent.<parameter>; tangents that are not given are zero. Cotangents that are not given are one.""",
    ),
    "SA411": Explanation(
        "an input the kernel doesn't take",
        """The arrays of a kernel are named after its parameters and results: x, m.albedo for a field,
cotangent.result, tangent.x, grad.x, jvp.result. Keys of another mode than the one that runs are fine and ignored;
this one means nothing in any mode. In Python, cotangent=, tangent= and grad= are refused alike for what has no such
derivative (integers, NoDiff, Uniform), and so is a tuple of cotangents that are not as many as the results.""",
    ),
    "SA412": Explanation(
        "an array of the wrong shape",
        """An Each parameter has the axes of the domain first, then those of its type: Each[float3] over one axis is
(n, 3), Each[float2x4] is (n, 2, 4). Uniform and Param values have the axes of their type alone. Tensors and textures
have their own axes first. A cotangent has the shape of its result, a tangent or gradient that of its parameter, and
all fields of a struct agree. A texture has at least one texel.""",
    ),
    "SA413": Explanation(
        "an array of the wrong type",
        """float wants float32, half float16, double float64, int int32, uint uint32, bool bool. Floats of another
width are converted with a note, and so are integers given for floats. Integers must fit; floats are not taken for
integers, nor numbers other than 0 and 1 for bools. None, lists of unequal length and text are no arrays, and values
must not be too large for half or float. Torch tensors on a GPU must have the right type already.""",
    ),
    "SA414": Explanation(
        "the domain is unknown, ambiguous or too large",
        """The domain is the common shape of the Each parameters; all must agree. A kernel without them, or whose
domain is to be stated, takes --domain 4096 or --domain 512x512 (domain= in Python), one number per axis. In a pipeline
the shapes of the values that a stage takes must fit together too; the place is that of the stage.
Indices are 32-bit: an array has 4294967295 scalars at most.""",
    ),
    "SA415": Explanation(
        "a file of arrays can't be read",
        """--inputs takes .npz files, as numpy.savez writes them, with one array per key. Arrays of Python objects are
not read, since that could run code.""",
    ),
    "SA416": Explanation(
        "NaN in the input",
        """An array has values that are not numbers, which would spread into every result and gradient they touch. The
message says where the first one is. --allow-nan runs all the same.""",
    ),
    "SA417": Explanation(
        "the kernel has no such mode",
        """Every kernel runs forward. backward, jvp and jtjvp need a gradient that flows: a parameter that is not
NoDiff, not Uniform and not an integer, and a result that depends on it.""",
    ),
    "SA418": Explanation(
        "inputs were converted",
        """Arrays were given in another width than the kernel computes in, such as float64 for float, and were
rounded. Save them in the right type to be rid of the note: array.astype("float32"). Or
gradients of double that any thread may add to were added up in float, as GPUs do, and `--deterministic`
everywhere; cpu has the digits and range of double.""",
    ),
    "SA419": Explanation(
        "which kernel to run is not said",
        """The description has several kernels, or none. `slangad run brdf.py:fit` names one.""",
    ),
    "SA420": Explanation(
        "this can't be trained",
        """Training changes Param and Tensor parameters that are not NoDiff so that an objective gets smaller: the one
Sum or Mean of a floating-point number that the pipeline or kernel returns, among whatever else. It needs an optimizer,
from the description or --optimizer and --lr, and a gradient that flows. --batch takes that many of what is Each.""",
    ),
    "SA421": Explanation(
        "the loss is not finite",
        """The loss became NaN or infinite, and the parameters were not changed any more. Nothing is written; an earlier
checkpoint is as it was. The usual causes are a learning rate that is too large, a division by zero, sqrt or log at
zero, and numbers too large for half. `slangad check` finds derivatives that are wrong.""",
    ),
    "SA422": Explanation(
        "a checkpoint does not fit",
        """--resume goes on where a checkpoint stopped, with the same results as if nothing had interrupted it. So the
pipeline, its shapes, the data, the batch, the seed and the optimizer have to be those it began with; settings such as
the learning rate may change, and the program itself, with a note.""",
    ),
    "SA423": Explanation(
        "trained parameters begin at random values",
        """A trained parameter was in no file, so it was drawn: from the range that is declared for it (ranges= in
Python, ranges: in YAML), else from [-1, 1]. --seed gives other values; a key in --data sets them.""",
    ),
    "SA424": Explanation(
        "no picture of the losses",
        """--plot draws with matplotlib, which comes with the extra slangad[plots], into a .png, .svg or .pdf file.""",
    ),
    "SA425": Explanation(
        "results are infinite",
        """Values that came out are infinite: they are too large for their type (half ends at 65504, float at 3.4e38),
or something was divided by zero. Sums and gradients of half are added up in float or double and rounded at the end.""",
    ),
    "SA426": Explanation(
        "a kernel reads a global",
        """A function of a Slang file reads a global parameter (a uniform, a buffer, a texture, a field of a cbuffer),
itself or in what it calls. `slangad run` and `slangad train` have no value for it. Give it to the function as a
parameter; a wrapper that sets it is none, for globals can't be set. What `slangad compile` makes is complete: whoever
launches it binds the global.""",
    ),
    "SA306": Explanation(
        "pyproject.toml can't be read",
        """The settings of a project stand in [tool.slangad] of the nearest pyproject.toml, and that file can't be
read or is not TOML.""",
    ),
    "SA307": Explanation(
        "a pattern without inputs",
        """A pattern under inputs in [tool.slangad] matches no file. Patterns are relative to the folder of
pyproject.toml; * and ? stand for characters of a name, ** for any folders. Files that slangad can't compile, those
that exclude names and those in the output folder are left out.""",
    ),
}
