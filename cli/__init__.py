"""The command line, one file per command. A command parses its parameters, calls the compiler and prints."""
