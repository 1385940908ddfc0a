"""A ready-made attack on a mechanism: exact on a line, black-box in any space."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.attacks.black_box import Audit, gaussian_audit, threshold_audit
from confide.attacks.exact_loss import Records, exact_pair, hockey_stick, max_log_ratio
from confide.data import bound_rows
from confide.mechanisms import Calibration, Mechanism, ObjectivePerturbation
from confide.noise import Entropy, Gaussian, SphericalLaplace
from confide.objectives import Objective
from confide.privacy import Approx, Neighbours, Pure


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The largest privacy loss found, in units of the claim; above 1 is a refutation."""

    share_of_claim: float
    pairs: int


def exact_finding(
    objective: Objective, budget: Pure | Approx, neighbours: Neighbours
) -> AuditResult:
    """Integrate the privacy loss of objective perturbation over telling pairs on a line."""
    mechanism = ObjectivePerturbation()
    calibration = mechanism.calibrate(objective, budget, neighbours)
    main = budget.share(1 - mechanism.precision_share)
    epsilon, worst, count = float(main.epsilon), 0.0, 0
    noise = calibration.noise
    assert isinstance(noise, Gaussian | SphericalLaplace)  # noqa: S101
    for first, second in telling_pairs(objective, neighbours):
        laws = exact_pair(calibration.objective, noise, first, second)
        if isinstance(main, Approx):
            share = hockey_stick(*laws, epsilon) / float(main.delta)
        else:
            share = max_log_ratio(*laws) / epsilon
        worst, count = max(worst, share), count + 1
    return AuditResult(worst, count)


def telling_pairs(
    objective: Objective, neighbours: Neighbours
) -> Iterator[tuple[Records, Records]]:
    """Yield neighbouring datasets on a line, both ways round."""
    bound = objective.target_bound or 1.0
    low, high = (0.0, bound) if objective.loss.targets == "counts" else (-bound, bound)
    bases = (
        Records.of(np.zeros((0, 1)), []),
        Records.of([[1.0], [1.0], [-0.5]], [high, low, low]),
        Records.of([[1.0]], [low], 12),
    )
    for base in bases:
        for x, y in (([1.0], high), ([1.0], low), ([0.5], high)):
            more = base.plus(x, y)
            other = base
            if neighbours is Neighbours.REPLACE_ONE:
                other = base.plus([-1.0], y)
            yield more, other
            yield other, more


def black_box_finding(
    mechanism: Mechanism,
    calibration: Calibration,
    runs: int,
    progress: Callable[[], None] = lambda: None,
) -> Audit:
    """Release many times with and without one record and bound epsilon from below."""
    objective = calibration.objective
    record = np.eye(objective.dimension)[:1] * objective.row_norm
    entropy = Entropy.system()

    def observe(features: Array) -> Array:
        rows = bound_rows(features, np.ones(1), objective.row_norm, 0.0)
        seen = []
        for _ in range(runs):
            value = mechanism.release(calibration, [rows], entropy).value
            seen.append(float(value @ record[0]))
            progress()
        return np.array(seen)

    present, absent = observe(record), observe(np.zeros_like(record))
    if isinstance(calibration.budget, Approx):
        return gaussian_audit(present, absent, float(calibration.budget.delta))
    return threshold_audit(present, absent)
