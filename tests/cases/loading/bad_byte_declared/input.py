# coding: ascii
import slangad as sa

# café
