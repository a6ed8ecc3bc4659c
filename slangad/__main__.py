"""Run the command line as ``python -m slangad``, which ``torchrun -m slangad train`` needs."""

from slangad.cli.main import main

if __name__ == "__main__":
    main()
