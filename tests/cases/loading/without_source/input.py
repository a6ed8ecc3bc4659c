import slangad as sa

code = '''
def g(x: float) -> float:
    return x
'''
exec(code)


@sa.differentiable
def f(x: float) -> float:
    return g(x)


h = sa.differentiable(lambda x: x)
