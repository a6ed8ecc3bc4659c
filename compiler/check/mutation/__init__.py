"""``slangad check --mutate``: break custom derivatives and count how many the check catches."""
