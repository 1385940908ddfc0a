"""The exact law of two looks on a line: a grid of first results, each with its second."""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from confide.attacks import exact_loss as exact
from confide.attacks import exact_pair, max_log_ratio
from confide.data import bound_rows
from confide.privacy import Approx, Pure, Zcdp
from confide.solvers import minimise

FIRST_POINTS = 120
SECOND_POINTS = 2400
GRID_ERROR = 0.02
FAINTEST = 1e-13
"""Chances of an atom below this are lost to rounding: they are differences."""
ORDERS = np.array([1.05, 1.5, 2.0, 4.0, 8.0])


def first_look(calibration, first, second):
    """Return middles of cells, the chance of each under ``first``, and the losses there."""
    objective, noise = calibration.objective, calibration.noise
    spans = [exact._span(objective, noise, records) for records in (first, second)]
    low, high = min(s[0][0] for s in spans), max(s[1][0] for s in spans)
    edges = np.linspace(low, high, FIRST_POINTS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    laws = [
        exact._law(objective, noise, records, middles[:, None], 1.0)
        for records in (first, second)
    ]
    pull, _ = exact._gradient_and_determinant(objective, first, edges[:, None])
    chances = np.diff([noise.chance_below(float(b)) for b in pull[:, 0]])
    return middles, chances, laws[0].log_density - laws[1].log_density


def second_looks(mechanism, calibration, rough, records):
    """Return the laws of the second look under both datasets, given the first result."""
    point = np.array([rough])
    final = mechanism._second(calibration, mechanism.weights(calibration, point))
    tilt = float(mechanism.tilt(calibration, point)[0])
    return exact_pair(final.objective, final.noise, *records, SECOND_POINTS, tilt=tilt)


def joint_loss(mechanism, calibration, records):
    """Return the largest privacy loss of (θ¹, θ²)."""
    middles, _, before = first_look(calibration.first, *records)
    after = [
        max_log_ratio(*second_looks(mechanism, calibration, float(t), records))
        for t in middles
    ]
    return float(np.max(before + np.array(after)))


def joint_delta(mechanism, calibration, records, epsilon):
    """Return δ(ε) of (θ¹, θ²), and the probability that the grids hold."""
    total, mass = 0.0, 0.0
    for t, weight, before in zip(*first_look(calibration.first, *records), strict=True):
        p, q = second_looks(mechanism, calibration, float(t), records)
        shift = epsilon - before
        inside = np.exp(p.log_density) - np.exp(q.log_density + shift)
        atoms = p.atoms - np.exp(shift) * q.atoms
        excess = np.maximum(inside, 0).sum() * p.volume + np.maximum(atoms, 0).sum()
        total += weight * float(excess)
        mass += weight * p.mass
    return total, mass


def joint_renyi(mechanism, calibration, records, orders):
    """Return D_α of (θ¹, θ²) for every order."""
    parts = []
    for t, weight, before in zip(*first_look(calibration.first, *records), strict=True):
        p, q = second_looks(mechanism, calibration, float(t), records)
        loss = p.log_density - q.log_density
        powers = np.multiply.outer(orders - 1, loss + before) + p.log_density
        inside = logsumexp(powers, axis=1) + np.log(p.volume)
        with np.errstate(divide="ignore", invalid="ignore"):
            jumps = np.log(p.atoms / np.maximum(q.atoms, FAINTEST / 1e3)) + before
            atoms = np.log(p.atoms) + np.multiply.outer(orders - 1, jumps)
        atoms = np.where(p.atoms > FAINTEST, atoms, -np.inf)
        both = np.logaddexp(inside, logsumexp(atoms, axis=1))
        parts.append(both + np.log(max(weight, 1e-300)))
    return logsumexp(parts, axis=0) / (orders - 1)


def share_of_claim(mechanism, target, budget, neighbours, pairs, change=lambda c: c):
    """Check both looks on every pair; return the largest share of the claim.

    What pays for the solvers is set aside: laws here are of exact minimisers.
    ``change`` may spoil the calibration.
    """
    calibration = change(mechanism.calibrate(target, budget, neighbours))
    main = budget.share(1 - mechanism.look.precision_share)
    worst = 0.0
    for title, *records in pairs:
        if isinstance(main, Pure):
            share = joint_loss(mechanism, calibration, records) / float(main.epsilon)
            assert share <= 1 + 1e-6, (title, share)
        elif isinstance(main, Zcdp):
            spent = joint_renyi(mechanism, calibration, records, ORDERS) / ORDERS
            share = float(spent.max()) / float(main.rho)
            assert share <= 1 + GRID_ERROR, (title, share)
        else:
            assert isinstance(main, Approx)
            found, mass = joint_delta(mechanism, calibration, records, float(main.epsilon))
            assert abs(mass - 1) < GRID_ERROR, (title, mass)
            share = found / float(main.delta)
            assert share <= 1 + GRID_ERROR, (title, share)
        worst = max(worst, share)
    return worst


def minimiser(objective, records):
    """Return the minimiser without noise, which is not private."""
    rows = bound_rows(records.features, records.target, 1e100, 0.0)
    return minimise(objective, rows, np.zeros(1), 1e-8).theta


def unpaid(mechanism, budget):
    """Return a change that gives the second look everything: the first is forgotten."""

    def change(calibration):
        alone = mechanism.look.calibrate(
            calibration.objective, budget, calibration.neighbours
        )
        return replace(calibration, noise=alone.noise)

    return change
