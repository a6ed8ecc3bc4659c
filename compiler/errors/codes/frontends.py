"""What the front ends' diagnostic codes mean, at length: the table behind ``slangad explain`` for SA001 to SA047."""

from __future__ import annotations

from typing import Final

from slangad.compiler.errors.diagnostics import Explanation

CODES: Final[dict[str, Explanation]] = {
    "SA001": Explanation(
        "syntax error",
        """The file is not valid Python. The place is the one Python's own parser names. Nothing of the file was
executed.""",
    ),
    "SA002": Explanation(
        "an input can't be read",
        """The file does not exist, can't be opened, is not text in the encoding it declares (UTF-8 unless it says
otherwise), or is no kind of file slangad reads.""",
    ),
    "SA003": Explanation(
        "the file raised an exception",
        """A description is executed when it is loaded, like any module, and this one raised. The place is the
innermost line of your own code. Run the file with python to see the whole traceback.""",
    ),
    "SA004": Explanation(
        "syntax that has no translation",
        """A described function may use assignments, if, for, while, return, break, continue, pass, calls,
operators, comparisons, conditional expressions, subscripts, attributes and tuples. Everything else is refused
before the file is executed, all of it at once. The help says what to write instead.""",
    ),
    "SA005": Explanation(
        "nothing is described, or a description is wrong",
        """Either the file has no function decorated with @sa.differentiable, @sa.function or @sa.kernel and no
@sa.struct, or a decorator, policy or type was used in a way it does not allow.""",
    ),
    "SA006": Explanation(
        "two definitions of one name",
        """Kernels are looked up by name, so each name may stand for one kernel only; and a second function or struct of
one name would silently take the place of the first. Rename one of them.""",
    ),
    "SA010": Explanation(
        "unknown name",
        """The name is neither a parameter or local, nor defined in the file or imported, nor one of the Python
functions that described functions may use (max, min, abs, pow, round, range, len, sum, any, all, enumerate, zip,
reversed, float, int, bool and those of math). If it looks like a known one, that is suggested.""",
    ),
    "SA011": Explanation(
        "no such field, component or method",
        """Structs have their fields and methods, vectors the swizzles over x y z w or r g b a (not mixed),
differential pairs .p (primal) and .d (tangent).""",
    ),
    "SA012": Explanation(
        "an exponent that can't be translated",
        """x ** n with an integer constant n is a product, right for every x. x ** y with a floating y is pow, for x
> 0. An integer known only at run time has no faithful translation: write a loop with a bound, or float(n) where x
is positive.""",
    ),
    "SA013": Explanation(
        "types that do not meet",
        """int and float meet in float, a number spreads over a vector, literals take the other operand's type.
Everything else needs a conversion: half, float and double do not mix, int and uint do not mix, bools are not
numbers, vectors of different sizes do not meet.""",
    ),
    "SA014": Explanation(
        "an argument of the wrong type",
        """The argument does not convert to the parameter's type by itself. Only literals and int to floating do; to
spread one value over a vector write float3(x).""",
    ),
    "SA015": Explanation(
        "wrong number or names of arguments",
        """The call gives too many or too few arguments, or names a parameter that does not exist. The help shows
the signature.""",
    ),
    "SA016": Explanation(
        "a missing annotation",
        """Every parameter and result of a described function says its type: float, float3, Array[float, 4], a
struct. Functions called from described ones are described too and need the same.""",
    ),
    "SA017": Explanation(
        "an annotation that is no type",
        """Types are float, int, bool, sa.uint, sa.half, sa.double, vectors and matrices of them (float3, int2,
float4x4), Array[T, N], classes decorated with @sa.struct and, for results, tuple[…].""",
    ),
    "SA018": Explanation(
        "a path without return",
        """Python would return None at the end of the function; Slang needs a value. Return one on every path.""",
    ),
    "SA019": Explanation(
        "a local that may not be set",
        """On some path the local is read before it is set. Python would raise UnboundLocalError on that path only;
in Slang the value would be arbitrary. Set it before the branch or loop. A loop counts as maybe not running at all
unless its range is known and not empty.""",
    ),
    "SA020": Explanation(
        "a local with two types",
        """A local has one type in the whole function. An int that is later a float is a float from the start; other
changes of type need another name.""",
    ),
    "SA021": Explanation(
        "a loop without a bound",
        """Reverse mode stores or recomputes every turn, so the number of turns needs a bound that is known when the
file is loaded: range over constants, sa.range(n, max_iters=64), or while sa.max_iters(64) and condition. A trip
count beyond the bound is an error in Python execution and in slangad check; it is never silently cut.""",
    ),
    "SA022": Explanation(
        "recursion",
        """Slang can't differentiate recursive functions, and GPUs have no stack for them. Write a loop with a
bound.""",
    ),
    "SA023": Explanation(
        "a write that Python would show under another name",
        """In Python two names can share one vector, array or struct; in Slang every name has its own. A write into
a value that another live name, the caller or a module constant shares would mean two things, so it is refused. Bind
a copy: v = sa.copy(v).""",
    ),
    "SA024": Explanation(
        "a condition that is no bool",
        """if, while, and, or, not and conditional expressions take one bool. Compare numbers (x != 0.0) and reduce
bool vectors with any(…) or all(…).""",
    ),
    "SA025": Explanation(
        "an index that does not fit",
        """Indices are ints; those known when the file is loaded are checked against the size, and negative ones
count from the end.""",
    ),
    "SA026": Explanation(
        "something that can't be used here",
        """The name exists but has no meaning at this place: a type used as a value, a kernel called from a
function, a method without call, a Python or numpy function without counterpart.""",
    ),
    "SA027": Explanation(
        "a constant without a counterpart",
        """Values bound when the file is loaded can be int, float, bool, vectors, tuples of them and numpy arrays of
up to 4096 entries. Larger data is passed to the kernel.""",
    ),
    "SA028": Explanation(
        "a derivative with the wrong signature",
        """The backward derivative takes the function's parameters by name and then d_out, and returns one gradient
per differentiable parameter. The forward derivative takes the same parameters, differentiable ones as pairs .p and
.d, and returns the value and its tangent. sa.bwd_diff and sa.fwd_diff take differentiable functions.""",
    ),
    "SA029": Explanation(
        "a derivative policy that does not fit",
        """derivative= does not fit the function: it has no differentiable parameter, has an own derivative as well,
the surrogate has other types, straight_through needs one differentiable parameter of the result's type, subgradient
one float.""",
    ),
    "SA030": Explanation(
        "a kernel parameter or result without a place",
        """Every parameter and result of a kernel says where it lives: Each[T] is one element per thread, Param[T] and
Uniform[T] one value for all threads, trained or not, Tensor[T, rank], OutTensor, InOutTensor and Texture2D[T] are
accessed by index. Results are Each[T], Sum[T] or Mean[T]. A kernel returns something or writes into a tensor.""",
    ),
    "SA031": Explanation(
        "a place in memory that is not possible here",
        """Only kernels say where values live; other functions take and return the values themselves, but may take a
Tensor or Texture2D that they read. Sum and Mean are results only, of numbers (Mean of floating-point ones). Tensors
hold numbers, vectors, matrices and arrays of them, one tensor per field of a struct; texels are float, float2, float3,
float4 or the same of half.""",
    ),
    "SA032": Explanation(
        "a static assertion",
        """sa.static_assert(condition, message) is evaluated when the file is loaded, and this one is false, or its
condition depends on a value known only at run time.""",
    ),
    "SA034": Explanation(
        "a target that can't be assigned",
        """Names, fields, swizzles without repeated components and entries of locals can be assigned; tuples on the
left need as many values on the right.""",
    ),
    "SA035": Explanation(
        "a method that changes self",
        """Methods are functions of a value: return a new one instead of changing self.""",
    ),
    "SA036": Explanation(
        "a thread id out of place",
        """sa.thread_id and sa.thread_count stand in a kernel's own body, with a constant axis below the kernel's
dims.""",
    ),
    "SA037": Explanation(
        "derivatives of derivatives that Slang can't have",
        """Slang 2026.12 crashes when it differentiates, in reverse, a function that itself uses bwd_diff. Use
sa.fwd_diff for the inner derivative: reverse over forward is right. It also crashes on third derivatives; in forward
mode only those of plain arithmetic work. A kernel is differentiated too, and with it all it calls, even inside no_diff:
put second derivatives into a function that is not differentiated (@sa.function) and call that inside no_diff, or put
NoDiff around all parameters of the kernel.""",
    ),
    "SA038": Explanation(
        "a function without source",
        """The source of a described function must be in a readable file: functions made by exec, lambdas and
functions typed at a prompt have none.""",
    ),
    "SA039": Explanation(
        "a result of the wrong type",
        """The returned value does not convert to the declared result by itself, or the number of returned values
differs.""",
    ),
    "SA040": Explanation(
        "a memory used in a way it does not allow",
        """A Tensor is read by element, an OutTensor only written, an InOutTensor both, always whole elements: w[i, j].
A texture is read with t.sample(uv) and t.load(row, column). The name alone is no value: it can only be passed to a
function whose parameter is such a tensor or texture.""",
    ),
    "SA041": Explanation(
        "an element that is read after it was written",
        """A kernel may not read an InOutTensor where it may have written it before, on the same path or in an earlier
turn of a loop: the gradient of the old element would be mixed up with that of the new one. Read into a local first,
change that, and write it once at the end.""",
    ),
    "SA042": Explanation(
        "writing where another thread reads",
        """Threads run in no order. When one thread may write the element that another reads, the result depends on
which comes first. So every access to an InOutTensor that a kernel both reads and writes must be to the thread's own
element: for each axis of the domain one index that is the same in all accesses and made of sa.thread_id of that axis,
plus, minus or times constants. Otherwise read from a Tensor and write into an OutTensor.""",
    ),
    "SA043": Explanation(
        "a probe that can't record",
        """sa.probe("name", value) gives the value back and records its gradient as probe.name. The name is a word in
quotes that no other probe of the kernel has, helper functions included; the value is a number, vector or matrix of
floating-point components.""",
    ),
    "SA044": Explanation(
        "a derivative of a function that reads memory",
        """Own derivatives, gradient policies, sa.bwd_diff and sa.fwd_diff are for functions of values. The gradient
of a tensor or texture is gathered by slangad where it is read. Read in the kernel or in a plain function, and give
the derivative to a function of the values.""",
    ),
    "SA045": Explanation(
        "a pipeline that is no straight line of kernel calls",
        """A pipeline's body calls kernels, names what they give, and returns it: no arithmetic, no branches, no loops.
What computes belongs into a kernel. Arguments are parameters of the pipeline, what earlier kernels gave, and for
Uniform parameters numbers and constants of the file. Parameters have no defaults.""",
    ),
    "SA046": Explanation(
        "a domain that does not fit",
        """Each kernel call of a pipeline has a domain of its own: the shape of what is passed for its Each parameters,
else that of the OutTensor it writes, else domain=, with one extent for each axis: numbers, constants, image.shape[k],
and + - * // of them.""",
    ),
    "SA047": Explanation(
        "a result that a pipeline does not declare",
        """A pipeline returns what its kernels give, and declares it as they do: -> Mean[float], or a tuple.""",
    ),
    "SA048": Explanation(
        "several threads that store to one element",
        """Every thread of a kernel gets to this store, and its indices are the same for threads that differ in an id:
which of them is last, and so what the element holds and which thread its gradient goes to, is not specified. Make
sa.thread_id of the axis that is missing part of an index, or give what threads have back as a Sum or Mean. What only
some threads get to, behind an if or a return, is not refused.""",
    ),
}
