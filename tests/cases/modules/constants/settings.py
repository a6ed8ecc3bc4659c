import nested

GAIN = 4.0
OFFSETS = (1.0, 2.0)
