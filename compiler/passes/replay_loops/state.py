"""The state of a loop, the locals that an iteration hands to the next one, as one value.

One local is the state itself. Several, or one beside the flag of a ``break``, are a struct, and so is the end of a run:

    struct State { float light; float3 color; bool stops; }
    struct End { no_diff State state; no_diff State before; int ran; }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import BOOL, INT, Array, Field, Struct, carries_gradient

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type
    from slangad.compiler.passes.replay_loops.choose import Plan
    from slangad.compiler.passes.replay_loops.read import Loop


@dataclass(frozen=True, slots=True)
class State:
    """The state of a loop as one value: the local itself, or a struct of several locals and a flag.

    Attributes:
        locals: The locals that it holds.
        stops: It has the flag, which is set when an iteration leaves the loop.
        type: Its type.
    """

    locals: tuple[ir.Var, ...]
    stops: str
    type: Type

    @property
    def alone(self) -> bool:
        """Return True if it is a local itself."""
        return not isinstance(self.type, Struct) or self.type == self.locals[0].type

    def pack(self, *, stops: bool = False) -> ir.Expr:
        """Return the locals as one value."""
        if self.alone:
            return self.locals[0]
        flag = (ir.Const(value=stops, type=BOOL),) if self.stops else ()
        return ir.Construct((*self.locals, *flag), self.type)

    def part(self, value: ir.Expr, local: ir.Var) -> ir.Expr:
        """Return a local's part of a state."""
        return value if self.alone else ir.Member(value, local.name, local.type)

    def stopped(self, value: ir.Expr) -> ir.Expr:
        """Return the flag of a state."""
        return ir.Member(value, self.stops, BOOL)

    def unpack(self, value: ir.Expr, names: set[str] | None = None) -> Block:
        """Return assignments of the locals, or of those with these names, from a state."""
        wanted = (v for v in self.locals if names is None or v.name in names)
        return tuple(ir.Assign(v, self.part(value, v)) for v in wanted if value != v)


def state_of(loop: Loop, key: str, name: str) -> State:
    """Return the state of a loop as a value."""
    locals_ = tuple(v.local for v in loop.state)
    if len(locals_) == 1 and not loop.breaks and not _is_mixed(locals_[0].type):
        return State(locals_, "", locals_[0].type)
    fields = [
        # Slang takes no_diff arrays for another type.
        Field(v.local.name, v.local.type, is_passive(v.local, v.active) and not isinstance(v.local.type, Array))
        for v in loop.state
    ]
    stops = Fresh({v.name for v in locals_}).name("stops") if loop.breaks else ""
    if stops:
        fields.append(Field(stops, BOOL))
    return State(locals_, stops, Struct(f"{key} state", f"{name}State", tuple(fields)))


def _is_mixed(type_: Type) -> bool:
    """Return True for an array of structs with a gradient, of which parts have none: Slang refuses it as a result."""
    inside = type_
    while isinstance(inside, Array):
        inside = inside.element
    if inside == type_ or not isinstance(inside, Struct):
        return False
    return len({not f.no_diff and carries_gradient(f.type) for f in inside.fields}) > 1


def end_of(loop: Loop, plan: Plan, state: State, key: str, name: str) -> Type:
    """Return the type of the result of a loop's run."""
    watched = plan.undo is not None and plan.undo.watched
    if not loop.counts and not watched:
        return state.type
    fields = [Field("state", state.type, no_diff=True)]
    if watched:
        fields += [Field("edge", state.type, no_diff=True), Field("lit", INT)]
    elif plan.undo is not None:
        fields.append(Field("before", state.type, no_diff=True))
    if loop.counts:
        fields.append(Field("ran", INT))
    return Struct(f"{key} end", f"{name}End", tuple(fields))


def structs_of(*types: Type) -> tuple[ir.StructDef, ...]:
    """Return definitions of the structs that were made for a loop."""
    return tuple(ir.StructDef(t) for t in types if isinstance(t, Struct))


def is_passive(local: ir.Var, active: bool) -> bool:  # noqa: FBT001  (a fact, not an option)
    """Return True if a local has a type with a gradient, and none flows through it."""
    return carries_gradient(local.type) and not active
