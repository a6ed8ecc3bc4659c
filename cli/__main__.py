"""``python -m slangad.cli``: the command line without its installed script."""

from slangad.cli.main import main

if __name__ == "__main__":
    main()
