"""How many examples a property is tried on: all of them in the slow set, else a third."""

import os

ALL = os.environ.get("CONFIDE_EXAMPLES") == "all"
"""`make test-slow` tries every property again, on as many examples as it names."""


def some(count):
    """Return how many of so many examples are tried in this run."""
    return count if ALL else -(-count // 3)
