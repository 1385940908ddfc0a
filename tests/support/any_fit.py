"""Fits drawn at random: public settings, and tables that rows may turn out to be."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from confide.data.rows.in_memory import InMemoryRows, bound_rows
from confide.errors import InvalidParameter
from confide.mechanisms.base import Calibration
from confide.mechanisms.objective.adaptive import AdaptiveObjectivePerturbation
from confide.mechanisms.objective.perturbation import ObjectivePerturbation
from confide.mechanisms.output import OutputPerturbation
from confide.noise import Entropy
from confide.objectives import (
    L1,
    Box,
    Clipped,
    ElasticNet,
    GroupL2,
    Hinge,
    HuberizedHinge,
    L1Ball,
    L2Ball,
    Logistic,
    Multinomial,
    Nonnegative,
    Nuclear,
    Objective,
    Poisson,
    Ridge,
    SmoothedHinge,
    Squared,
    has_exact_prox,
)
from confide.privacy import Approx, Neighbours, Pure, Zcdp

MOST_ROWS = 10**6
USUAL_ROWS = 20_000
LARGE_SHARE = 0.3
"""So many of the fits may have as many rows as `MOST_ROWS`, the others `USUAL_ROWS`."""
TABLES = (
    "balanced",
    "one label",
    "one row, one label",
    "one row, both labels",
    "separated",
    "two corners",
    "zeros",
    "one axis",
    "tiny",
    "far too long",
    "as long as doubles are",
    "as short as doubles are",
    "one row too many",
)


@dataclass(frozen=True)
class AnyFit:
    """A calibration, the number of rows, and the seed of tables and noise."""

    calibration: Calibration
    count: int
    height: float
    seed: int

    @property
    def width(self):
        """How many columns there are, the constant one aside."""
        objective = self.calibration.objective
        return objective.dimension // objective.responses - bool(self.height)

    def nothing(self):
        """Return a table of zeros, for what is refused by shape."""
        width = self.width
        return bound_rows(
            np.zeros((self.count, width)), np.zeros(self.count), 1.0, self.height
        )

    def rows(self, kind):
        """Return a table of a kind, bounded as the objective asks."""
        rng = np.random.default_rng(self.seed)
        objective, width = self.calibration.objective, self.width
        norm = math.sqrt(objective.row_norm**2 - self.height**2)
        features = rng.normal(size=(self.count, width))
        features *= norm / np.maximum(np.linalg.norm(features, axis=1), 1e-9)[:, None]
        score = features @ rng.normal(size=width) * 3 / norm + rng.normal(size=self.count)
        return bound_rows(
            _shaped(features, score, norm, kind),
            self._target(kind, score),
            norm,
            self.height,
        )

    def _target(self, kind, score):
        objective = self.calibration.objective
        bound = objective.target_bound or 1.0
        one = kind.endswith("one label")
        if objective.loss.targets == "signs":
            return np.ones(self.count) if one else np.where(score > 0, 1.0, -1.0)
        if objective.loss.targets == "labels":
            places = np.floor(objective.loss.classes * expit(score))
            return np.zeros(self.count) if one else places - (score > 4)
        if objective.loss.targets == "counts":
            return np.full(self.count, bound) if one else np.clip(np.rint(score), 0, bound)
        return np.full(self.count, bound) if one else np.clip(score / 4, -1, 1) * bound

    def passes(self, kind, monkeypatch):
        """Release from a table of a kind; return how often all of its rows were summed."""
        rows, seen = self.rows(kind), []
        self.calibration.check_rows(rows)
        honest = InMemoryRows.sum

        def watched(table, fn, dtype=np.float64):
            seen.extend([1] if table.count == rows.count else [])
            return honest(table, fn, dtype)

        with monkeypatch.context() as patch:
            patch.setattr(InMemoryRows, "sum", watched)
            copies = [rows] * self.calibration.copies
            release = self.calibration.release(copies, Entropy.seeded(self.seed))
        assert np.isfinite(release.value).all()
        return len(seen)


def _shaped(features, score, norm, kind):
    """Return features of a kind."""
    first = np.arange(features.shape[1]) == 0
    signs = np.sign(score)[:, None]
    same = np.repeat(features[:1], len(features), axis=0)
    far = np.where(np.arange(features.shape[1]) % 2, 1e300, -1e-300)
    kinds = {
        "one row, one label": lambda: same,
        "one row, both labels": lambda: same,
        "separated": lambda: np.where(first, signs * norm / 2, features),
        "two corners": lambda: first * norm * signs,
        "zeros": lambda: np.zeros_like(features),
        "one axis": lambda: np.where(first, features, 0.0),
        "tiny": lambda: 1e-160 * features,
        "far too long": lambda: 1e12 * features,
        "as long as doubles are": lambda: features / np.abs(features).max() * 1.7e308,
        "as short as doubles are": lambda: 5e-324 * np.sign(features),
        "one row too many": lambda: np.vstack([features[:-1], far]),
    }
    return kinds[kind]() if kind in kinds else features


def any_fit(seed):
    """Return the fit of a seed.

    Settings that no theorem covers, or that are refused for their shape, are drawn again.
    """
    for turn in range(1000):
        rng = np.random.default_rng((seed, turn))
        try:
            found = _drawn(rng, seed)
            found.calibration.check_rows(found.nothing())
        except InvalidParameter:
            continue
        return found
    raise AssertionError


def several_classes(seed):
    """Return a fit of several classes, drawn again where it is refused."""
    for turn in range(1000):
        rng = np.random.default_rng((seed, turn, 1))
        try:
            found = _drawn_classes(rng, seed)
            found.calibration.check_rows(found.nothing())
        except InvalidParameter:
            continue
        return found
    raise AssertionError


def _drawn_classes(rng, seed):
    columns, height = int(rng.integers(1, 9)), float(rng.choice([0.0, 0.3]))
    stretch = float(rng.choice([1.0, 1.0, 1e-3, 50.0]))
    classes = int(rng.integers(3, 7))
    objective = Objective(
        Multinomial(classes),
        (columns + bool(height)) * (classes - 1),
        stretch * math.hypot(1.0, height),
        None if rng.uniform() < 0.6 else float(10 ** rng.uniform(-2, 4)) * stretch**2,
        responses=classes - 1,
        height=height * stretch,
    )
    calibration = _calibrated(
        rng,
        OutputPerturbation() if rng.uniform() < 0.3 else ObjectivePerturbation(),
        objective,
    )
    count = int(10 ** rng.uniform(0, math.log10(min(USUAL_ROWS, MOST_ROWS))))
    return AnyFit(calibration, count, height * stretch, seed)


def _calibrated(rng, mechanism, objective, copies=1):
    epsilon = float(10 ** rng.uniform(-1.3, 0.9))
    budget = [Pure(epsilon), Approx(epsilon, 1e-6), Zcdp(epsilon**2 / 8)][rng.integers(3)]
    relation = [Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE][rng.integers(2)]
    return mechanism.calibrate(objective, budget, relation, copies=copies)


def _drawn(rng, seed):
    columns, height = int(rng.integers(1, 26)), float(rng.choice([0.0, 0.3]))
    stretch = float(rng.choice([1.0, 1.0, 1.0, 1e-3, 50.0]))
    dimension = columns + bool(height)
    loss, bound, constraint = _loss(rng, stretch)
    constraint = _constraint(rng, stretch) if constraint is None else constraint
    penalty = _penalty(rng, dimension)
    output = bool(rng.uniform() < 0.3) or isinstance(loss, Hinge)
    adaptive = not output and penalty is not None and rng.uniform() < 0.3
    objective = Objective(
        loss,
        dimension,
        stretch * math.hypot(1.0, height),
        None if rng.uniform() < 0.6 else float(10 ** rng.uniform(-2, 4)) * stretch**2,
        penalty,
        constraint,
        bound,
        height=height * stretch,
    )
    kink = objective.nonsmooth_part
    if not has_exact_prox(kink, constraint):
        raise InvalidParameter("constraint", "one with an exact map", constraint)
    if adaptive and not isinstance(penalty, L1 | ElasticNet):
        raise InvalidParameter("penalty", "l1 or elastic net", penalty)
    mechanism = OutputPerturbation() if output else ObjectivePerturbation()
    if adaptive:
        mechanism = AdaptiveObjectivePerturbation(
            style="lasso" if rng.uniform() < 0.5 else "bridge"
        )
    epsilon = float(10 ** rng.uniform(-1.3, 0.9))
    budget = [Pure(epsilon), Approx(epsilon, 1e-6), Zcdp(epsilon**2 / 8)][rng.integers(3)]
    relation = [Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE][rng.integers(2)]
    copies = int(rng.choice([1, 1, 1, 2]))
    calibration = mechanism.calibrate(objective, budget, relation, copies=copies)
    most = MOST_ROWS if rng.uniform() < LARGE_SHARE else min(USUAL_ROWS, MOST_ROWS)
    count = int(10 ** rng.uniform(0, math.log10(most)))
    return AnyFit(calibration, count, height * stretch, seed)


def _loss(rng, stretch):
    """Return a loss, the bound on its target, and a constraint where it needs one."""
    ball = L2Ball(2.0 / stretch)
    return (
        (Logistic(), None, None),
        (Clipped(Logistic(), 0.4), None, None),
        (HuberizedHinge(0.5), None, None),
        (HuberizedHinge(0.05), None, None),
        (SmoothedHinge(), None, None),
        (Hinge(), None, None),
        (Clipped(Squared(), 0.5), 1.0, None),
        (Squared(), 1.0, ball),
        (Clipped(Poisson(), 5.0), 9.0, None),
        (Poisson(), 5.0, ball),
    )[rng.integers(10)]


def _penalty(rng, dimension):
    weight = float(10 ** rng.uniform(-2, 3))
    half = max(1, dimension // 2)
    groups = (tuple(range(half)),) + (
        (tuple(range(half, dimension)),) if dimension > half else ()
    )
    choices = (
        None,
        None,
        L1(weight),
        L1(tuple((weight * rng.uniform(size=dimension)).tolist())),
        ElasticNet(weight, 0.7),
        GroupL2(weight, groups),
        Ridge(tuple((weight * rng.uniform(size=dimension)).tolist())),
        Nuclear(weight, (2, dimension // 2)) if dimension > 3 else None,
    )
    return choices[rng.integers(len(choices))]


def _constraint(rng, stretch):
    size = float(10 ** rng.uniform(-2, 1.5)) / stretch
    choices = (
        None,
        None,
        L2Ball(size),
        L2Ball(size),
        L1Ball(size),
        Box(-size / 3, size),
        Nonnegative(),
    )
    return choices[rng.integers(len(choices))]
