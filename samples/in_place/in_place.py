"""A tensor that is changed in place: the gradient of the old elements, from that of the new ones."""

import slangad as sa
from slangad import Each, InOutTensor


@sa.kernel(shapes={"state": (5,)})
def relax(state: InOutTensor[float, 1], pull: Each[float]) -> None:
    """Each element moves towards what pulls it."""
    i = sa.thread_id()
    state[i] += (sa.tanh(pull) - state[i]) * 0.25


if __name__ == "__main__":
    old, pull = [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]
    print(relax.forward(state=old, pull=pull, device="cpu"))
    print(relax.backward(state=old, pull=pull, cotangent={"state": [1.0, 1.0, 1.0]}, device="cpu"))
