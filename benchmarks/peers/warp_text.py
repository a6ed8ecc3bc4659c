"""Translate the zoo's functions to Warp's Python: from a body and the types of its names to statements.

Warp's functions are Python with stricter types: numeric types don't mix, ``cw_mul`` multiplies vectors, and swizzles
are written out. Therefore the translation tracks types.
"""

from __future__ import annotations

import ast
import re

from cases import STRUCTS, InexpressibleError
from translate import OF_ONE

VECTOR = re.compile(r"vec(\d+)")
SWIZZLE = re.compile(r"[xyzw]+")
SAME_NAME = frozenset(OF_ONE) - {"exp2", "round"}
OWN_TEXT = {
    "exp2": "wp.pow(2.0, {0})",
    "rsqrt": "(1.0 / wp.sqrt({0}))",
    "rcp": "(1.0 / {0})",
    "frac": "({0} - wp.floor({0}))",
    "saturate": "wp.clamp({0}, 0.0, 1.0)",
    "clamp": "wp.clamp({0}, {1}, {2})",
    "lerp": "wp.lerp({0}, {1}, {2})",
    "smoothstep": "wp.smoothstep({0}, {1}, {2})",
    "fmod": "wp.mod({0}, {1})",
    "atan2": "wp.atan2({0}, {1})",
    "pow": "wp.pow({0}, {1})",
    "degrees": "wp.degrees({0})",
    "radians": "wp.radians({0})",
    "round": "wp.rint({0})",
    "step": "wp.where({1} >= {0}, 1.0, 0.0)",
    "select": "wp.where({0}, {1}, {2})",
    "isnan": "wp.isnan({0})",
    "isfinite": "wp.isfinite({0})",
}
REFRACTED = (
    "({2} * {0} - ({2} * wp.dot({1}, {0})"
    " + wp.sqrt(1.0 - {2} * {2} * (1.0 - wp.dot({1}, {0}) * wp.dot({1}, {0})))) * {1})"
)


def warp_type(type_: str) -> str:
    """Return Warp's name of a type of the zoo."""
    if found := re.fullmatch(r"NoDiff\[(.*)\]", type_):
        return warp_type(found[1])
    if found := re.fullmatch(r"float([234])x([234])", type_):
        return f"mat{found[1]}{found[2]}"
    if found := re.fullmatch(r"float([234])|sa\.Array\[float, (\d+)\]", type_):
        return f"vec{found[1] or found[2]}"
    if type_ in ("float", "int", "bool", *STRUCTS):
        return type_
    raise InexpressibleError("an array of arrays or structs" if "Array" in type_ else f"a {type_} among its inputs")


class Body:
    """Translate one body; ``ends`` turns its return values into statements."""

    def __init__(self, types: dict[str, str], functions: dict[str, str], renamed: dict[str, str], ends=None) -> None:
        self.types = dict(types)
        self._functions, self._renamed, self._ends = functions, renamed, ends

    def text(self, lines: list[str]) -> list[str]:
        """Return the statements, indented once."""
        return [f"    {line}" for line in self._block(ast.parse("\n".join(lines)).body)]

    def _block(self, body: list[ast.stmt]) -> list[str]:
        made: list[str] = []
        for place, stmt in enumerate(body):
            rest = body[place + 1 :]
            if self._ends and isinstance(stmt, ast.If) and isinstance(stmt.body[-1], ast.Return) and rest:
                return [*made, *self._stmt(ast.If(stmt.test, stmt.body, [*stmt.orelse, *rest]))]
            made += self._stmt(stmt)
        return made

    def _indented(self, body: list[ast.stmt]) -> list[str]:
        return [f"    {line}" for line in self._block(body)] or ["    pass"]

    def _stmt(self, stmt: ast.stmt) -> list[str]:
        match stmt:
            case ast.Assign(targets=[target], value=value):
                return self._assign(target, value)
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
                read = ast.parse(ast.unparse(target), mode="eval").body
                return self._assign(target, ast.BinOp(read, op, value))
            case ast.AugAssign(target=ast.Subscript() as target, op=ast.Add(), value=value):
                place, _ = self.expr(target)
                return [f"{place} += {self._float(value)}"]
            case ast.If(test=test, body=body, orelse=orelse):
                lines = [f"if {self.expr(test)[0]}:", *self._indented(body)]
                return [*lines, "else:", *self._indented(orelse)] if orelse else lines
            case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
                return self._loop(name, over, body)
            case ast.While(test=ast.BoolOp(values=[_, test]), body=body, orelse=[]):
                return [f"while {self.expr(test)[0]}:", *self._indented(body)]
            case ast.Return(value=ast.expr() as value):
                parts = list(value.elts) if isinstance(value, ast.Tuple) else [value]
                values = [self.expr(part)[0] for part in parts]
                return self._ends(values) if self._ends else [f"return {', '.join(values)}"]
            case ast.Break() | ast.Continue():
                return [ast.unparse(stmt)]
        raise InexpressibleError("a loop with an else" if isinstance(stmt, ast.For) else f"the statement {type(stmt)}")

    def _loop(self, name: str, over: ast.expr, body: list[ast.stmt]) -> list[str]:
        if isinstance(over, ast.Name):
            size = VECTOR.fullmatch(self.types[over.id])[1]
            self.types[name] = "float"
            return [f"for {name}_at in range({size}):", f"    {name} = {over.id}[{name}_at]", *self._indented(body)]
        if not isinstance(over, ast.Call):
            raise InexpressibleError("a loop over something else than a range")
        self.types[name] = "int"
        if ast.unparse(over.func) == "reversed":
            count = ast.literal_eval(over.args[0].args[0])
            return [f"for {name} in range({count - 1}, -1, -1):", *self._indented(body)]
        bounds = ", ".join(self.expr(bound)[0] for bound in over.args)
        return [f"for {name} in range({bounds}):", *self._indented(body)]

    def _assign(self, target: ast.expr, value: ast.expr) -> list[str]:
        text, type_ = self.expr(value)
        match target:
            case ast.Name(id=name):
                if type_ == "int" and self.types.get(name) == "float":
                    text, type_ = f"float({text})", "float"
                self.types[name] = type_
                plain = isinstance(value, (ast.Constant, ast.Name)) and type_ in ("float", "int")
                return [f"{name} = {type_}({text})" if plain else f"{name} = {text}"]
            case ast.Subscript():
                return [f"{self.expr(target)[0]} = {self._float(value)}"]
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if self.types[name] in STRUCTS:
                return [f"{name}.{attr} = {text}"]
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if len(attr) == 1:
                return [f"{name}[{'xyzw'.index(attr)}] = {text}"]
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                parts = [f"{name}[{'xyzw'.index(letter)}] = {name}_new[{k}]" for k, letter in enumerate(attr)]
                return [f"{name}_new = {text}", *parts]
        raise InexpressibleError("an assignment to a part of a part")

    def _float(self, node: ast.expr) -> str:
        text, type_ = self.expr(node)
        return f"float({text})" if type_ == "int" else text

    def expr(self, node: ast.expr) -> tuple[str, str]:  # noqa: C901  (one case per expression)
        """Return an expression and its type."""
        match node:
            case ast.Constant(value=value):
                return repr(value), type(value).__name__
            case ast.Name(id=name):
                if name == "K":
                    return "K", "vec4"
                if name not in self.types:
                    raise InexpressibleError(f"the name {name}")
                return self._renamed.get(name, name), self.types[name]
            case ast.UnaryOp(op=op, operand=operand):
                text, type_ = self.expr(operand)
                return (f"(not {text})", "bool") if isinstance(op, ast.Not) else (f"(-{text})", type_)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(left, op, right)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._compared([left, *others], ops), "bool"
            case ast.BoolOp(op=op, values=values):
                word = " and " if isinstance(op, ast.And) else " or "
                return f"({word.join(self.expr(v)[0] for v in values)})", "bool"
            case ast.IfExp(test=test, body=yes, orelse=no):
                return f"({self._float(yes)} if {self.expr(test)[0]} else {self._float(no)})", self.expr(yes)[1]
            case ast.Subscript(value=value, slice=index):
                return self._part(value, index)
            case ast.Attribute(value=value, attr=attr) if SWIZZLE.fullmatch(attr):
                text, _ = self.expr(value)
                parts = [f"{text}[{'xyzw'.index(letter)}]" for letter in attr]
                return (
                    (parts[0], "float")
                    if len(parts) == 1
                    else (f"vec{len(parts)}({', '.join(parts)})", f"vec{len(parts)}")
                )
            case ast.Attribute(value=value, attr=attr):
                text, type_ = self.expr(value)
                return f"{text}.{attr}", warp_type(STRUCTS[type_][attr])
            case ast.Call(func=ast.Attribute(value=ast.Name(id="sa"), attr=("all" | "any") as word), args=[test]):
                return self._of_entries(word, test), "bool"
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name not in ("sa", "math"):
                texts = [self._float(arg) for arg in node.args]
                texts = texts if name in STRUCTS else [name, *texts]
                return f"{self.types.get(name, name)}_{attr}({', '.join(texts)})", "float"
            case ast.Call(func=ast.Name(id=name)) if name in STRUCTS:
                fields = {keyword.arg: self.expr(keyword.value)[0] for keyword in node.keywords}
                return f"made_{name}({', '.join(fields[field] for field in STRUCTS[name])})", name
            case ast.Call():
                return self._call(node)
        raise InexpressibleError(f"the expression {ast.unparse(node)}")

    def _part(self, value: ast.expr, index: ast.expr) -> tuple[str, str]:
        text, type_ = self.expr(value)
        if type_ == "tuple":
            return f"{text}_{ast.unparse(index)}", "float"
        if isinstance(index, ast.Tuple):
            return f"{text}[{', '.join(self.expr(i)[0] for i in index.elts)}]", "float"
        return f"{text}[{self.expr(index)[0]}]", f"vec{type_[4]}" if type_.startswith("mat") else "float"

    def _of_entries(self, word: str, test: ast.expr) -> str:
        if not isinstance(test, ast.Compare):
            raise InexpressibleError(f"{word} of a vector")
        (left, type_), (right, _) = self.expr(test.left), self.expr(test.comparators[0])
        sign = ">" if isinstance(test.ops[0], ast.Gt) else "<"
        parts = [f"{left}[{k}] {sign} {right}" for k in range(int(type_[3:]))]
        return f"({(' and ' if word == 'all' else ' or ').join(parts)})"

    def _compared(self, sides: list[ast.expr], ops: list[ast.cmpop]) -> str:
        signs = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
        whole = all(self.expr(side)[1] == "int" for side in sides)
        if any(self.expr(side)[1] not in ("int", "float") for side in sides):
            raise InexpressibleError("a comparison of vectors")
        texts = [self.expr(side)[0] if whole else self._float(side) for side in sides]
        pairs = [f"{a} {signs[type(op)]} {b}" for a, op, b in zip(texts, ops, texts[1:], strict=False)]
        return f"({' and '.join(pairs)})"

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> tuple[str, str]:
        (a, s), (b, t) = self.expr(left), self.expr(right)
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(type(op))
        if isinstance(op, ast.Pow):
            if s != "float":
                raise InexpressibleError("a power of a vector")
            return f"wp.pow({a}, {self._float(right)})", "float"
        if isinstance(op, ast.MatMult):
            return f"({a} * {b})", s
        if s == t == "int" and sign != "/":
            return f"({a} {sign or {ast.Mod: '%', ast.FloorDiv: '//'}[type(op)]} {b})", "int"
        a, b = self._float(left), self._float(right)
        s, t = ("float" if side == "int" else side for side in (s, t))
        if isinstance(op, ast.FloorDiv):
            return f"wp.floor({a} / {b})", "float"
        if isinstance(op, ast.Mod):
            return f"({a} - {b} * wp.floor({a} / {b}))", "float"
        if s == t != "float" and sign in "*/":
            return f"wp.{'cw_mul' if sign == '*' else 'cw_div'}({a}, {b})", s
        if s != t and (sign in "+-" or (sign == "/" and s == "float")):
            raise InexpressibleError("a number with a vector")
        return f"({a} {sign} {b})", t if s == "float" else s

    def _call(self, node: ast.Call) -> tuple[str, str]:  # noqa: C901  (one case per function)
        name = ast.unparse(node.func)
        if name == "sa.zeros":
            return f"{ast.unparse(node.args[0])}()", ast.unparse(node.args[0])
        if found := re.fullmatch(r"sa\.Array\[float, (\d+)\]", name):
            return f"vec{found[1]}({', '.join(self._float(a) for a in node.args)})", f"vec{found[1]}"
        if name in self._functions:
            return f"{name}({', '.join(self._float(a) for a in node.args)})", self._functions[name]
        values = [self.expr(arg) for arg in node.args]
        texts = [self._float(arg) if name != "int" else values[k][0] for k, arg in enumerate(node.args)]
        word = name.removeprefix("sa.")
        if name in ("float", "int"):
            return f"{name}({values[0][0]})", name
        if name in ("math.floor", "round"):
            return f"int(wp.{'floor' if name == 'math.floor' else 'rint'}({texts[0]}))", "int"
        if found := re.fullmatch(r"float([234])(?:x([234]))?", word):
            return self._made(found, texts, [type_ for _, type_ in values])
        type_ = values[0][1] if values else ""
        if word in ("max", "min", "abs"):
            return self._folded(word, values, texts)
        if word in ("dot", "length", "distance", "sum"):
            ones = f"vec{type_[3:]}({', '.join(['1.0'] * int(type_[3:]))})" if word == "sum" else ""
            text = {"sum": f"wp.dot({texts[0]}, {ones})", "distance": f"wp.length({' - '.join(texts)})"}.get(word)
            return text or f"wp.{word}({', '.join(texts)})", "float"
        if word in ("cross", "normalize", "transpose", "determinant"):
            return f"wp.{word}({', '.join(texts)})", "float" if word == "determinant" else type_
        if word == "reflect":
            i, n = texts
            return f"({i} - 2.0 * wp.dot({n}, {i}) * {n})", type_
        if word == "mul":
            size = values[1][1][4] if type_.startswith("vec") else type_[3]
            return f"({texts[0]} * {texts[1]})", values[1][1] if "vec" not in type_ + values[1][1] else f"vec{size}"
        if word == "copy":
            return f"copied_{type_}({texts[0]})", type_
        if word == "refract":
            return REFRACTED.format(*texts), type_
        if word in SAME_NAME or word in OWN_TEXT:
            return self._plain(word, texts, [type_ for _, type_ in values])
        raise InexpressibleError(f"the function {name}")

    def _plain(self, word: str, texts: list[str], types: list[str]) -> tuple[str, str]:
        """Return a call per entry for vectors, because Warp defines most functions for numbers only."""
        form = f"wp.{word}({{0}})" if word in SAME_NAME else OWN_TEXT[word]
        if types[0].startswith("vec") and not (word == "lerp" and types[-1] == "float"):
            size = int(types[0][3:])
            entries = [
                [f"{t}[{k}]" if s == types[0] else t for t, s in zip(texts, types, strict=True)] for k in range(size)
            ]
            return f"{types[0]}({', '.join(form.format(*e) for e in entries)})", types[0]
        result = "bool" if word.startswith("is") else types[0] if word != "select" else types[1]
        return form.format(*texts), result

    def _made(self, found: re.Match, texts: list[str], types: list[str]) -> tuple[str, str]:
        if found[2]:
            return f"mat{found[1]}{found[2]}({', '.join(texts)})", f"mat{found[1]}{found[2]}"
        size, parts = int(found[1]), []
        for text, type_ in zip(texts, types, strict=True):
            vector = VECTOR.fullmatch(type_)
            parts += [f"{text}[{k}]" for k in range(int(vector[1]))] if vector else [text]
        return f"vec{size}({', '.join(parts * size if len(parts) == 1 else parts)})", f"vec{size}"

    def _folded(self, word: str, values: list[tuple[str, str]], texts: list[str]) -> tuple[str, str]:
        whole = all(type_ == "int" for _, type_ in values)
        texts = [text for text, _ in values] if whole else texts
        text = texts[0] if len(texts) > 1 else f"wp.{word}({texts[0]})"
        for other in texts[1:]:
            text = f"wp.{word}({text}, {other})"
        return text, "int" if whole else values[0][1] if values[0][1] != "int" else "float"
