"""Times of several jobs, taken in turns so that a busy machine hits all of them alike."""

import time
from statistics import median

PASSES = 3


def in_passes(jobs, one_pass, repeats, clock=time.process_time):
    """Return for each job its seconds, and its ratio to passes timed around it.

    A round times each job between two groups of passes; the job's ratio in that round is
    to the median of both groups. Reported are the median and the least over the rounds.
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
    """Return the median time of a job, which runs once before it is timed."""
    job()
    return median(_times(job, repeats, clock))


def _times(job, repeats, clock):
    taken = []
    for _ in range(repeats):
        start = clock()
        job()
        taken.append(clock() - start)
    return taken
