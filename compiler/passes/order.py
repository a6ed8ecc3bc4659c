"""List the passes in order. Every pass is a function ``Module -> Module``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.verify.module import InvalidModule, SoundBodies, verify
from slangad.compiler.passes.add_in_place import add_in_place
from slangad.compiler.passes.bound_loops import bound_loops
from slangad.compiler.passes.declare_locals import declare_locals
from slangad.compiler.passes.derivatives import lower_derivatives
from slangad.compiler.passes.differentiate_gradients import differentiate_gradients, differentiate_user_gradients
from slangad.compiler.passes.differentiate_twice import differentiate_twice
from slangad.compiler.passes.equalize_nested_loops import equalize_nested_loops
from slangad.compiler.passes.expand_forward_mode import expand_forward_mode
from slangad.compiler.passes.extract_inner_loops import extract_inner_loops
from slangad.compiler.passes.find_products import find_products
from slangad.compiler.passes.fuse_stages import fuse_stages
from slangad.compiler.passes.gather_reads import gather_reads
from slangad.compiler.passes.hide_counters import hide_counters
from slangad.compiler.passes.keep_params_in_memory import keep_params_in_memory
from slangad.compiler.passes.lower_tuples import lower_tuples
from slangad.compiler.passes.map_entries import map_entries
from slangad.compiler.passes.mark_no_diff import mark_no_diff
from slangad.compiler.passes.multiply_arrays import multiply_arrays
from slangad.compiler.passes.name_tensors import name_tensors
from slangad.compiler.passes.nest_layers import nest_layers
from slangad.compiler.passes.pair_reads import pair_reads
from slangad.compiler.passes.read_half_as_float import read_half_as_float
from slangad.compiler.passes.replay_loops import replay_loops
from slangad.compiler.passes.separate_indexed_reads import separate_indexed_reads
from slangad.compiler.passes.share_tiles import share_tiles
from slangad.compiler.passes.spell_matrices import spell_matrices
from slangad.compiler.passes.store_rows import store_rows
from slangad.compiler.passes.store_whole_values import store_whole_values
from slangad.compiler.passes.sum_blocks import sum_blocks
from slangad.compiler.passes.sum_exactly import sum_exactly
from slangad.compiler.passes.sum_rows import sum_rows
from slangad.compiler.passes.unspread_scalars import unspread_scalars

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.nodes import Module


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass, with the name that ``--dump-after`` takes."""

    name: str
    function: Callable[[Module], Module]


PIPELINE: Final = (
    Pass("array_products", multiply_arrays),
    Pass("user_gradients", differentiate_user_gradients),
    Pass("forward_mode", expand_forward_mode),
    Pass("fusion", fuse_stages),
    Pass("params", keep_params_in_memory),
    Pass("tensors", name_tensors),
    Pass("half_reads", read_half_as_float),
    Pass("products", find_products),
    Pass("blocks", sum_blocks),
    Pass("rows", sum_rows),
    Pass("entries", map_entries),
    Pass("layers", nest_layers),
    Pass("replay", replay_loops),
    Pass("derivatives", lower_derivatives),
    Pass("second_order", differentiate_gradients),
    Pass("activity", mark_no_diff),
    Pass("inner_loops", extract_inner_loops),
    Pass("tuples", lower_tuples),
    Pass("loops", bound_loops),
    Pass("whole_stores", store_whole_values),
    Pass("repeated_indices", store_rows),
    Pass("dynamic_index", separate_indexed_reads),
    Pass("matrices", spell_matrices),
    Pass("splat", unspread_scalars),
    Pass("nests", equalize_nested_loops),
    Pass("counters", hide_counters),
    Pass("gather", gather_reads),
    Pass("pairs", pair_reads),
    Pass("tiles", share_tiles),
    Pass("additions", add_in_place),
    Pass("declare", declare_locals),
)

PASS_NAMES: Final = tuple(step.name for step in PIPELINE)


def run_all(
    module: Module,
    dump: Callable[[str, Module], None] | None = None,
    *,
    deterministic: bool = False,
    second_order: bool = False,
) -> Module:
    """Run every pass and call ``dump`` with the module after each.

    Args:
        module: The module from a front end.
        dump: Called with the name of each pass and the module after it.
        deterministic: Make gradients bitwise repeatable.
        second_order: Add kernels whose gradients are products with Hessians.

    Raises:
        CompileError: A pass refuses the user's program.
    """
    sound = SoundBodies()
    _check("the front end", module, sound, declared=False)
    everywhere = bool(os.environ.get("SLANGAD_VERIFY"))
    for step in PIPELINE:
        before, module = module, step.function(module)
        if second_order and step.function is multiply_arrays:
            module = differentiate_twice(module)  # which has no rules for products of arrays
        if deterministic and step.function is share_tiles:
            module = sum_exactly(module)  # what the threads of a tile read together stays so
        is_last = step is PIPELINE[-1]
        if is_last or (everywhere and module != before):  # six of seven passes change nothing of a module
            _check(step.name, module, sound, declared=is_last)
        if dump is not None:
            dump(step.name, module)
    return module


def _check(after: str, module: Module, sound: SoundBodies, *, declared: bool) -> None:
    problems = verify(module, declared=declared, sound=sound)
    if problems:
        raise InvalidModule(after, problems)
