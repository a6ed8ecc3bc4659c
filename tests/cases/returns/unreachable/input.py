import slangad as sa

DEBUG = True


@sa.differentiable
def after_a_known_branch(x: float) -> float:
    # Kept.
    if DEBUG:
        return x
    # Left out, like all that follows.
    y = x * 2.0
    for i in range(3):
        y += x
        if y > 2.0:
            break
    else:
        y = 1.0
    while sa.max_iters(3) and y > 0.0:
        y -= 1.0
    if y > 0.0:
        z = y
    return y


@sa.differentiable
def after_break(x: float) -> float:
    for i in range(3):
        y = x * i
        break
        x = y
    return y


@sa.differentiable
def static_choice(x: float) -> float:
    if not DEBUG:
        y = undefined_here(x)
    elif DEBUG and 1 + 1 == 2:
        y = x * 3.0
    else:
        y = also_undefined
    return y if DEBUG else nothing


@sa.differentiable
def both_return(x: float) -> float:
    if x > 0.0:
        return x
    else:
        return -x
    for i in range(2):
        x += 1.0
    return x
