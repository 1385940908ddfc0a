"""Noisy gradients keep their guarantees, exactly, and nearly use them up."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from confide.accounting import GaussianEvent, compose
from confide.attacks import Records
from confide.data import bound_rows
from confide.errors import Unproved
from confide.mechanisms import (
    AdmmObjectivePerturbation,
    DpAdmm,
    MomentumDescent,
    MpAdmm,
    SsAdmm,
)
from confide.mechanisms.gradient import momentum
from confide.mechanisms.gradient.calibration import BATCH_SLACK
from confide.mechanisms.gradient.clipped_gradient import clipped_gradient
from confide.mechanisms.gradient.iterations import Admm
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.mechanisms.published.mpadmm import PublishedMpAdmm, ThreeNoises
from confide.mechanisms.rounding import SLACK
from confide.noise import Entropy, Gaussian
from confide.objectives import L1, Box, L2Ball, Logistic, Objective, Squared, prox
from confide.privacy import Approx, Neighbours, Pure, Status, Zcdp, gaussian_mu
from support import noisy_steps
from support.cases import add_remove_pairs, objective, replace_pairs
from support.two_looks import share_of_claim

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
TWO = MpAdmm(steps=2, step=2.0, rho=0.5)
BUDGET = Approx(1, 1e-2)


def table(features, target):
    return bound_rows(
        np.array(features, dtype=float), np.array(target, dtype=float), 1.0, 0.0
    )


def profile(epsilon, shift):
    """Return δ(ε) of N(0,1) against N(shift,1)."""
    near = ndtr(-epsilon / shift + shift / 2)
    return float(near - math.exp(epsilon) * ndtr(-epsilon / shift - shift / 2))


def replaced(clip):
    """Return a task and tables that differ in the label of one record."""
    target = Objective(Logistic(), 1, 1.0, 0.0, L1(0.1))
    rest = [[0.4], [-0.7]]
    tables = [table([[1.0], *rest], [y, 1.0, 1.0]) for y in (1.0, -1.0)]
    return replace(TWO, clip=clip), target, tables


@pytest.mark.parametrize("clip", [None, 0.1])
def test_two_steps_together_keep_the_budget_under_replace_one(clip):
    """With slopes that are always cut the claim is used up; the grid is good to 1 %."""
    mechanism, target, tables = replaced(clip)
    calibration = mechanism.calibrate(target, BUDGET, REPLACE)
    found, mass = noisy_steps.joint_delta(mechanism, calibration, tables, 3.0, 1.0)
    assert mass == pytest.approx(1, abs=1e-6)
    assert found <= 1.01e-2
    if clip is not None:
        assert found >= 0.99e-2


@pytest.mark.parametrize("spoilt", [0.5, 1 / math.sqrt(2), 0.95])
def test_less_noise_than_calibrated_would_be_noticed(spoilt):
    mechanism, target, tables = replaced(0.1)
    calibration = mechanism.calibrate(target, BUDGET, REPLACE)
    less = replace(calibration, noise=Gaussian(spoilt * calibration.noise.scale))
    found, _ = noisy_steps.joint_delta(mechanism, less, tables, 3.0, 1.0)
    assert found > 1.05e-2


def test_two_steps_and_the_count_keep_the_budget_under_add_remove():
    """Given the noisy count the steps have what is left; all shifts add in squares."""
    mechanism = replace(TWO, clip=0.1)
    target = Objective(Logistic(), 1, 1.0, 0.0)
    calibration = mechanism.calibrate(target, BUDGET, ADD)
    steps, count = calibration.events
    assert calibration.counted.scale == pytest.approx(1 / count.mu)
    whole = gaussian_mu(1, 1e-2)
    assert math.hypot(steps.mu, count.mu) == pytest.approx(whole)
    assert count.mu**2 == pytest.approx(whole**2 / 50)
    tables = [table([[0.5], [-0.8]], [1, -1]), table([[0.5], [-0.8], [1.0]], [1, -1, 1])]
    found, _ = noisy_steps.joint_delta(mechanism, calibration, tables, 3.0, 1.0)
    assert found == pytest.approx(profile(1.0, steps.mu / (1 + SLACK)), rel=0.01)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("kind", [MpAdmm, MomentumDescent, DpAdmm])
def test_the_noise_of_a_step_in_closed_form(kind, relation, copies):
    """σ = (s̄ + slack)·C·√(steps·copies)/μ, of a zCDP budget: √(2ρ) less the count."""
    mechanism = kind(steps=9, clip=0.25, count_share=Fraction(1, 4))
    target = Objective(Logistic(), 2, 3.0, 1.0)
    found = mechanism.calibrate(target, Zcdp("0.5"), relation, copies=copies)
    shift = math.sqrt(3 / 4) if relation is ADD else 1.0
    expected = (relation.shifts + SLACK) * 0.25 * math.sqrt(9 * copies) / shift
    assert found.noise.scale == pytest.approx(expected)
    assert found.events[0] == GaussianEvent(pytest.approx(shift))


def test_no_gradient_is_longer_than_the_clip():
    """Whatever the loss and wherever it is taken; rows of no length count for nothing."""
    entropy = Entropy.seeded(3)
    features = entropy.normal(60).reshape(20, 3) * np.geomspace(1e-9, 1, 20)[:, None]
    features[0] = 0
    for loss in (Logistic(), Squared(), objective("clipped-poisson").loss):
        for theta in (np.zeros(3), np.array([1e3, -1e3, 50.0]), np.full(3, 1e200)):
            for i in range(20):
                one = table(features[i : i + 1], [1.0])
                length = np.linalg.norm(clipped_gradient(loss, one, 0.3)(theta))
                assert length <= 0.3 * (1 + 1e-12)


def test_a_gradient_cannot_be_asked_more_often_than_was_paid():
    rows = table([[1.0], [0.5]], [1, -1])
    calibration = TWO.calibrate(Objective(Logistic(), 1), BUDGET, REPLACE)
    gradient = noisy_gradient(calibration, rows, Entropy.seeded(1))
    gradient(np.zeros(1))
    gradient(np.zeros(1))
    with pytest.raises(StopIteration):
        gradient(np.zeros(1))


def test_momentum_asks_for_every_gradient_that_was_paid_for_and_no_more(monkeypatch):
    """Every record moves every sum by the clip, so all of the shift is used."""
    points = []

    def spy(calibration, rows, entropy):
        paid = noisy_gradient(calibration, rows, entropy)

        def gradient(theta):
            points.append(theta.copy())
            return paid(theta)

        return gradient

    monkeypatch.setattr(momentum, "noisy_gradient", spy)
    mechanism = MomentumDescent(6, clip=0.02)
    target = Objective(Logistic(), 1, 1.0, 0.0)
    calibration = mechanism.calibrate(target, BUDGET, REPLACE)
    tables = [table([[1.0], [0.4]], [y, 1.0]) for y in (1.0, -1.0)]
    calibration.release(tables[:1], Entropy.seeded(1))
    assert len(points) == 6
    sums = [clipped_gradient(Logistic(), rows, calibration.clip) for rows in tables]
    moves = [float((sums[0](p) - sums[1](p))[0]) / calibration.noise.scale for p in points]
    used = gaussian_mu(1, 1e-2) / (1 + SLACK / 2)
    assert math.hypot(*moves) == pytest.approx(used)


N, C, STEP, RHO = 5, 0.3, 10.0, 0.5


def one_noiseless_step(label, *, published):
    rows = table([[1.0, 0.0]] + [[0.1, 0.2]] * (N - 1), [label] + [1.0] * (N - 1))
    target = Objective(Logistic(), 2, 1.0, 0.0)
    noises = ThreeNoises(Admm(target, RHO, return_z=False), Gaussian(1e-150), published)
    exact = clipped_gradient(target.loss, rows, C)
    return noises, noises.run(exact, [STEP], float(N), Entropy.seeded(0))


def test_the_corrected_sensitivity_of_x_is_attained():
    noises, here = one_noiseless_step(1.0, published=False)
    _, there = one_noiseless_step(-1.0, published=False)
    moved = float(np.linalg.norm(here - there))
    assert moved == pytest.approx(2 * C * STEP / (N * (1 + STEP * RHO)))
    assert 2 * C * noises.reach(STEP, float(N)) == pytest.approx(moved)


@pytest.mark.parametrize("averaged", [0, 0.4, 1])
@pytest.mark.parametrize("penalty", [None, L1(0.5)], ids=str)
def test_noise_on_three_vectors_leaves_the_same_mean_as_on_gradients(averaged, penalty):
    rows = table([[1.0, 0.0], [0.1, 0.2], [-0.3, 0.9]], [1.0, -1.0, 1.0])
    target = Objective(Logistic(), 2, 1.0, 0.1, penalty)
    admm = Admm(target, RHO, averaged)
    exact = clipped_gradient(target.loss, rows, C)
    sizes = [1.0, 2.0, 0.5, 1.0, 1.5]
    noises = ThreeNoises(admm, Gaussian(1e-150))
    found = noises.run(exact, sizes, 3.0, Entropy.seeded(0))
    assert found == pytest.approx(admm.run(exact, sizes, 3.0), rel=1e-12)


def test_the_published_sensitivity_is_refuted_for_steps_above_one():
    """x after one step alone has δ(1) = 0.472 where 10⁻⁵ was claimed."""
    mechanism = PublishedMpAdmm(
        1,
        RHO,
        STEP,
        sensitivity="published",
        clip=C,
        accept_unproved=True,
    )
    target = Objective(Logistic(), 2, 1.0, 0.0)
    calibration = mechanism.calibrate(target, Approx(1, 1e-5), REPLACE)
    assert calibration.status is Status.REFUTED
    assert calibration.guarantee.budget is None
    assert calibration.events == ()
    noises, here = one_noiseless_step(1.0, published=True)
    _, there = one_noiseless_step(-1.0, published=True)
    deviation = calibration.noise.scale * noises.reach(STEP, float(N))
    shift = float(np.linalg.norm(here - there)) / deviation
    full = STEP * gaussian_mu(1, 1e-5) / math.sqrt(2)
    assert shift == pytest.approx(full / (1 + SLACK / 2))
    assert profile(1.0, full) == pytest.approx(0.472, abs=5e-4)


def test_the_published_sensitivity_is_refused_or_harmless():
    with pytest.raises(Unproved, match="factor step"):
        PublishedMpAdmm(step=1.5, sensitivity="published")
    harmless = PublishedMpAdmm(step=1.0, sensitivity="published")
    assert harmless.status is Status.CLAIMED
    target = Admm(Objective(Logistic(), 2, 1.0, 0.0), RHO)
    for step in (0.2, 1.0):
        wide = ThreeNoises(target, Gaussian(1.0), published=True).reach(step, 7.0)
        assert wide >= ThreeNoises(target, Gaussian(1.0)).reach(step, 7.0)


@pytest.mark.parametrize("seed", range(5))
def test_z_and_y_move_no_farther_than_was_paid_for(seed):
    """The three moves of one step, from any point, against Δ, Δ and ρΔ."""
    entropy = Entropy.seeded(seed)
    x, z, y = entropy.normal(9).reshape(3, 3)
    target = Objective(Logistic(), 3, 1.0, 2.0, L1(0.7))
    moves = []
    for label in (1.0, -1.0):
        rows = table([[0.6, -0.8, 0.0], [0.1, 0.2, 0.3]], [label, 1.0])
        pull = x / 2 + RHO * z - y - clipped_gradient(target.loss, rows, C)(x) / 2
        there = pull / (0.5 + RHO + 1.0)
        split = target.nonsmooth_part.prox(there + y / RHO, 1 / (RHO * 2))
        moves.append((there, split, y + RHO * (there - split)))
    bound = 2 * C * ThreeNoises(Admm(target, RHO), Gaussian(1.0)).reach(2.0, 2.0)
    lengths = [float(np.linalg.norm(a - b)) for a, b in zip(*moves, strict=True)]
    assert lengths[0] <= bound * (1 + 1e-12)
    assert lengths[1] <= lengths[0] * (1 + 1e-12)
    assert lengths[2] <= RHO * lengths[0] * (1 + 1e-12)


@pytest.mark.parametrize("rho", [0.02, 0.5, 1.0, 3.0])
def test_x_z_and_y_move_together_no_farther_than_was_paid_for(rho):
    """Over many points, penalties and constraints; two of them attain the bound."""
    entropy, worst = Entropy.seeded(8), 0.0
    mechanism = PublishedMpAdmm(step=1.0, rho=rho)
    penalties = (None, L1(0.7), L1(1e6))
    for penalty, constraint in product(penalties, (None, L2Ball(0.5), Box(-0.3, 0.2))):
        for _ in range(40):
            x, other, y = entropy.normal(9).reshape(3, 3)
            split = [prox(penalty, constraint, one + y / rho, 0.4) for one in (x, other)]
            dual = [rho * (a - b) for a, b in zip((x, other), split, strict=True)]
            moves = (x - other, split[0] - split[1], dual[0] - dual[1])
            squares = sum(float(move @ move) for move in moves)
            worst = max(worst, squares / float((x - other) @ (x - other)))
    assert worst <= mechanism.growth * (1 + 1e-12)
    assert worst == pytest.approx(mechanism.growth)


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_one_record_moves_what_one_party_sends(relation):
    mechanism = DpAdmm(parties=3)
    entropy = Entropy.seeded(4)
    features = entropy.normal(24).reshape(12, 2) / 4
    target = np.ones(12)
    owners = mechanism._owners(12, relation, Entropy.seeded(5))
    assert set(owners.tolist()) == {0, 1, 2}
    if relation is REPLACE:
        assert owners.tolist() == [0, 1, 2] * 4
    sums = []
    for changed in (1.0, -1.0):
        rows = table(features, [*target[:-1], changed])
        parts = [rows.take(np.flatnonzero(owners == i)) for i in range(3)]
        sums.append([clipped_gradient(Logistic(), p, 0.05)(np.zeros(2)) for p in parts])
    moved = np.linalg.norm(np.array(sums[0]) - np.array(sums[1]), axis=1)
    assert (moved > 0).sum() == 1
    assert moved.max() == pytest.approx(0.1)
    alone = MpAdmm(mechanism.steps).calibrate(Objective(Logistic(), 2), BUDGET, relation)
    several = mechanism.calibrate(Objective(Logistic(), 2), BUDGET, relation)
    assert several.noise == alone.noise


CROWD = Records.of([[1.0]], [-1.0], 60)
STEEP = {
    ADD: ("among many", CROWD, CROWD.plus([1.0], 1.0)),
    REPLACE: ("among many", CROWD.plus([1.0], -1.0), CROWD.plus([1.0], 1.0)),
}
"""Among many of the other label, one record whose slope is nearly 1."""


class TwoTurns:
    """What the check of two looks asks of a mechanism, for two turns of ADMM."""

    def __init__(self, turns):
        self.mechanism = AdmmObjectivePerturbation(turns)
        self.look = self.mechanism.look

    def calibrate(self, target, budget, neighbours):
        found = self.mechanism.calibrate(target, budget, neighbours)
        return SimpleNamespace(first=found.inner, whole=found)

    def weights(self, _, point):
        return point

    def _second(self, calibration, _):
        return calibration.first

    def tilt(self, calibration, point):
        z, u = calibration.whole.split(point, np.zeros(1))
        return calibration.whole.rho * (u - z)


@pytest.mark.parametrize(
    ("budget", "least"),
    [
        (Pure(1), 0.3),
        pytest.param(Zcdp("0.1"), 0.05, marks=pytest.mark.slow),
        pytest.param(BUDGET, 0.1, marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "relation", [ADD, pytest.param(REPLACE, marks=pytest.mark.slow)], ids=str
)
def test_two_turns_of_objective_perturbation_keep_the_budget(budget, relation, least):
    pairs = list({ADD: add_remove_pairs, REPLACE: replace_pairs}[relation]("logistic"))
    target = objective("logistic", l2=1.0, penalty=L1(0.8))
    chosen = [*pairs[::7][:2], STEEP[relation]]
    worst = share_of_claim(TwoTurns(2), target, budget, relation, chosen)
    if relation is ADD:
        assert worst >= least


def test_a_second_turn_that_is_not_paid_for_would_be_noticed():
    pairs = list(add_remove_pairs("logistic"))[::7][:2]
    target = objective("logistic", l2=1.0, penalty=L1(0.8))
    with pytest.raises(AssertionError):
        share_of_claim(TwoTurns(1), target, Pure(1), ADD, pairs)


def test_a_step_on_a_sample_is_calibrated_beside_the_count():
    """Poisson batches under add-remove: the events compose to the budget, and barely."""
    mechanism = SsAdmm(epochs=2, rate=Fraction(1, 10), clip=0.5)
    found = mechanism.calibrate(Objective(Logistic(), 2), Approx(1, 1e-5), ADD)
    steps, count = found.events
    assert (steps.steps, steps.sampling) == (20, "poisson")
    assert found.noise.scale == pytest.approx(0.5 * steps.multiplier * (1 + BATCH_SLACK))
    assert 0.999 < float(compose((steps, count), "1e-5").epsilon) <= 1
