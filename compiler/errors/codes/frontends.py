"""The diagnostic codes of the front ends: SA001 to SA049."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation
from slangad.compiler.errors.examples import file, python

CODES: Final[dict[str, Explanation]] = {
    "SA001": Explanation(
        "syntax error",
        """The file is not valid Python. The message is Python's own, and the caret is where Python's parser stopped.
slangad executed nothing of the file.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float
                return x
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x
        """),
    ),
    "SA002": Explanation(
        "an input can't be read",
        """The file does not exist, can't be opened, or is not text in its encoding. The encoding is UTF-8 unless the
file declares another one. slangad reads files that end in .py, .yaml, .yml and .slang,
and Slang files that end in .slangh, .slangi, .hlsli or .hlsl.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x
        """).run("slangad compile shades.py"),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x
        """),
    ),
    "SA003": Explanation(
        "the file raised an exception",
        """slangad executes a description to load it, as Python does with a module, and the description raised an
exception. The caret is at the innermost line of your own code. Run the file with python to see the whole traceback.""",
        wrong=python("""
            TABLE = (0.1, 0.2, 0.4)
            LAST = TABLE[3]


            @sa.differentiable
            def f(x: float) -> float:
                return x * LAST
        """),
        right=python("""
            TABLE = (0.1, 0.2, 0.4)
            LAST = TABLE[2]


            @sa.differentiable
            def f(x: float) -> float:
                return x * LAST
        """),
    ),
    "SA004": Explanation(
        "the syntax has no translation",
        """A described function may use assignments, if, for, while, return, break, continue, pass, calls, operators,
comparisons, conditional expressions, subscripts, attributes and tuples. slangad refuses all other syntax before it
executes the file, and reports all of it at once. The help names a replacement.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return sum([x * i for i in range(4)])
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                total = 0.0
                for i in range(4):
                    total += x * i
                return total
        """),
    ),
    "SA005": Explanation(
        "nothing is described, or a description is wrong",
        """The file has no function decorated with @sa.differentiable, @sa.function or @sa.kernel and no class
decorated with @sa.struct. Or the arguments of a decorator, policy or type are not allowed.""",
        wrong=python("""
            @sa.kernel(dims=4)
            def shade(x: Each[float]) -> Each[float]:
                return x * x
        """),
        right=python("""
            @sa.kernel(dims=3)
            def shade(x: Each[float]) -> Each[float]:
                return x * x
        """),
    ),
    "SA006": Explanation(
        "two definitions have the same name",
        """Programs look kernels up by name, so a name may denote one kernel only. A second function or struct with the
same name would silently replace the first. Rename one of them.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x


            @sa.differentiable
            def f(x: float) -> float:
                return x * x
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x


            @sa.differentiable
            def g(x: float) -> float:
                return x * x
        """),
    ),
    "SA010": Explanation(
        "unknown name",
        """The name is not a parameter or local, is not defined in the file or imported, and is not a Python function
that slangad supports. Those are max, min, abs, pow, round, range, len, sum, any, all, enumerate, zip, reversed, float,
int, bool and the functions of math. The help suggests a similar name if there is one.""",
        wrong=python("""
            @sa.differentiable
            def f(roughness: float) -> float:
                return rougness * 2.0
        """),
        right=python("""
            @sa.differentiable
            def f(roughness: float) -> float:
                return roughness * 2.0
        """),
    ),
    "SA011": Explanation(
        "no such field, component or method",
        """A struct has its fields and methods. A vector has the components x y z w or r g b a, which must not be
mixed. A differential pair has .p (the value) and .d (the derivative).""",
        wrong=python("""
            @sa.differentiable
            def f(v: float2) -> float:
                return v.z
        """),
        right=python("""
            @sa.differentiable
            def f(v: float2) -> float:
                return v.y
        """),
    ),
    "SA012": Explanation(
        "an exponent can't be translated",
        """x ** n with an integer constant n becomes a product, which is right for every x. x ** y with a
floating-point y becomes pow, which needs x > 0. An integer that is known only at run time has no exact translation.
Write a loop with a bound, or float(n) if x is positive.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float, n: int) -> float:
                return x**n
        """),
        right=python("""
            @sa.differentiable
            def f(x: float, n: int) -> float:
                power = 1.0
                for _ in sa.range(n, max_iters=8):
                    power *= x
                return power
        """),
    ),
    "SA013": Explanation(
        "types can't be combined",
        """int and float combine to float. A number combines with a vector, component by component. A literal takes the
type of the other operand. All other combinations need a conversion: half, float and double do not mix, int and uint do
not mix, bool is not a number, and vectors must have the same size.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float, h: sa.half) -> float:
                return x * h
        """),
        right=python("""
            @sa.differentiable
            def f(x: float, h: sa.half) -> float:
                return x * float(h)
        """),
    ),
    "SA014": Explanation(
        "an argument has the wrong type",
        """The argument has no implicit conversion to the parameter's type. Only literals and int to floating point
convert implicitly. Write float3(x) to make a vector of one value.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float, v: float3) -> float:
                return sa.dot(x, v)
        """),
        right=python("""
            @sa.differentiable
            def f(x: float, v: float3) -> float:
                return sa.dot(float3(x), v)
        """),
    ),
    "SA015": Explanation(
        "wrong number or names of arguments",
        """The call has too many or too few arguments, or names a parameter that does not exist. The help shows the
signature.""",
        wrong=python("""
            @sa.differentiable
            def blend(a: float, b: float) -> float:
                return (a + b) * 0.5


            @sa.differentiable
            def f(x: float) -> float:
                return blend(x)
        """),
        right=python("""
            @sa.differentiable
            def blend(a: float, b: float) -> float:
                return (a + b) * 0.5


            @sa.differentiable
            def f(x: float) -> float:
                return blend(x, 1.0)
        """),
    ),
    "SA016": Explanation(
        "an annotation is missing",
        """Every parameter and result of a described function needs a type: float, float3, Array[float, 4], a struct.
Functions that a described function calls are translated too and need the same.""",
        wrong=python("""
            @sa.differentiable
            def f(x, y: float) -> float:
                return x * y
        """),
        right=python("""
            @sa.differentiable
            def f(x: float, y: float) -> float:
                return x * y
        """),
    ),
    "SA017": Explanation(
        "an annotation is not a type",
        """Types are float, int, bool, sa.uint, sa.half, sa.double, vectors and matrices of them (float3, int2,
float4x4), Array[T, N] and classes decorated with @sa.struct. A result may be a tuple[…] of them.""",
        wrong=python("""
            @sa.differentiable
            def f(weights: list) -> float:
                return weights[0]
        """),
        right=python("""
            @sa.differentiable
            def f(weights: Array[float, 4]) -> float:
                return weights[0]
        """),
    ),
    "SA018": Explanation(
        "a path has no return",
        """Python would return None at the end of the function, but Slang needs a value. Return one on every path.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                if x > 0.0:
                    return x
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                if x > 0.0:
                    return x
                return 0.0
        """),
    ),
    "SA019": Explanation(
        "a local may have no value",
        """On some path the local is read before it is set. Python would raise UnboundLocalError on that path only; in
Slang the value would be arbitrary. Set the local before the branch or loop. A loop may run zero times, unless its
range is constant and not empty.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                if x > 0.0:
                    y = x
                return y
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                y = 0.0
                if x > 0.0:
                    y = x
                return y
        """),
    ),
    "SA020": Explanation(
        "a local has two types",
        """A local has one type in the whole function. A local that is an int first and a float later is a float from
the start. For any other change of type use a second name.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                a = x * 2.0
                a = float2(a, 1.0)
                return x
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                a = x * 2.0
                b = float2(a, 1.0)
                return x
        """),
    ),
    "SA021": Explanation(
        "a loop has no bound",
        """Reverse mode stores or recomputes every iteration. Therefore the number of iterations needs a bound that is
known when slangad loads the file: range over constants, sa.range(n, max_iters=64), or while sa.max_iters(64) and
condition. If a loop exceeds its bound, execution in Python and `slangad check` report an error; the loop is never cut
silently.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float, n: int) -> float:
                for i in range(n):
                    x *= 0.5
                return x
        """),
        right=python("""
            @sa.differentiable
            def f(x: float, n: int) -> float:
                for i in sa.range(n, max_iters=64):
                    x *= 0.5
                return x
        """),
    ),
    "SA022": Explanation(
        "recursion",
        """Slang can't differentiate recursive functions, and GPUs have no stack. Write a loop with a bound.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                if x < 1.0:
                    return x
                return f(x * 0.5) + 1.0
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                steps = 0.0
                while sa.max_iters(32) and x >= 1.0:
                    x *= 0.5
                    steps += 1.0
                return x + steps
        """),
    ),
    "SA023": Explanation(
        "a write changes a value that has another name",
        """In Python two names can share one vector, array or struct. In Slang every name has its own value. A write to
a value that another name, the caller or a constant of the module shares would mean different things in Python and
Slang, and is refused. Make a copy first: v = sa.copy(v).""",
        wrong=python("""
            @sa.differentiable
            def f(v: float3) -> float:
                v.x = 0.0
                return v.x + v.y
        """),
        right=python("""
            @sa.differentiable
            def f(v: float3) -> float:
                w = sa.copy(v)
                w.x = 0.0
                return w.x + w.y
        """),
    ),
    "SA024": Explanation(
        "a condition is not a bool",
        """if, while, and, or, not and conditional expressions take one bool. Compare numbers (x != 0.0), and reduce
vectors of bool with any(…) or all(…).""",
        wrong=python("""
            @sa.differentiable
            def f(v: float3) -> float:
                return v.x if v > 0.0 else 0.0
        """),
        right=python("""
            @sa.differentiable
            def f(v: float3) -> float:
                return v.x if all(v > 0.0) else 0.0
        """),
    ),
    "SA025": Explanation(
        "an index does not fit",
        """Indices are integers. Indices that are known when slangad loads the file must be inside the array. Negative
ones count from the end.""",
        wrong=python("""
            @sa.differentiable
            def f(a: Array[float, 4]) -> float:
                return a[4]
        """),
        right=python("""
            @sa.differentiable
            def f(a: Array[float, 4]) -> float:
                return a[3]
        """),
    ),
    "SA026": Explanation(
        "a name can't be used here",
        """The name exists but has no meaning at this location. Examples are a type used as a value, a call of a kernel
in a function, a method without a call, and a Python or numpy function that has no counterpart in Slang.""",
        wrong=file(
            "shade.py",
            """
            import numpy as np

            import slangad as sa


            @sa.differentiable
            def f(x: float) -> float:
                return np.interp(x, 0.0, 1.0)
            """,
        ),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return sa.lerp(0.0, 1.0, x)
        """),
    ),
    "SA027": Explanation(
        "a constant has no counterpart in Slang",
        """Constants of a description can be int, float, bool, vectors, tuples of them and numpy arrays with up to 4096
entries. Pass larger data to the kernel.""",
        wrong=python("""
            WEIGHTS = [0.3, 0.6, 0.1]


            @sa.differentiable
            def f(v: float3) -> float:
                return v.x * WEIGHTS[0]
        """),
        right=python("""
            WEIGHTS = (0.3, 0.6, 0.1)


            @sa.differentiable
            def f(v: float3) -> float:
                return v.x * WEIGHTS[0]
        """),
    ),
    "SA028": Explanation(
        "a derivative has the wrong signature",
        """A backward derivative takes the parameters of its function by name and then d_out. It returns one gradient
for each differentiable parameter. A forward derivative takes the same parameters, the differentiable ones as pairs
with .p and .d, and returns the value and its tangent. sa.bwd_diff and sa.fwd_diff take differentiable functions.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x * x


            @f.backward
            def f_bwd(x):
                return 2.0 * x
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x * x


            @f.backward
            def f_bwd(x, d_out):
                return 2.0 * x * d_out
        """),
    ),
    "SA029": Explanation(
        "a derivative policy does not fit",
        """derivative= does not fit the function. The function must have a differentiable parameter and no custom
derivative. A surrogate must have the same types. straight_through needs one differentiable parameter of the result's
type, and subgradient needs one float.""",
        wrong=python("""
            @sa.differentiable(derivative=sa.finite_difference(step=1e-3))
            def f(n: int) -> float:
                return float(n) * 0.5
        """),
        right=python("""
            @sa.differentiable(derivative=sa.finite_difference(step=1e-3))
            def f(x: float) -> float:
                return sa.floor(x) * 0.5
        """),
    ),
    "SA030": Explanation(
        "a kernel's parameter or result has no memory",
        """Every parameter and result of a kernel declares its memory. Each[T] is one element for each thread. Param[T]
(trained) and Uniform[T] (not trained) are one value for all threads. Tensor[T, rank], OutTensor, InOutTensor and
Texture2D[T] are accessed by index. Results are Each[T], Sum[T] or Mean[T]. A kernel returns a result or writes to a
tensor.""",
        wrong=python("""
            @sa.kernel
            def shade(x: float) -> Each[float]:
                return x * x
        """),
        right=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                return x * x
        """),
    ),
    "SA031": Explanation(
        "this memory is not possible here",
        """Only kernels declare memory. Other functions take and return values, but may read a Tensor or Texture2D that
they take as a parameter. Sum and Mean are for results: Sum of numbers, Mean of floating-point numbers. Tensors hold
numbers, vectors, matrices and arrays of them; for a struct use one tensor for each field. Texels are float, float2,
float3 and float4, or the same of half.""",
        wrong=python("""
            @sa.differentiable
            def f(x: Each[float]) -> float:
                return x * x
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return x * x
        """),
    ),
    "SA032": Explanation(
        "a static assertion failed",
        """slangad evaluates sa.static_assert(condition, message) when it loads the file. The condition is false, or it
depends on a value that is known only at run time.""",
        wrong=python("""
            SIZE = 5


            @sa.differentiable
            def f(x: float) -> float:
                sa.static_assert(SIZE % 2 == 0, "SIZE must be even")
                return x / SIZE
        """),
        right=python("""
            SIZE = 6


            @sa.differentiable
            def f(x: float) -> float:
                sa.static_assert(SIZE % 2 == 0, "SIZE must be even")
                return x / SIZE
        """),
    ),
    "SA033": Explanation(
        "the threads of a group can't compute this together",
        """sa.group_sum and the like take a value of every thread of the group, so all of them must come by: in the body
of a kernel, outside of branches and loops that depend on what a thread has. A condition may depend on constants,
Uniform and Param values, the size of the domain, and thread_id // n with n a multiple of the group's extent. The value
is a number or a vector.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                if x > 0.0:
                    x /= sa.group_sum(x)
                return x
        """),
        right=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                total = sa.group_sum(x if x > 0.0 else 0.0)
                if x > 0.0:
                    x /= total
                return x
        """),
    ),
    "SA034": Explanation(
        "the target can't be assigned",
        """Names, fields, components without repetition and entries of locals can be assigned. A tuple on the left
needs as many values on the right.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                a, b = x, x, x
                return a * b
        """),
        right=python("""
            @sa.differentiable
            def f(x: float) -> float:
                a, b = x, x
                return a * b
        """),
    ),
    "SA035": Explanation(
        "a method changes self",
        """A method computes from a value and can't change it. Return a new value.""",
        wrong=python("""
            @sa.struct
            class Ball:
                radius: float

                def grow(self, k: float) -> float:
                    self.radius = self.radius * k
                    return self.radius
        """),
        right=python("""
            @sa.struct
            class Ball:
                radius: float

                def grow(self, k: float) -> float:
                    return self.radius * k
        """),
    ),
    "SA036": Explanation(
        "a thread id can't be used here",
        """sa.thread_id and sa.thread_count are allowed in the body of a kernel only. Their axis is a constant below
the kernel's dims.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                return x * sa.thread_id(1)
        """),
        right=python("""
            @sa.kernel(dims=2)
            def shade(x: Each[float]) -> Each[float]:
                return x * sa.thread_id(1)
        """),
    ),
    "SA037": Explanation(
        "Slang can't differentiate this derivative",
        """Slang 2026.12 crashes when it differentiates, in reverse mode, a function that uses bwd_diff. Use
sa.fwd_diff for the inner derivative: reverse mode over forward mode works. Slang also crashes on third derivatives; in
forward mode only those of plain arithmetic work.

Slang differentiates a kernel and everything it calls, even inside no_diff. Put second derivatives into a function that
is not differentiated (@sa.function) and call it inside no_diff. Or put NoDiff around all parameters of the kernel.""",
        wrong=python("""
            @sa.differentiable
            def cube(x: float) -> float:
                return x * x * x


            @sa.differentiable
            def slope(x: float) -> float:
                return sa.bwd_diff(cube)(x, 1.0)


            @sa.function
            def curvature(x: float) -> float:
                return sa.bwd_diff(slope)(x, 1.0)
        """),
        right=python("""
            @sa.differentiable
            def cube(x: float) -> float:
                return x * x * x


            @sa.differentiable
            def slope(x: float) -> float:
                return sa.fwd_diff(cube)(sa.diff_pair(x, 1.0)).d


            @sa.function
            def curvature(x: float) -> float:
                return sa.bwd_diff(slope)(x, 1.0)
        """),
    ),
    "SA038": Explanation(
        "a function has no source",
        """slangad reads the source of a described function from its file. Functions made by exec, lambdas and
functions typed at a prompt have no such source.""",
        wrong=python("""
            @sa.differentiable
            def f(x: float) -> float:
                return half(x)


            half = sa.differentiable(lambda x: x * 0.5)
        """),
        right=python("""
            @sa.differentiable
            def half(x: float) -> float:
                return x * 0.5


            @sa.differentiable
            def f(x: float) -> float:
                return half(x)
        """),
    ),
    "SA039": Explanation(
        "a result has the wrong type",
        """The returned value has no implicit conversion to the declared result, or the number of returned values
differs.""",
        wrong=python("""
            @sa.differentiable
            def f(v: float3) -> float:
                return v * v
        """),
        right=python("""
            @sa.differentiable
            def f(v: float3) -> float:
                return sa.dot(v, v)
        """),
    ),
    "SA040": Explanation(
        "the memory does not allow this access",
        """A Tensor can be read, an OutTensor written or added to, an InOutTensor read and written. Each access is to a
whole element: w[i, j]. A texture is read with t.sample(uv) and t.load(row, column). The tensor or texture itself is
not a value. It can only be passed to a function that has such a parameter.""",
        wrong=python("""
            @sa.kernel
            def shade(out: OutTensor[float, 1], x: Each[float]):
                out[sa.thread_id()] = out[sa.thread_id()] + x
        """),
        right=python("""
            @sa.kernel
            def shade(out: InOutTensor[float, 1], x: Each[float]):
                out[sa.thread_id()] += x
        """),
    ),
    "SA041": Explanation(
        "an element is read after it was written",
        """A kernel may not read an element of an InOutTensor that it may have written before, on the same path or in
an earlier iteration of a loop. The gradient of the old element would be mixed with that of the new one. Read the
element into a local, change the local, and write it once at the end.""",
        wrong=python("""
            @sa.kernel
            def shade(v: InOutTensor[float, 1], x: Each[float]):
                i = sa.thread_id()
                v[i] = x
                v[i] = v[i] * x
        """),
        right=python("""
            @sa.kernel
            def shade(v: InOutTensor[float, 1], x: Each[float]):
                i = sa.thread_id()
                y = x
                v[i] = y * x
        """),
    ),
    "SA042": Explanation(
        "a thread writes an element that another thread reads",
        """Threads run in no fixed order. If one thread may write the element that another reads, the result depends on
which is first. Therefore, if a kernel both reads and writes an InOutTensor, each access must be to the thread's own
element. For each axis of the domain one index must be the same in all accesses. It may use sa.thread_id of that axis,
plus, minus or times constants. Otherwise read from a Tensor and write to an OutTensor.""",
        wrong=python("""
            @sa.kernel
            def shade(v: InOutTensor[float, 1], x: Each[float]):
                i = sa.thread_id()
                v[i] = v[i + 1] + x
        """),
        right=python("""
            @sa.kernel
            def shade(v: Tensor[float, 1], out: OutTensor[float, 1], x: Each[float]):
                i = sa.thread_id()
                out[i] = v[i + 1] + x
        """),
    ),
    "SA043": Explanation(
        "a probe can't record",
        """sa.probe("name", value) returns the value and records its gradient as probe.name. The name is a string
literal that is unique in the kernel and the functions it calls. The value is a floating-point number, vector or
matrix.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                y = sa.probe("inner", x * x)
                return sa.probe("inner", y + 1.0)
        """),
        right=python("""
            @sa.kernel
            def shade(x: Each[float]) -> Each[float]:
                y = sa.probe("inner", x * x)
                return sa.probe("outer", y + 1.0)
        """),
    ),
    "SA044": Explanation(
        "a derivative of a function that reads memory",
        """Custom derivatives, derivative policies, sa.bwd_diff and sa.fwd_diff are for functions of values. slangad
adds up the gradient of a tensor or texture where it is read. Read memory in the kernel or in a plain function, and put
the derivative on a function of the values.""",
        wrong=python("""
            @sa.differentiable(derivative=sa.clip_gradient(1.0))
            def scaled(w: Tensor[float, 1], x: float) -> float:
                return w[0] * x


            @sa.kernel
            def shade(w: Tensor[float, 1], x: Each[float]) -> Sum[float]:
                return scaled(w, x)
        """),
        right=python("""
            @sa.differentiable(derivative=sa.clip_gradient(1.0))
            def scaled(w: float, x: float) -> float:
                return w * x


            @sa.kernel
            def shade(w: Tensor[float, 1], x: Each[float]) -> Sum[float]:
                return scaled(w[0], x)
        """),
    ),
    "SA045": Explanation(
        "a pipeline is not a sequence of kernel calls",
        """The body of a pipeline calls kernels, assigns their results to names, and returns results. A loop over range
repeats calls; its number of iterations must be known when the file is loaded. There is no arithmetic and no branch; put
these into a kernel. Arguments are parameters of the pipeline and results of earlier kernels. Uniform parameters also
take numbers and constants of the file. Parameters have no defaults.""",
        wrong=python("""
            @sa.kernel
            def loss(x: Each[float]) -> Sum[float]:
                return x * x


            @sa.pipeline
            def fit(x: Tensor[float, 1]) -> Sum[float]:
                total = loss(x) * 0.5
                return total
        """),
        right=python("""
            @sa.kernel
            def loss(x: Each[float]) -> Sum[float]:
                return x * x * 0.5


            @sa.pipeline
            def fit(x: Tensor[float, 1]) -> Sum[float]:
                total = loss(x)
                return total
        """),
    ),
    "SA046": Explanation(
        "a domain does not fit",
        """Each kernel call of a pipeline has its own domain. It is the shape of the arguments for the Each parameters,
else the shape of the OutTensor that the kernel writes, else domain=. domain= has one size for each axis: numbers,
constants, image.shape[k], and + - * // of them.""",
        wrong=python("""
            @sa.kernel(dims=2)
            def loss(w: Tensor[float, 1]) -> Sum[float]:
                return w[sa.thread_id(0)]


            @sa.pipeline
            def fit(w: Tensor[float, 1]) -> Sum[float]:
                return loss(w, domain=4)
        """),
        right=python("""
            @sa.kernel(dims=2)
            def loss(w: Tensor[float, 1]) -> Sum[float]:
                return w[sa.thread_id(0)]


            @sa.pipeline
            def fit(w: Tensor[float, 1]) -> Sum[float]:
                return loss(w, domain=(w.shape[0], 4))
        """),
    ),
    "SA047": Explanation(
        "a pipeline returns a result that it does not declare",
        """A pipeline declares its results with the types that its kernels return: -> Mean[float], or a tuple.""",
        wrong=python("""
            @sa.kernel
            def loss(x: Each[float]) -> Sum[float]:
                return x * x


            @sa.pipeline
            def fit(x: Tensor[float, 1]) -> Mean[float]:
                return loss(x)
        """),
        right=python("""
            @sa.kernel
            def loss(x: Each[float]) -> Sum[float]:
                return x * x


            @sa.pipeline
            def fit(x: Tensor[float, 1]) -> Sum[float]:
                return loss(x)
        """),
    ),
    "SA048": Explanation(
        "several threads store to the same element",
        """Every thread of the kernel reaches this store, and threads that differ in an id have the same indices. Which
thread is last is not specified. Therefore neither the element's value nor the thread that receives its gradient is
specified. Use sa.thread_id of the missing axis in an index. To add up values of threads, write out[i] += value, or
return a Sum or Mean. A store that only some threads reach, behind an if or a return, is not refused.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[float], out: OutTensor[float, 1]):
                out[0] = x * x
        """),
        right=python("""
            @sa.kernel
            def shade(x: Each[float], out: OutTensor[float, 1]):
                out[sa.thread_id()] = x * x
        """),
    ),
    "SA049": Explanation(
        "a kernel stores into an output and adds to it",
        """Threads run in no fixed order. A store may come before an addition of another thread, or after it and remove
it. Therefore the accesses of a kernel to an OutTensor are all stores, or all += and -=. Use a second OutTensor for the
other kind. The caller gives the values to which a kernel adds; slangad run takes zeros.""",
        wrong=python("""
            @sa.kernel
            def shade(x: Each[float], out: OutTensor[float, 1]):
                out[sa.thread_id()] = 0.0
                out[int(x)] += x
        """),
        right=python("""
            @sa.kernel
            def shade(x: Each[float], out: OutTensor[float, 1]):
                out[int(x)] += x
        """),
    ),
}
