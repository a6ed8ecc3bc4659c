def size():
    return 1 // 0


SIZE = size()
