import slangad as sa

one = sa.extern(
    "noise",
    file="missing.slang",
    signature="(x: float) -> float",
)
