"""Slang source as text: tokens, function headers, bodies, declarations and call graph. No compiler is needed."""
