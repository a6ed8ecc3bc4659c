"""A Slang text that keeps the Slang compiler busy for minutes."""

HANGS_SLANG = """
[Differentiable]
float bad(float x)
{
    float s = x;
    [ForceUnroll]
    for (int i = 0; i < 150; ++i)
    {
        [ForceUnroll]
        for (int j = 0; j < 150; ++j) s = s * 0.5 + sin(s);
    }
    return s;
}
"""
