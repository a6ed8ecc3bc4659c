import slangad as sa


# hÃ©llo ÿ
