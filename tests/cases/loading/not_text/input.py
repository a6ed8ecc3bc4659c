import slangad as sa
x = "ÿþ€"
