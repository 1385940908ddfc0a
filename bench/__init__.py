"""Benchmarks: ratios of times measured in one run, in fresh processes.

`python -m bench` runs all sections, stores the results in ``docs/benchmarks.json`` and
writes ``docs/benchmarks.md`` from them. A run of some sections replaces only their results.
"""
