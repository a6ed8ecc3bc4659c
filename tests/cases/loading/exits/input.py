import sys

import slangad as sa

sys.exit(3)
