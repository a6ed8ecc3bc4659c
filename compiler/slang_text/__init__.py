"""Read Slang source as text, without a compiler. The Slang front end and the check use it.

In reading order: `tokens`, `brackets`, `headers` (heads of functions), `bodies` (a file with its functions), `files`
(the cached reader), `operators`, `calls` (the one call graph), `declarations`, `parts` (removable parts), `ranges`.
"""
