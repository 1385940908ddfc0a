"""Benchmarks: everything is measured in one run, as ratios, in fresh processes.

`python -m bench` runs the sections and writes ``docs/benchmarks.md`` from the results it
keeps in ``docs/benchmarks.json``; a partial run replaces its own sections only.
"""
