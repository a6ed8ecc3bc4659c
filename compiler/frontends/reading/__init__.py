"""Parts of front ends below lowering: decoding, the fence, locations, signatures, paths, collected diagnostics."""
