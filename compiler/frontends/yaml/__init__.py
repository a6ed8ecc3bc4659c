"""The YAML front end: data in, a module out; nothing of a description is executed."""
