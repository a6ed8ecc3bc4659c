import slangad as sa
from slangad import Each


def make(power, flag=True):
    @sa.kernel
    def raise_(x: Each[float]) -> Each[float]:
        if flag:
            return x**power
        return x

    return raise_


square = make(2)
inverse = make(-1)
root = make(0.5, flag=False)
