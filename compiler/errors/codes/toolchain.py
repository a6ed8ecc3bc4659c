"""Every diagnostic code of the toolchain at length, for ``slangad explain`` and docs/errors.md."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation

CODES: Final[dict[str, Explanation]] = {
    "SA200": Explanation(
        "an error of the Slang compiler",
        """Slang rejected the text, in its own words. Where the text was emitted by slangad, the place shown is the
line of your program it was made from. If your program has no Slang of its own (sa.extern, raw Slang bodies), slangad
should have caught this earlier: please report it.""",
    ),
    "SA201": Explanation(
        "a loop needs a bound",
        """Reverse mode stores what each iteration needs, so it must know how many there can be. `for i in range(8)`
has a constant bound; for any other loop state one: `while sa.max_iters(64) and x > eps`. The bound must hold: a loop
that runs longer than its [MaxIters] gets a wrong gradient. In hand-written Slang put [MaxIters(n)] or [ForceUnroll]
before it.""",
    ),
    "SA202": Explanation(
        "the derivative is lost at a call",
        """A differentiable function calls one that has no derivative, with an argument that carries one. Mark the
callee @sa.differentiable ([Differentiable] in Slang), give it a derivative with @f.backward, or say that the gradient
should end there: no_diff(f(x)).""",
    ),
    "SA203": Explanation(
        "the derivative is lost at an assignment",
        """A value that carries a derivative is stored where none can be kept: a buffer, a global, or a field whose
struct is not differentiable. Keep it in a local variable or a differentiable struct, or end the gradient on purpose
with no_diff(...) (in Slang: detach(...)).""",
    ),
    "SA204": Explanation(
        "the derivative is lost through an out argument",
        """An out or inout argument names a place that carries no derivative. Pass a local variable and copy it
afterwards.""",
    ),
    "SA205": Explanation(
        "no_diff is misplaced",
        """no_diff belongs around a call or a subscript, inside a function that is differentiable. Elsewhere there is
no derivative to stop.""",
    ),
    "SA206": Explanation(
        "a custom derivative does not fit its function",
        """The backward derivative of `R f(T x, U y)` is `void f_bwd(inout DifferentialPair<T> x, inout
DifferentialPair<U> y, R.Differential d_result)`: an input becomes an inout pair, an out parameter an input of its
Differential type, a parameter without derivative stays as it is, and the gradient of the result comes last. The
forward derivative is `DifferentialPair<R> f_fwd(DifferentialPair<T> x, DifferentialPair<U> y)`. Methods keep their
`this`; static functions need static derivatives.""",
    ),
    "SA207": Explanation(
        "[DerivativeMember] does not fit",
        """[DerivativeMember(Differential.name)] belongs on a member of a struct that is IDifferentiable and must name
a member of that struct's Differential type.""",
    ),
    "SA208": Explanation(
        "a derivative that cannot be differentiated again",
        """Slang cannot differentiate code that contains bwd_diff. For second derivatives use fwd_diff outside or
inside: fwd_diff(fwd_diff(f)) and bwd_diff over a function that calls fwd_diff work.""",
    ),
    "SA209": Explanation(
        "not available on this target",
        """The program uses something the target lacks: double and 8-bit integers on Metal and WGSL, 16-bit integers
on WGSL, wave operations, group barriers and atomics on C++, float atomics on WGSL and HLSL. Leave the target out with
-t, or avoid the feature. The notes name the place.""",
    ),
    "SA210": Explanation(
        "the Slang compiler failed internally",
        """Slang gave up with an internal error. It is a defect of Slang, but usually one construct triggers it; the
notes name the place if Slang knew it. Try the other targets, or write that place in another way, and report it to
github.com/shader-slang/slang with the emitted Slang.""",
    ),
    "SA211": Explanation(
        "something that a target or device lacks",
        """Metal and WGSL have no double. A kernel that uses it, in its parameters, its results or anything it calls, is
not compiled for them; nor for WGSL one with a constant list, vector or half that is not finite. SPIR-V and GLSL have
no exp, log, pow, sin and the like of double, and Direct3D has only arithmetic, abs, min, max and clamp of it; what
Slang writes there gives other numbers, so kernels that call such a function are refused, for these targets and on the
devices vulkan and d3d12; what is called inside Slang text is not looked at. The other targets are written as usual, and
the exit code is 1. Use float, or leave these targets out.""",
    ),
    "SA220": Explanation(
        "a warning of the Slang compiler",
        """Slang accepts the program and points something out, in its own words.""",
    ),
    "SA240": Explanation(
        "the Slang compiler crashed",
        """The process that runs Slang died. The message names the input, the entry point and the targets it worked
on; everything else was compiled. Known causes: a while loop with a compound condition under [MaxIters] in reverse
mode; bwd_diff of bwd_diff; a property whose `get` is [Differentiable], in place of which write a method:
`[Differentiable] float twice() { return a * 2.0; }`. `slangad compile --emit slang` writes the Slang text, which
reproduces the crash.""",
    ),
    "SA241": Explanation(
        "a compiler did not finish in time",
        """Slang (or the C++ compiler) ran into the time limit and was ended; everything else was compiled. Recursion
in a differentiable function makes Slang run forever. A large unrolled loop can simply take long: raise the limit with
--time-limit.""",
    ),
    "SA242": Explanation(
        "a target needs a tool that is missing",
        """Most targets need nothing but Slang. dxil needs the DirectX shader compiler (DXC), ptx needs NVRTC from the
CUDA toolkit or the package nvidia-cuda-nvrtc, shader-sharedlib needs a C++ compiler. The other targets were written.
`slangad doctor` lists what is there and how to get the rest.""",
    ),
    "SA243": Explanation(
        "slangc can't be run",
        """The program named by --slangc does not exist or can't be executed. Leave the option out to use the Slang
compiler that comes with slangpy.""",
    ),
    "SA244": Explanation(
        "the Slang library is missing or broken",
        """slangad uses the Slang compiler inside the slangpy package, or the library named by the environment
variable SLANGAD_SLANG_LIBRARY. It is missing, was made for another platform, or lacks a function that slangad calls.
Reinstall slangpy in the version slangad asks for, or give an executable with --slangc.""",
    ),
    "SA245": Explanation(
        "no C++ compiler",
        """The cpu device compiles Slang's C++ output on this machine. It takes the one that the
environment variable CXX names, and no other where CXX is set; else it looks for c++, g++, clang++ and cl, then for the
Python package ziglang (`pip install slangad[zig]`).""",
    ),
    "SA246": Explanation(
        "the C++ compiler rejected Slang's output",
        """Slang reported success, but its C++ does not compile. The notes hold the compiler's first errors. Known
causes, in reverse mode: a `for` loop that begins at a number known at run time (begin at 0), and a store through one
run-time index twice, `m[i][i] = e` (store into a copy of the row, and put that back); SPIR-V has the same defects.
Others: features the C++ target lacks. The other targets may be fine then.""",
    ),
    "SA247": Explanation(
        "Slang gave neither code nor an error",
        """The compiler ended without a result and without saying why. Most often --slangc names a program that is not
slangc, or SLANGAD_SLANG_LIBRARY a library that does not fit. The notes hold what it printed last.""",
    ),
    "SA248": Explanation(
        "a kernel crashed on the CPU",
        """The compiled kernel ended its process, or did not come to an end. Usually an index is out of bounds (the CPU
does not check, and GPUs would read zeros or garbage), a while loop does not end, or a loop ran beyond its [MaxIters] in
reverse mode.""",
    ),
    "SA249": Explanation(
        "a GPU device can't be used",
        """slangpy (for webgpu: wgpu) is missing or found no such device here, its driver failed, or the driver did not
take the emitted Slang. The notes hold what it said. slangad doctor tries every device and says what to install.""",
    ),
    "SA250": Explanation(
        "there is no device of this name",
        """--device (device= in Python) takes cpu, cuda, vulkan, d3d12, metal, webgpu, or auto for a GPU that works,
else the CPU. slangad doctor tries them all. slangad was never tried on d3d12 and metal; they are driven alike.""",
    ),
    "SA251": Explanation(
        "too little memory on the device",
        """The buffers of the kernel don't fit: one for each parameter, result, gradient and tangent. On the CPU, and
where a GPU's driver is one in software, slangad asks before it takes memory, and leaves some to others; in the latter
case it heeds `ulimit -v` too. Run on fewer elements at a time, or on another device.
With --deterministic a tensor that threads add to in any order needs 44 bytes for each scalar on a GPU, and at most
4 GiB in all. On WebGPU no buffer may be larger than the device can bind, often 128 MiB.""",
    ),
    "SA252": Explanation(
        "a device failed while it ran",
        """The driver reported an error in the middle of the work: the device was lost or reset, a kernel ran longer
than the system allows, or an index was out of bounds. The notes hold what it said. Nothing was written.""",
    ),
    "SA253": Explanation(
        "WebGPU can't do this",
        """WebGPU has no double, and each device of it has limits: half precision may be missing; a kernel has so many
buffers at once (8 at least, mostly more), its groups so many threads (256 at least), textures have so many texels (8192
at least along an axis). slangad asks for the most the adapter has. The message says what is missing; other devices go
further. Each field of a struct takes a buffer of its own.""",
    ),
    "SA254": Explanation(
        "more uniforms than Vulkan takes",
        """Uniform values, the domain among them, go to a Vulkan kernel as push constants, of which drivers take 128 to
256 bytes and some more. A value that is the same for all threads may be a NoDiff[Param[...]] instead, in YAML
`no_diff param`: it lies in a buffer of any size. Other devices have no such limit.""",
    ),
    "SA255": Explanation(
        "temporary files can't be written",
        """Compilers and drivers read files, so slangad writes some, into the folder that TMPDIR names (/tmp where it
names none, or a full one), and removes them when it ends; buffers of the CPU are files too, in memory. The message says
what the operating system answered: the disk is full, or a limit is too low (ulimit -f, ulimit -n). Nothing was written
elsewhere.""",
    ),
}
