"""Make copies of subjects that measure one thing each. They run in float64 and are never shipped.

`declared` freezes what carries no gradient by declaration, `unclipped` removes clips from callees, `index_ranges`
records indices, `loop_bounds` and `slang_loop_bounds` find loops that would run past their bounds.
"""
