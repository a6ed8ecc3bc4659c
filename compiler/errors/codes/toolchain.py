"""The diagnostic codes of the toolchain: SA200 to SA255."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation
from slangad.compiler.errors.examples import file, python, slang, yaml

_SHADE: Final = python("""
    @sa.kernel
    def shade(x: Each[float], k: Uniform[float]) -> Each[float]:
        return x * x * k
""")
_RUN: Final = "slangad run shade.py --device cpu --set x=[1,2] --set k=1"

CODES: Final[dict[str, Explanation]] = {
    "SA200": Explanation(
        "an error of the Slang compiler",
        """Slang rejected the program; the message is Slang's. If slangad emitted the text, the caret is at the line of
your program that it comes from. If your program contains no Slang (sa.extern, Slang bodies), slangad should have
reported the error itself: please report it.""",
        wrong=slang("[Differentiable] float f(float x) { return x * y; }"),
        right=slang("[Differentiable] float f(float x, float y) { return x * y; }"),
    ),
    "SA201": Explanation(
        "a loop needs a bound",
        """Reverse mode stores values for each iteration, so the maximal number of iterations must be known. `for i in
range(8)` has a constant bound. Give any other loop one: `while sa.max_iters(64) and x > eps`, or in Slang
[MaxIters(n)] or [ForceUnroll]. The bound must hold: a loop that exceeds its [MaxIters] has a wrong gradient.""",
        wrong=slang("""
            [Differentiable] float f(float x, int n)
            {
                for (int i = 0; i < n; i++) x *= x;
                return x;
            }
        """),
        right=slang("""
            [Differentiable] float f(float x, int n)
            {
                [MaxIters(8)] for (int i = 0; i < n; i++) x *= x;
                return x;
            }
        """),
    ),
    "SA202": Explanation(
        "the derivative is lost at a call",
        """A differentiable function calls a function without a derivative, and passes an argument that has one. Mark
the callee @sa.differentiable ([Differentiable] in Slang), or give it a derivative with @f.backward. Write
no_diff(f(x)) if the gradient should end there.""",
        wrong=slang("""
            float g(float x) { return x * x; }
            [Differentiable] float f(float x) { return g(x); }
        """),
        right=slang("""
            [Differentiable] float g(float x) { return x * x; }
            [Differentiable] float f(float x) { return g(x); }
        """),
    ),
    "SA203": Explanation(
        "the derivative is lost at an assignment",
        """A value with a derivative is stored to a location that can't hold one: a buffer, a global, or a field of a
struct that is not differentiable. Use a local variable or a differentiable struct. Write no_diff(...), in Slang
detach(...), if the gradient should end there.""",
        wrong=slang("""
            struct Ball { float radius; }
            [Differentiable] float f(float x)
            {
                Ball ball;
                ball.radius = x;
                return ball.radius * x;
            }
        """),
        right=slang("""
            struct Ball : IDifferentiable { float radius; }
            [Differentiable] float f(float x)
            {
                Ball ball;
                ball.radius = x;
                return ball.radius * x;
            }
        """),
    ),
    "SA204": Explanation(
        "the derivative is lost at an out argument",
        """An out or inout argument names a location that can't hold a derivative. Pass a local variable, and copy it
afterwards.""",
        wrong=slang("""
            struct Ball { float radius; }
            [Differentiable] void square(float x, out float y) { y = x * x; }
            [Differentiable] float f(float x)
            {
                Ball ball;
                square(x, ball.radius);
                return x;
            }
        """),
        right=slang("""
            [Differentiable] void square(float x, out float y) { y = x * x; }
            [Differentiable] float f(float x)
            {
                float radius;
                square(x, radius);
                return radius;
            }
        """),
    ),
    "SA205": Explanation(
        "no_diff has no meaning here",
        """no_diff is allowed around a call or a subscript in a function that is differentiated. At other locations
there is no derivative to stop.""",
        wrong=slang("[Differentiable] float f(float x) { return x * no_diff(x * 2.0); }"),
        right=slang("[Differentiable] float f(float x) { return x * no_diff(sin(x)); }"),
    ),
    "SA206": Explanation(
        "a custom derivative does not fit its function",
        """The backward derivative of `R f(T x, U y)` is `void f_bwd(inout DifferentialPair<T> x, inout
DifferentialPair<U> y, R.Differential d_result)`. An input becomes an inout pair, and an out parameter becomes an input
of its Differential type. A parameter without a derivative is unchanged, and the gradient of the result is the last
parameter.

The forward derivative is `DifferentialPair<R> f_fwd(DifferentialPair<T> x, DifferentialPair<U> y)`. Methods keep their
`this`; static functions need static derivatives.""",
        wrong=slang("""
            [BackwardDerivative(f_bwd)] [Differentiable] float f(float x) { return x * x; }
            void f_bwd(DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }
        """),
        right=slang("""
            [BackwardDerivative(f_bwd)] [Differentiable] float f(float x) { return x * x; }
            void f_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }
        """),
    ),
    "SA207": Explanation(
        "[DerivativeMember] does not fit",
        """[DerivativeMember(Differential.name)] is for a member of a struct that is IDifferentiable. It must name a
member of the struct's Differential type.""",
        wrong=slang("""
            struct Slope : IDifferentiable { float radius; }
            struct Other { float radius; }
            struct Ball : IDifferentiable
            {
                typedef Slope Differential;
                [DerivativeMember(Other.radius)] float radius;
            }
            [Differentiable] float f(Ball ball) { return ball.radius; }
        """),
        right=slang("""
            struct Slope : IDifferentiable { float radius; }
            struct Ball : IDifferentiable
            {
                typedef Slope Differential;
                [DerivativeMember(Slope.radius)] float radius;
            }
            [Differentiable] float f(float x) { Ball ball; ball.radius = x; return ball.radius * x; }
        """),
    ),
    "SA208": Explanation(
        "a derivative can't be differentiated again",
        """Slang can't differentiate code that contains bwd_diff. Use fwd_diff for one of the two derivatives:
fwd_diff(fwd_diff(f)) works, and so does bwd_diff of a function that calls fwd_diff.""",
        no_example="Slang 2026.12 crashes on such a program (SA084, SA240). Later versions give the code.",
    ),
    "SA209": Explanation(
        "not available on this target",
        """The program uses a feature that the target does not have. Metal and WGSL have no double, and WGSL no 16-bit
integers. C++ has no wave operations, group barriers and atomics; WGSL and HLSL have no float atomics. Omit the target,
or avoid the feature. The notes give the location.""",
        wrong=slang("[Differentiable] float f(float x) { return x * int16_t(x); }").run(
            "slangad compile shade.slang -t wgsl"
        ),
        right=slang("[Differentiable] float f(float x) { return x * int(x); }").run(
            "slangad compile shade.slang -t wgsl"
        ),
    ),
    "SA210": Explanation(
        "the Slang compiler failed internally",
        """Slang stopped with an internal error. This is a defect of Slang, but usually one construct triggers it; the
notes give the location if Slang knows it. Try other targets, or write that code in another way, and report the defect
to github.com/shader-slang/slang with the emitted Slang.""",
        wrong=yaml("""
            functions:
              cube: {params: {x: float}, returns: float, expr: x * x * x}
              slope:
                params: {x: float}
                returns: float
                slang: var p = diffPair(x); bwd_diff(cube)(p, 1.0); return p.d;
            kernels:
              shade: {params: {x: each float}, returns: each float, expr: slope(x)}
        """).run("slangad compile shade.yaml --mode jvp"),
        right=yaml("""
            functions:
              cube: {params: {x: float}, returns: float, expr: x * x * x}
              slope:
                params: {x: float}
                returns: float
                slang: return fwd_diff(cube)(diffPair(x, 1.0)).d;
            kernels:
              shade: {params: {x: each float}, returns: each float, expr: slope(x)}
        """).run("slangad compile shade.yaml --mode jvp"),
    ),
    "SA211": Explanation(
        "a target or device does not have this feature",
        """slangad refuses a kernel for the targets and devices that lack a feature it uses. It writes the other
targets as usual, and exits with code 1. Use float, or omit these targets.

Metal and WGSL have no double. WGSL has no constants that are infinite or NaN in lists, in vectors or of type half.
SPIR-V and GLSL have no exp, log, pow, sin and similar functions of double. Direct3D has only arithmetic, abs, min, max
and clamp of double. For such functions Slang emits code that computes wrong numbers. slangad does not examine calls
inside Slang text.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[sa.double]) -> Each[sa.double]:
                return x * x
        """).run("slangad compile shade.py -t metal"),
        right=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                return x * x
        """).run("slangad compile shade.py -t metal"),
    ),
    "SA220": Explanation(
        "a warning of the Slang compiler",
        """Slang accepts the program and warns about it; the message is Slang's.""",
        wrong=slang("[Differentiable] float f(float x) { int n = x; return x * n; }"),
        right=slang("[Differentiable] float f(float x) { int n = int(x); return x * n; }"),
    ),
    "SA240": Explanation(
        "the Slang compiler crashed",
        """The process that ran Slang died. The message names the input, the entry point and the targets that it worked
on; everything else was compiled. Known causes are a while loop with a compound condition under [MaxIters] in reverse
mode, bwd_diff of bwd_diff, and a property whose `get` is [Differentiable]. Instead of the property write a method:
`[Differentiable] float twice() { return a * 2.0; }`. `slangad compile --emit slang` writes the Slang text, which
reproduces the crash.""",
        wrong=yaml("""
            functions:
              grow:
                params: {x: float}
                returns: float
                slang: |
                  int i = 0;
                  [MaxIters(8)] while (i < 4 && x < 100.0) { x = x * x; i++; }
                  return x;
            kernels:
              shade: {params: {x: each float}, returns: each float, expr: grow(x)}
        """),
        right=yaml("""
            functions:
              grow:
                params: {x: float}
                returns: float
                slang: |
                  [MaxIters(4)] for (int i = 0; i < 4; i++) { if (x < 100.0) x = x * x; }
                  return x;
            kernels:
              shade: {params: {x: each float}, returns: each float, expr: grow(x)}
        """),
    ),
    "SA241": Explanation(
        "a compiler did not finish in time",
        """Slang (or the C++ compiler) exceeded the time limit and was ended; everything else was compiled. Recursion
in a differentiable function makes Slang run forever. A large unrolled loop may only need more time: increase
--time-limit.""",
        wrong=slang("[Differentiable] float f(float x) { return x * x; }").run(
            "slangad compile shade.slang --time-limit 0.001"
        ),
        right=slang("[Differentiable] float f(float x) { return x * x; }"),
    ),
    "SA242": Explanation(
        "a target needs a tool that is missing",
        """Most targets need Slang only. dxil needs the DirectX shader compiler (DXC). ptx needs NVRTC from the CUDA
toolkit or from the package nvidia-cuda-nvrtc. shader-sharedlib needs a C++ compiler. slangad wrote the other targets.
`slangad doctor` lists the tools that were found, and says how to install the others.""",
        wrong=_SHADE.run("slangad compile shade.py -t dxil"),
        right=_SHADE.run("slangad compile shade.py -t hlsl"),
    ),
    "SA243": Explanation(
        "slangc can't be run",
        """The program given with --slangc does not exist or can't be executed. Without the option slangad uses the
Slang compiler that comes with slangpy.""",
        wrong=_SHADE.run("slangad compile shade.py --slangc ./slangc"),
        right=_SHADE,
    ),
    "SA244": Explanation(
        "the Slang library is missing or broken",
        """slangad uses the Slang compiler in the slangpy package, or the library given by the environment variable
SLANGAD_SLANG_LIBRARY. It is missing, is for another platform, or lacks a function that slangad calls. Reinstall
slangpy in the version that slangad requires, or give an executable with --slangc.""",
        wrong=_SHADE.run("SLANGAD_SLANG_LIBRARY=./libslang.so slangad compile shade.py"),
        right=_SHADE,
    ),
    "SA245": Explanation(
        "no C++ compiler",
        """The cpu device compiles Slang's C++ output on this machine. If the environment variable CXX is set, slangad
uses the compiler it names and no other. Otherwise it looks for c++, g++, clang++ and cl, then for the Python package
ziglang (`pip install ziglang`).""",
        wrong=_SHADE.run(f"CXX=./g++ {_RUN}"),
        right=_SHADE.run(_RUN),
    ),
    "SA246": Explanation(
        "the C++ compiler rejected Slang's output",
        """Slang reported success, but its C++ does not compile. The notes show the compiler's first errors; other
targets may work. Two causes are known in reverse mode, and SPIR-V has the same defects. One is a `for` loop that
begins at a number known at run time: begin at 0. The other is a store that uses a run-time index twice, `m[i][i] = e`:
store to a copy of the row, and write the row back. Features that the C++ target lacks are a further cause.""",
        wrong=slang("""
            [Differentiable] float f(float x, int n)
            {
                float s = 0.0;
                [MaxIters(8)] for (int i = n; i < 8; i++) s += x * x;
                return s;
            }
        """).run("slangad run shade.slang --device cpu --mode backward --set x=[1] --set n=[2]", portable=False),
        right=slang("""
            [Differentiable] float f(float x, int n)
            {
                float s = 0.0;
                for (int i = 0; i < 8; i++) { if (i >= n) s += x * x; }
                return s;
            }
        """).run("slangad run shade.slang --device cpu --mode backward --set x=[1] --set n=[2]"),
    ),
    "SA247": Explanation(
        "Slang returned neither code nor an error",
        """The compiler ended without a result and without an error message. Usually --slangc names a program that is
not slangc, or SLANGAD_SLANG_LIBRARY a library that does not fit. The notes show its last output.""",
        wrong=_SHADE.plus(file("slangc", "#!/bin/sh\necho 'I am another program'")).run(
            "slangad compile shade.py --slangc ./slangc"
        ),
        right=_SHADE,
    ),
    "SA248": Explanation(
        "a kernel crashed on the CPU",
        """The compiled kernel ended its process, or did not end. Usually an index is out of bounds: the CPU does not
check, and GPUs would read zeros or garbage. Other causes are a while loop that does not end, and a loop that exceeds
its [MaxIters] in reverse mode.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[float], w: Tensor[float, 1]) -> Each[float]:
                return x * w[1000000000]
        """).run("slangad run shade.py --device cpu --set x=[1] --set w=[1,2]", portable=False),
        right=python("""
            @sa.kernel
            def shade(x: Each[float], w: Tensor[float, 1]) -> Each[float]:
                return x * w[1]
        """).run("slangad run shade.py --device cpu --set x=[1] --set w=[1,2]"),
    ),
    "SA249": Explanation(
        "a GPU device can't be used",
        """slangpy (for webgpu: wgpu) is missing or found no such device, its driver failed, or the driver rejected the
emitted Slang. The notes show its messages. `slangad doctor` tries every device and says what to install.""",
        wrong=_SHADE.run(
            "VK_DRIVER_FILES=./none.json slangad run shade.py --device vulkan --set x=[1,2] --set k=1", portable=False
        ),
        right=_SHADE.run(_RUN),
    ),
    "SA250": Explanation(
        "there is no device with this name",
        """device= in Python and --device take cpu, cuda, vulkan, d3d12, metal, webgpu, or auto. auto means a GPU that
works, else the CPU. `slangad doctor` tries all devices. d3d12 and metal use the same code as the other GPUs, but
nobody has tested slangad on them yet.""",
        wrong=_SHADE.plus(
            file("use.py", 'import slangad as sa\n\nprint(sa.load("shade.py", device="gpu").shade([1.0, 2.0], 3.0))')
        ).run("python use.py", portable=False),
        right=_SHADE.plus(
            file("use.py", 'import slangad as sa\n\nprint(sa.load("shade.py", device="cpu").shade([1.0, 2.0], 3.0))')
        ).run("python use.py"),
    ),
    "SA251": Explanation(
        "too little memory on the device",
        """The kernel needs a buffer for each parameter, result, gradient and tangent, and they don't fit. Run on fewer
elements at a time, or on another device.

On the CPU, and on GPUs whose driver is software, slangad compares with the free memory before it allocates, and leaves
some to other programs. On such GPUs it respects `ulimit -v` too. On a GPU --deterministic needs 136 bytes for each
scalar of a tensor that threads add to in any order, and 4 GiB at most. On WebGPU no buffer may be larger than the
device can bind, often 128 MiB.""",
        wrong=_SHADE.run("slangad run shade.py --device cpu --random 0 --domain 40000000000000", portable=False),
        right=_SHADE.run("slangad run shade.py --device cpu --random 0 --domain 4"),
    ),
    "SA252": Explanation(
        "a device failed while it ran",
        """The driver reported an error during the work. The device was lost or reset, a kernel ran longer than the
system allows, or an index was out of bounds. Some drivers do not take kernels in which a thread keeps thousands of
floats. The notes show the driver's message. slangad wrote nothing.""",
        no_example="No program makes the driver of every machine fail.",
    ),
    "SA253": Explanation(
        "WebGPU does not have this feature",
        """WebGPU has no double, and each device has limits. Half precision may be missing. The number of buffers of a
kernel (8 at least), of threads in a group (256 at least) and of texels along an axis (8192 at least) is limited. Each
field of a struct needs a buffer. slangad requests the maximum of the adapter. The message says what is missing; other
devices have higher limits.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[sa.double]) -> Each[sa.double]:
                return x * x
        """).run("slangad run shade.py --device webgpu --set x=[1,2]"),
        right=python("""
            @sa.kernel
            def shade(x: Each[sa.double]) -> Each[sa.double]:
                return x * x
        """).run("slangad run shade.py --device cpu --set x=[1,2]"),
    ),
    "SA254": Explanation(
        "more uniforms than Vulkan takes",
        """slangad passes Uniform values and the size of the domain to a Vulkan kernel as push constants. Drivers take
128 to 256 bytes of them, some more. For a large value that is the same for all threads use NoDiff[Param[...]], in YAML
`no_diff param`: it is in a buffer of any size. Other devices have no such limit.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[float], w: Uniform[Array[float, 100]]) -> Each[float]:
                return x * w[0]
        """).run("slangad run shade.py --device vulkan --set x=[1,2] --random 0", portable=False),
        right=python("""
            @sa.kernel
            def shade(x: Each[float], w: NoDiff[Param[Array[float, 100]]]) -> Each[float]:
                return x * w[0]
        """).run("slangad run shade.py --device vulkan --set x=[1,2] --random 0"),
    ),
    "SA255": Explanation(
        "temporary files can't be written",
        """Compilers and drivers read files, so slangad writes temporary ones and removes them when it ends. They are
in the folder that TMPDIR names, else in /tmp. The buffers of the CPU are files too, in memory. The message is that of
the operating system: the disk is full, or a limit is too low (ulimit -f, ulimit -n). slangad wrote nothing
elsewhere.""",
        wrong=_SHADE.run("ulimit -f 1; TMPDIR=. slangad compile shade.py --no-cache"),
        right=_SHADE,
    ),
    "SA256": Explanation(
        "Slang does not take an argument",
        """`-X FLAG` and the key `flags` of `[tool.slangad]` pass arguments to the Slang compiler as they are. This
compiler does not know one of them, or the argument needs a value. Each `-X` passes one word, so an argument with a
value needs two: `-X -capability -X spirv_1_5`.""",
        wrong=_SHADE.run("slangad compile shade.py -X -no-such-flag"),
        right=_SHADE.run("slangad compile shade.py -X -experimental-feature"),
    ),
}
