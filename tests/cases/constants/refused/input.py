import numpy as np

import slangad as sa

TEXT = "abc"
LIST = [1.0, 2.0]
DICT = {"a": 1.0}
NOTHING = None
MIXED = (1.0, (2.0, 3.0))
RAGGED = ((1.0,), (2.0, 3.0))
EMPTY = ()
WORDS = ("a", "b")
LARGE = np.zeros(5000)
OBJECTS = np.array([object()])
COMPLEX = 1j


class Thing:
    value = 2.0


THING = Thing()


@sa.differentiable
def f(x: float) -> float:
    a = TEXT
    b = LIST
    c = DICT
    d = NOTHING
    e = MIXED[0]
    g = RAGGED[0]
    h = EMPTY[0]
    i = WORDS[0]
    j = LARGE[0]
    k = OBJECTS[0]
    l = COMPLEX
    m = THING.value
    n = Thing.value
    o = THING
    return x
