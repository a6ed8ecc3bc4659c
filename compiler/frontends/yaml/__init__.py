"""Load descriptions written in YAML, without executing anything of them."""
