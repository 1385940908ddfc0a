"""`python -m confide` is the command line."""

from confide.cli import main

main()
