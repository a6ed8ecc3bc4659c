"""Run the command line without its installed script: ``python -m slangad.cli``."""

from slangad.cli.main import main

if __name__ == "__main__":
    main()
