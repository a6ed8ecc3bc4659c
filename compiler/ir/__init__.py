"""The intermediate representation all front ends produce and all later stages read: frozen, typed, with spans."""
