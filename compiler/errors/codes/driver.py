"""The diagnostic codes of inputs, settings, outputs, runs and training: SA306, SA307 and SA401 to SA429."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation
from slangad.compiler.errors.examples import Example, file, python, slang

_SHADE: Final = python("""
    @sa.kernel
    def shade(x: Each[float], k: Uniform[float]) -> Each[float]:
        return x * x * k
""")
_RUN: Final = "slangad run shade.py --device cpu"

_FIT: Final = python(
    """
    @sa.kernel
    def fit(x: NoDiff[Each[float]], p: Param[float]) -> Mean[float]:
        return (x - p) * (x - p)
    """,
    "fit.py",
)
_TRAIN: Final = "slangad train fit.py --device cpu --steps 3 --set x=[1,2,3]"
_SGD: Final = "--optimizer sgd --lr 0.1"

_SECOND: Final = """
    @sa.kernel
    def tone(x: Each[float]) -> Each[float]:
        return x * 0.5
"""

_LIST: Final = "slangad run shade.py --device cpu --set low=[0,1,0] --set high=[2,3,4]"


def _listed(capacity: str) -> Example:
    """Return an example with lists of a capacity."""
    return python(f"""
        @sa.kernel
        def crowd(count: Each[int]) -> Sum[int]:
            return count * count


        @sa.pipeline
        def crowded(low: Tensor[int, 1], high: Tensor[int, 1]) -> Sum[int]:
            start, count, order = sa.bin(low, high, tiles=4, capacity={capacity})
            return crowd(count)
    """).run(_LIST)


CODES: Final[dict[str, Explanation]] = {
    "SA306": Explanation(
        "pyproject.toml can't be read",
        """The settings of a project are in [tool.slangad] of the nearest pyproject.toml. This file can't be read or is
not TOML.""",
        wrong=_SHADE.plus(file("pyproject.toml", "[tool.slangad]\ninputs = [shade.py]")).run("slangad compile"),
        right=_SHADE.plus(file("pyproject.toml", '[tool.slangad]\ninputs = ["shade.py"]')).run("slangad compile"),
    ),
    "SA307": Explanation(
        "a pattern matches no input",
        """A pattern under inputs in [tool.slangad] matches no file. Patterns are relative to the folder of
pyproject.toml. * and ? match characters of a name, ** matches any folders. Files that slangad can't compile, files
listed under exclude and files in the output folder do not count.""",
        wrong=_SHADE.plus(file("pyproject.toml", '[tool.slangad]\ninputs = ["shaders/*.py"]')).run("slangad compile"),
        right=_SHADE.plus(file("pyproject.toml", '[tool.slangad]\ninputs = ["*.py"]')).run("slangad compile"),
    ),
    "SA401": Explanation(
        "two inputs have the same name",
        """The files written for an input begin with the input's name: brdf.py gives brdf.slang, brdf.manifest.json and
so on. Two inputs with the same name would overwrite each other's files. Names that differ only in case count as equal,
since many file systems do not distinguish them. Rename one, or compile them in two runs with different output
folders.""",
        wrong=python(_SECOND, "a/shade.py")
        .plus(python(_SECOND.replace("tone", "curve"), "b/shade.py"))
        .run("slangad compile a/shade.py b/shade.py"),
        right=python(_SECOND, "a/shade.py")
        .plus(python(_SECOND.replace("tone", "curve"), "b/curve.py"))
        .run("slangad compile a/shade.py b/curve.py"),
    ),
    "SA402": Explanation(
        "two kernels have the same name in C++",
        """In C++ the kernels of brdf.py are in the namespace slangad::from_brdf, so kernels of several inputs may have
one name. Signs and letters outside ASCII are replaced there: my-tone.py and my_tone.py have the same namespace, and
then their kernels need different names. Rename one of the inputs, or one of the kernels.""",
        wrong=python(_SECOND, "my-tone.py")
        .plus(python(_SECOND, "my_tone.py"))
        .run("slangad compile my-tone.py my_tone.py -t cpp"),
        right=python(_SECOND, "one.py").plus(python(_SECOND, "two.py")).run("slangad compile one.py two.py -t cpp"),
    ),
    "SA403": Explanation(
        "no kernel has this name",
        """FILE:NAME compiles one kernel of the file, and the file has no @sa.kernel with that name. The message lists
the kernels of the file. The name of a kernel that a factory makes contains the factory's arguments.""",
        wrong=_SHADE.run("slangad compile shade.py:tone"),
        right=_SHADE.run("slangad compile shade.py:shade"),
    ),
    "SA404": Explanation(
        "two outputs have the same file name",
        """Two of the files to write have the same name, for example because an input has the name of a library module
that the emitted Slang imports. Rename the input.""",
        wrong=python(
            """
            @sa.kernel
            def total(x: Each[float]) -> Sum[float]:
                return x * x
            """,
            "slangad_sums.py",
        ),
        right=python(
            """
            @sa.kernel
            def total(x: Each[float]) -> Sum[float]:
                return x * x
            """,
            "total.py",
        ),
    ),
    "SA405": Explanation(
        "the outputs can't be written",
        """The output folder can't be created or written, or the disk is full. slangad writes the files of a run beside
their destination first and renames them at the end, so older files are unchanged. A file that ends
in .png takes one float array of rows and columns, perhaps with 1, 3 or 4 channels.""",
        wrong=_SHADE.run("slangad compile shade.py -o shade.py/build"),
        right=_SHADE.run("slangad compile shade.py -o build"),
    ),
    "SA406": Explanation(
        "an output would overwrite a source",
        """A file to be written is also a file that is compiled, imported or included, for example because the output
folder is the folder of the sources. Or slangad did not make the Slang file that it would overwrite. Choose another
output folder, or rename the source. slangad wrote nothing.""",
        wrong=_SHADE.plus(file("shade.slang", "float half_of(float x) { return x * 0.5; }")).run(
            "slangad compile shade.py -o ."
        ),
        right=_SHADE.plus(file("shade.slang", "float half_of(float x) { return x * 0.5; }")).run(
            "slangad compile shade.py -o build"
        ),
    ),
    "SA410": Explanation(
        "an input is missing",
        """A kernel needs an array for every parameter, and for every field of a struct: m.albedo. Arrays come from
.npz files (--inputs) or from --set name=value. --random SEED draws the others at random. It needs the shapes: from
--domain, from --shape w=16x4 (for tensors and textures) or from another array.

jvp and jtjvp also need a direction, which is at least one tangent.<parameter>; the other tangents are zero. Cotangents
are one by default; in a pipeline zero for tensors from which other results follow.""",
        wrong=_SHADE.run(f"{_RUN} --set x=[1,2]"),
        right=_SHADE.run(f"{_RUN} --set x=[1,2] --set k=1"),
    ),
    "SA411": Explanation(
        "the kernel has no such input",
        """The arrays of a kernel are named after its parameters and results: x, m.albedo for a field,
cotangent.result, tangent.x, grad.x, jvp.result. This name has no meaning in the mode that runs. In Python, cotangent=,
tangent= and grad= are refused too if there is no such derivative (integers, NoDiff, Uniform). A tuple of cotangents
must have one for each result.""",
        wrong=_SHADE.run(f"{_RUN} --set x=[1,2] --set k=1 --set gain=1"),
        right=_SHADE.run(f"{_RUN} --set x=[1,2] --set k=1"),
    ),
    "SA412": Explanation(
        "an array has the wrong shape",
        """The array of an Each parameter has the axes of the domain first, then those of its type. Each[float3] over
one axis is (n, 3), Each[float2x4] is (n, 2, 4). Uniform and Param values have the axes of their type only. Tensors and
textures have their own axes first; a texture has at least one texel. A cotangent has the shape of its result, and a
tangent or gradient that of its parameter. All fields of a struct have the same domain.""",
        wrong=_SHADE.run(f"{_RUN} --set x=1 --set k=1"),
        right=_SHADE.run(f"{_RUN} --set x=[1] --set k=1"),
    ),
    "SA413": Explanation(
        "an array has the wrong type",
        """float needs float32, half float16, double float64, int int32, uint uint32, bool bool. slangad converts
floats of other widths and integers for floats, with a note. It does not convert floats to integers, nor numbers other
than 0 and 1 to bools. Integers must fit, and numbers must not be too large for half or float. None, text and lists of
unequal length are not arrays. Torch tensors on a GPU must already have the right type.""",
        wrong=_SHADE.run(f"{_RUN} --set x=[true,false] --set k=1"),
        right=_SHADE.run(f"{_RUN} --set x=[1,0] --set k=1"),
    ),
    "SA414": Explanation(
        "the domain is unknown, ambiguous or too large",
        """The domain is the common shape of the Each parameters, which must agree. For a kernel without Each
parameters use --domain 4096 or --domain 512x512 (domain= in Python), one number for each axis. In a pipeline the
shapes of the arguments of a stage must fit together too; the caret is at the stage. Indices are 32-bit, so an array
has at most 4294967295 scalars.""",
        wrong=_SHADE.run(f"{_RUN} --set x=[1,2] --set k=1 --domain 3"),
        right=_SHADE.run(f"{_RUN} --set x=[1,2] --set k=1 --domain 2"),
    ),
    "SA415": Explanation(
        "a file of arrays can't be read",
        """--inputs takes .npz files as numpy.savez writes them, with one array for each key. slangad does not read
arrays of Python objects, since that could execute code.""",
        wrong=_SHADE.plus(file("in.npz", "x = 1, 2")).run(f"{_RUN} -i in.npz --set k=1"),
        right=_SHADE.run(f"""
            python -c "import numpy; numpy.savez('in.npz', x=numpy.float32([1, 2]))"
            {_RUN} -i in.npz --set k=1
        """),
    ),
    "SA416": Explanation(
        "an input contains NaN",
        """An array contains NaN (not a number), which would spread to all results and gradients that depend on it. The
message gives the first location. --allow-nan runs the kernel anyway.""",
        wrong=_SHADE.run(f"{_RUN} --set x=[1,nan] --set k=1"),
        right=_SHADE.run(f"{_RUN} --set x=[1,nan] --set k=1 --allow-nan"),
    ),
    "SA417": Explanation(
        "the kernel does not have this mode",
        """Every kernel has the mode forward. backward, jvp and jtjvp need a gradient: a parameter that is not NoDiff,
not Uniform and not an integer, and a result that depends on it.

"slangad compile fit.py:shade --mode backward" is refused too if shade has no such mode. Without the name, kernels that
lack the mode are left out. Entry points of Slang files are compiled as they are. That is their mode forward, and they
have no other.""",
        wrong=python("""
            @sa.kernel
            def shade(x: NoDiff[Each[float]]) -> Each[float]:
                return x * x
        """).run(f"{_RUN} --mode backward --set x=[1,2]"),
        right=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                return x * x
        """).run(f"{_RUN} --mode backward --set x=[1,2]"),
    ),
    "SA418": Explanation(
        "slangad converted inputs",
        """Arrays had another width than the kernel computes in, such as float64 for float, and slangad rounded them.
Save them with the right type to avoid the note: array.astype("float32").

The note also appears if any thread may add to gradients of double: GPUs, and --deterministic on every device, add them
up in float. cpu without --deterministic uses double.""",
        wrong=_SHADE.run(f"""
            python -c "import numpy; numpy.savez('in.npz', x=numpy.float64([1, 2]))"
            {_RUN} -i in.npz --set k=1
        """),
        right=_SHADE.run(f"""
            python -c "import numpy; numpy.savez('in.npz', x=numpy.float32([1, 2]))"
            {_RUN} -i in.npz --set k=1
        """),
    ),
    "SA419": Explanation(
        "the kernel to run is ambiguous",
        """The description has several kernels, or none. Name one: `slangad run brdf.py:fit`.""",
        wrong=python("""
            @sa.kernel
            def one(x: Each[float]) -> Each[float]:
                return x * x


            @sa.kernel
            def two(x: Each[float]) -> Each[float]:
                return x * 0.5
        """).run(f"{_RUN} --set x=[1,2]"),
        right=python("""
            @sa.kernel
            def one(x: Each[float]) -> Each[float]:
                return x * x


            @sa.kernel
            def two(x: Each[float]) -> Each[float]:
                return x * 0.5
        """).run("slangad run shade.py:one --device cpu --set x=[1,2]"),
    ),
    "SA420": Explanation(
        "this can't be trained",
        """Training changes Param and Tensor parameters that are not NoDiff to make an objective smaller. The objective
is the only Sum or Mean of a floating-point number that the pipeline or kernel returns. Training needs an optimizer,
from the description or from --optimizer and --lr, and a gradient from the objective to the parameters. --batch selects
that many elements of the Each parameters.""",
        wrong=_FIT.run(f"{_TRAIN} --set p=0"),
        right=_FIT.run(f"{_TRAIN} --set p=0 {_SGD}"),
    ),
    "SA421": Explanation(
        "the loss is not finite",
        """The loss became NaN or infinite, and training stopped. slangad writes no parameters, and an earlier
checkpoint is unchanged. Usual causes are a learning rate that is too large, a division by zero, sqrt or log at zero,
and numbers that are too large for half. `slangad check` finds wrong derivatives.""",
        wrong=_FIT.run(f"{_TRAIN} --set p=0 --optimizer sgd --lr 1e30"),
        right=_FIT.run(f"{_TRAIN} --set p=0 {_SGD}"),
    ),
    "SA422": Explanation(
        "a checkpoint does not fit",
        """--resume continues from a checkpoint, with the same results as without the interruption. Therefore the
pipeline, its shapes, the data, the batch, the seed and the optimizer must be the same. Settings such as the learning
rate, and the program itself, may change; slangad prints a note then.""",
        wrong=_FIT.run(f"""
            {_TRAIN} --set p=0 {_SGD} --checkpoint c.npz
            {_TRAIN} --set p=0 {_SGD} --checkpoint c.npz --resume --batch 2
        """),
        right=_FIT.run(f"""
            {_TRAIN} --set p=0 {_SGD} --checkpoint c.npz
            {_TRAIN.replace("--steps 3", "--steps 6")} --set p=0 {_SGD} --checkpoint c.npz --resume
        """),
    ),
    "SA423": Explanation(
        "trained parameters start with random values",
        """A trained parameter had no value, so slangad drew it: from its declared range (ranges= in Python, ranges: in
YAML), else from [-1, 1]. --seed gives other values. A key in --data, or --set, gives the start value.""",
        wrong=_FIT.run(f"{_TRAIN} {_SGD}"),
        right=_FIT.run(f"{_TRAIN} --set p=0 {_SGD}"),
    ),
    "SA424": Explanation(
        "the losses can't be plotted",
        """--plot draws with matplotlib (also the extra `plots` of slangad) to a .png or .pdf file. The
file matplotlib.py of the example makes the import of matplotlib fail, as it does where matplotlib is not installed.""",
        wrong=_FIT.plus(file("matplotlib.py", "raise ImportError")).run(
            f"{_TRAIN.replace('slangad', 'python -m slangad.cli')} --set p=0 {_SGD} --plot loss.png"
        ),
        right=_FIT.run(f"{_TRAIN} --set p=0 {_SGD} --plot loss.png"),
    ),
    "SA425": Explanation(
        "results are infinite",
        """Results are too large for their type (half ends at 65504, float at 3.4e38), or something was divided by
zero. slangad adds up sums and gradients of half in float or double and rounds them at the end.""",
        wrong=_SHADE.run(f"{_RUN} --set x=[1e30] --set k=1"),
        right=_SHADE.run(f"{_RUN} --set x=[1e10] --set k=1"),
    ),
    "SA426": Explanation(
        "a kernel reads a global",
        """A function of a Slang file, or a function that it calls, reads a global parameter: a uniform, a buffer, a
texture, or a field of a cbuffer. `slangad run` and `slangad train` have no value for it. Make it a parameter of the
function; a wrapper does not help, since it can't set globals. The output of `slangad compile` is complete: the program
that launches it binds the global.""",
        wrong=slang("""
            uniform float gain;
            [Differentiable] float f(float x) { return x * gain; }
        """).run("slangad run shade.slang --device cpu --set x=[1,2]"),
        right=slang("[Differentiable] float f(float x, no_diff float gain) { return x * gain; }").run(
            "slangad run shade.slang --device cpu --set x=[1,2] --set gain=[1,1]"
        ),
    ),
    "SA427": Explanation(
        "a kernel binds many storage buffers in WebGPU",
        """This is a note: the artefact is complete. Every WebGPU device binds eight storage buffers at once. Most bind
more, if the program asks for it: `requestDevice({requiredLimits: {maxStorageBuffersPerShaderStage: 10}})`. The
manifest has the number of each artefact. Each parameter, or field of a struct, has a buffer; an `Array` has one.
Without `--no-pack-buffers`, slangad binds inputs of one type as one buffer where there are more than eight.""",
        wrong=python("""
            @sa.kernel
            def fit(a: Each[float], b: Each[float], c: Each[float], d: Each[float], e: Each[float]) -> Each[float]:
                return a * b * c * d * e
        """).run("slangad compile shade.py -t wgsl --no-pack-buffers"),
        right=python("""
            @sa.kernel
            def fit(a: Each[Array[float, 5]]) -> Each[float]:
                return a[0] * a[1] * a[2] * a[3] * a[4]
        """).run("slangad compile shade.py -t wgsl"),
    ),
    "SA428": Explanation(
        "distributed training failed",
        """Ranks add up their gradients with torch, which slangad does not install. A training also stops if one of its
ranks ends: no sum is complete without it. Start it again with --resume, with any number of ranks. The file torch.py of
the example makes the import of torch fail, as it does where torch is not installed.""",
        wrong=_FIT.plus(file("torch.py", "raise ImportError")).run(
            f"{_TRAIN.replace('slangad', 'python -m slangad.cli')} --set p=0 {_SGD} --distributed 2"
        ),
        right=_FIT.run(f"{_TRAIN} --set p=0 {_SGD}"),
    ),
    "SA429": Explanation(
        "the lists of sa.bin are longer than their capacity",
        """The lists of all tiles lie one after the other in order. Its length is capacity=, and memory is allocated
before the lists are known. The message says how many places they need. Training stops: on the CPU at the first step
whose lists are too long, on other devices after the steps that were submitted together. Give a capacity with some room,
for example 8 * centre.shape[0].""",
        wrong=_listed("4"),
        right=_listed("4 * low.shape[0]"),
    ),
}
