"""The exact checks themselves, so that mutation tests can see them fail."""

import numpy as np
from scipy.special import logsumexp

from confide.attacks import exact_pair, hockey_stick, max_log_ratio
from confide.mechanisms import ObjectivePerturbation
from confide.privacy import Approx, Pure

GRID_ERROR = 1e-2


def main_budget(mechanism, budget):
    """What is left for the linear term once finite precision has been paid for."""
    return budget.share(1 - mechanism.precision_share)


def largest_loss(objective, budget, neighbours, pairs, analysis="coupled"):
    """Check pure privacy exactly on every pair; return the largest loss over epsilon."""
    mechanism = ObjectivePerturbation(analysis=analysis)
    calibration = mechanism.calibrate(objective, budget, neighbours)
    main = main_budget(mechanism, budget)
    assert isinstance(main, Pure)
    worst = 0.0
    for title, first, second in pairs:
        p, q = exact_pair(calibration.objective, calibration.noise, first, second)
        assert abs(p.mass - 1) < GRID_ERROR, (title, p.mass)
        loss = max_log_ratio(p, q) / float(main.epsilon)
        assert loss <= 1 + 1e-6, (title, loss)
        worst = max(worst, loss)
    return worst


def largest_delta(
    objective,
    budget,
    neighbours,
    pairs,
    analysis="coupled",
    points=None,
    slack=None,
    noise="gaussian",
):
    """Check approximate privacy exactly; return the largest delta over the claimed."""
    mechanism = ObjectivePerturbation(analysis=analysis, noise=noise)
    calibration = mechanism.calibrate(objective, budget, neighbours)
    main = main_budget(mechanism, budget)
    assert isinstance(main, Approx)
    worst, slack = 0.0, slack or GRID_ERROR
    for title, first, second in pairs:
        p, q = exact_pair(calibration.objective, calibration.noise, first, second, points)
        assert abs(p.mass - 1) < slack, (title, p.mass)
        delta = hockey_stick(p, q, float(main.epsilon)) / float(main.delta)
        assert delta <= 1 + slack, (title, delta)
        worst = max(worst, delta)
    return worst


def largest_renyi(objective, budget, neighbours, pairs, orders):
    """Check zCDP exactly at some orders; return the largest divergence over rho alpha."""
    mechanism = ObjectivePerturbation()
    calibration = mechanism.calibrate(objective, budget, neighbours)
    rho = float(main_budget(mechanism, budget).rho)
    worst = 0.0
    for title, first, second in pairs:
        p, q = exact_pair(calibration.objective, calibration.noise, first, second)
        logs = [law.log_density - logsumexp(law.log_density) for law in (p, q)]
        for alpha in orders:
            power = alpha * logs[0] + (1 - alpha) * logs[1]
            divergence = logsumexp(power) / (alpha - 1)
            ratio = float(divergence) / (rho * alpha)
            assert ratio <= 1 + GRID_ERROR, (title, alpha, ratio)
            worst = max(worst, ratio)
    return worst


def joint_delta(objective, budget, neighbours, pairs):
    """Check two objectives on the same records; the pairs come as two codings each."""
    mechanism = ObjectivePerturbation(noise="gaussian")
    calibration = mechanism.calibrate(objective, budget, neighbours, copies=2)
    main = main_budget(mechanism, budget)
    epsilon, worst = float(main.epsilon), 0.0
    for first, second in pairs:
        losses, masses = [], []
        for p, q in (
            exact_pair(calibration.objective, calibration.noise, a, b, 2001)
            for a, b in zip(first, second, strict=True)
        ):
            losses.append(p.log_density - q.log_density)
            masses.append(np.exp(p.log_density) * p.volume)
        total = np.add.outer(*losses)
        excess = -np.expm1(np.minimum(epsilon - total, 0.0))
        delta = float(masses[0] @ excess @ masses[1]) / float(main.delta)
        assert delta <= 1 + GRID_ERROR, delta
        worst = max(worst, delta)
    return worst
