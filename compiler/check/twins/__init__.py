"""Make copies of subjects that measure one thing each. They run in float64 and are never shipped.

| module                             | its copies                                        |
|------------------------------------|---------------------------------------------------|
| `declared`                         | freeze values that are declared without gradient  |
| `unclipped`                        | have no clips in callees                          |
| `index_ranges`                     | record indices                                    |
| `loop_bounds`, `slang_loop_bounds` | find loops that would run past their bounds       |
"""
