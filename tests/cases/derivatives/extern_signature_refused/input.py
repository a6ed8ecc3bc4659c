import slangad as sa

one = sa.extern("noise", "noise.slang", "(x) -> float")
