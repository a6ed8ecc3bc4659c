"""What Slang leaves to its own drivers is written into the artefact, so that the artefact is complete by itself."""

from __future__ import annotations

_HALF = b"#define SLANG_CUDA_ENABLE_HALF 1\n"


def finished(target: str, code: bytes) -> bytes:
    """The artefact's final bytes.

    CUDA code that uses half needs a macro, which Slang defines only when it calls NVRTC itself.
    """
    if target == "cuda" and b"__half" in code.rpartition(b"\n#endif")[2]:
        return _HALF + code
    return code
