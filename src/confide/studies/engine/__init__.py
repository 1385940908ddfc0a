"""The engine of the studies: it computes their results and stores them.

A study has a grid of parameters. A *cell* of the grid is one combination of parameter
values, including the number of the repetition; it is computed independently, with a seed of
its own. *Committed* results are those kept in the source tree, in docs/reproduction.
"""
