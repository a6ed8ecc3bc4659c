import slangad as sa


def made(scale):
    @sa.differentiable
    def made(x: float) -> float:
        if scale is not None:
            return x * scale
        return x if None is scale else 0.0

    return made


bare = made(None)
