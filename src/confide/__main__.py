"""The command line, run as `python -m confide`."""

from confide.cli import main

main()
