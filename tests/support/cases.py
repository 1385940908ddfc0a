"""Losses, datasets and neighbour pairs that an exact privacy check sweeps over."""

import numpy as np

from confide.attacks import Records
from confide.objectives import (
    Clipped,
    HuberizedHinge,
    Logistic,
    Objective,
    Poisson,
    SmoothedHinge,
    Squared,
)

SIGN_LOSSES = {
    "logistic": Logistic(),
    "clipped-logistic": Clipped(Logistic(), 0.5),
    "huberized-hinge": HuberizedHinge(0.5),
    "narrow-hinge": HuberizedHinge(0.1),
    "smoothed-hinge": SmoothedHinge(),
}
NUMBER_LOSSES = {
    "huber": Clipped(Squared(), 1.0),
    "clipped-poisson": Clipped(Poisson(), 2.0),
}
LOSSES = {**SIGN_LOSSES, **NUMBER_LOSSES}


def objective(name, dimension=1, l2=None, **more):
    bound = {"huber": 1.0, "clipped-poisson": 3.0}.get(name)
    return Objective(LOSSES[name], dimension, 1.0, l2, target_bound=bound, **more)


def labels(name):
    return {"huber": (-1.0, 1.0), "clipped-poisson": (0.0, 3.0)}.get(name, (-1.0, 1.0))


def datasets(name):
    low, high = labels(name)
    yield "empty", Records.of(np.zeros((0, 1)), [])
    yield "single", Records.of([[1.0]], [high])
    yield "balanced", Records.of([[1.0], [1.0], [-0.5]], [high, low, low])
    yield "one-sided", Records.of([[1.0]], [low], 12)
    yield "tiny", Records.of([[0.01], [0.02]], [high, low])


def added_records(name):
    low, high = labels(name)
    return [([1.0], high), ([1.0], low), ([0.5], high), ([0.0], high)]


def add_remove_pairs(name):
    for title, base in datasets(name):
        for x, y in added_records(name):
            more = base.plus(x, y)
            yield f"{title}+({x[0]},{y})", more, base
            yield f"{title} vs +({x[0]},{y})", base, more


def replace_pairs(name):
    low, high = labels(name)
    for title, base in datasets(name):
        yield f"{title}: flip", base.plus([1.0], high), base.plus([1.0], low)
        yield f"{title}: mirror", base.plus([1.0], high), base.plus([-1.0], high)
        yield f"{title}: shrink", base.plus([1.0], low), base.plus([0.2], low)


def plane_pairs(name):
    """Two dimensions: records at an angle, over datasets that hold the plane or not."""
    low, high = labels(name)
    across = Records.of([[0.6, 0.8], [-0.8, 0.6]], [high, low])
    empty = Records.of(np.zeros((0, 2)), [])
    for base, angles in ((empty, (np.pi / 2, np.pi)), (across, (0.0, np.pi / 3))):
        for angle in angles:
            turned = [np.cos(angle), np.sin(angle)]
            yield base.plus([1.0, 0.0], high), base.plus(turned, high)
            yield base.plus([1.0, 0.0], high), base.plus(turned, low)
