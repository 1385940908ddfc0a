"""Alternating timing of several jobs, so that other load affects all of them equally."""

import time
from statistics import median

PASSES = 3


def in_passes(jobs, one_pass, repeats, clock=time.process_time):
    """Return the time of each job, and its ratio to passes timed before and after it.

    A round times each job between two groups of passes. The ratio of a job in a round is
    its time divided by the median time of both groups. The result has the median and the
    minimum ratio over the rounds.
    """
    for job in (one_pass, *jobs.values()):
        job()
    ratios = {name: [] for name in jobs}
    seconds = {name: [] for name in jobs}
    passes = []
    for _ in range(repeats):
        before = _times(one_pass, PASSES, clock)
        for name, job in jobs.items():
            (taken,) = _times(job, 1, clock)
            after = _times(one_pass, PASSES, clock)
            seconds[name].append(taken)
            ratios[name].append(taken / median(before + after))
            passes += before
            before = after
        passes += before
    return {
        "pass_s": median(passes),
        "jobs": {
            name: {
                "median": median(ratios[name]),
                "least": min(ratios[name]),
                "seconds": median(seconds[name]),
            }
            for name in jobs
        },
    }


def seconds(job, repeats, clock=time.perf_counter):
    """Return the median time of a job, after one untimed run."""
    job()
    return median(_times(job, repeats, clock))


def _times(job, repeats, clock):
    taken = []
    for _ in range(repeats):
        start = clock()
        job()
        taken.append(clock() - start)
    return taken
