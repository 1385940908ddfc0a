import math

import numpy as np
import pytest

from confide import NoiseChanged
from confide.attacks import Records, exact_pair, hockey_stick, max_log_ratio
from confide.mechanisms import ObjectivePerturbation
from confide.mechanisms.objective import calibration as rules
from confide.mechanisms.objective.minimiser import LEAST_NOISE, LINEAR_SHARE
from confide.mechanisms.tolerance import certain_tolerance
from confide.noise import Gaussian
from confide.objectives import (
    L1,
    Box,
    GroupL2,
    L1Ball,
    L2Ball,
    Nonnegative,
    Objective,
    Poisson,
    Squared,
)
from confide.objectives.proximal import prox_jacobian
from confide.privacy import (
    Approx,
    Neighbours,
    Pure,
    Zcdp,
    gaussian_delta,
    gaussian_mu,
)
from support.cases import LOSSES, add_remove_pairs, objective, plane_pairs, replace_pairs
from support.checks import (
    GRID_ERROR,
    joint_delta,
    largest_delta,
    largest_loss,
    largest_renyi,
)

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
every_loss = pytest.mark.parametrize("name", sorted(LOSSES))

SLOW = pytest.mark.slow


LOOSE = {
    ("clipped-poisson", ADD): 0.56,
    ("clipped-poisson", REPLACE): 0.81,
    ("logistic", REPLACE): 0.49,
}
"""Where losses stay below what is claimed, whatever the pair: measured 0.568 or more for
clipped Poisson losses (0.813 under replace-one), and 0.500 for the logistic loss, whose
theorem counts a replacement as two shifts. Elsewhere 0.999 or more is attained."""


@every_loss
@pytest.mark.parametrize(("epsilon", "ridge"), [(1.0, None), (3.0, 1.0), (0.3, 30.0)])
def test_pure_add_remove_holds_and_is_attained(name, epsilon, ridge):
    """The logistic loss is not attained at a ridge of 30: 0.9678 of it is."""
    least = 0.96 if (name, ridge) == ("logistic", 30.0) else LOOSE.get((name, ADD), 0.99)
    if name == "narrow-hinge" and ridge is not None:
        ridge *= 2
    worst = largest_loss(
        objective(name, l2=ridge), Pure(epsilon), ADD, add_remove_pairs(name)
    )
    assert worst > least


def test_pure_logistic_add_remove_is_tight():
    worst = largest_loss(objective("logistic"), Pure(1), ADD, add_remove_pairs("logistic"))
    assert worst > 0.999


@every_loss
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_pure_replace_one_holds(name, epsilon):
    worst = largest_loss(objective(name), Pure(epsilon), REPLACE, replace_pairs(name))
    assert worst > LOOSE.get((name, REPLACE), 0.99)


@every_loss
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1.0, 1e-5), *(pytest.param(*b, marks=SLOW) for b in ((0.3, 1e-3), (2.0, 1e-2)))],
)
def test_gaussian_add_remove_holds(name, epsilon, delta):
    pairs = list(add_remove_pairs(name))
    largest_delta(objective(name), Approx(epsilon, delta), ADD, pairs)
    if name == "logistic":
        return  # its tightness has a test of its own
    ample = objective(name, l2=60 * objective(name).smoothness / epsilon)
    assert largest_delta(ample, Approx(epsilon, delta), ADD, pairs) > 0.25


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"),
    [(1.0, 1e-5, 0.999), (0.3, 1e-3, 0.92), (2.0, 1e-6, 0.999)],
)
def test_gaussian_logistic_is_exactly_a_gaussian_mechanism(epsilon, delta, least):
    """Measured 0.99998, 0.9238 and 1.0000 of the claimed delta."""
    pairs = list(add_remove_pairs("logistic"))
    worst = largest_delta(objective("logistic"), Approx(epsilon, delta), ADD, pairs)
    assert worst > least


@pytest.mark.parametrize("ridge", [0.35, 0.5, 0.7])
def test_logistic_below_the_free_ridge_pays_for_its_log_determinant(ridge):
    budget = Approx(1, 1e-3)
    pairs = list(add_remove_pairs("logistic"))
    largest_delta(objective("logistic", l2=ridge), budget, ADD, pairs)
    mechanism = ObjectivePerturbation(noise="gaussian")
    free = mechanism.calibrate(objective("logistic"), budget, ADD).noise.scale
    paid = mechanism.calibrate(objective("logistic", l2=ridge), budget, ADD).noise.scale
    assert paid > free


@every_loss
def test_gaussian_replace_one_holds_on_the_line(name):
    pairs = list(replace_pairs(name))
    largest_delta(objective(name), Approx(1, 1e-4), REPLACE, pairs)
    if name != "logistic":
        ample = objective(name, l2=60 * objective(name).smoothness)
        assert largest_delta(ample, Approx(1, 1e-4), REPLACE, pairs) > 1e-3


@pytest.mark.slow
@every_loss
@pytest.mark.parametrize("budget", [Approx(1, 1e-3), Pure(1)], ids=str)
def test_replace_one_holds_in_the_plane(name, budget):
    pairs = [("plane", a, b) for a, b in plane_pairs(name)]
    target = objective(name, dimension=2)
    if isinstance(budget, Pure):
        mechanism = ObjectivePerturbation()
        calibration = mechanism.calibrate(target, budget, REPLACE)
        for _, a, b in pairs:
            p, q = exact_pair(calibration.objective, calibration.noise, a, b, 301)
            assert max_log_ratio(p, q) <= 0.99 * (1 + 1e-6)
    else:
        largest_delta(target, budget, REPLACE, pairs, points=401, slack=0.03)


@pytest.mark.slow
def test_gdp_form_of_the_logistic_theorem_in_the_plane():
    """With l2 >= 2 sigma² replace-one is (2X/sigma)-GDP at every epsilon."""
    sigma = 1.5
    target = objective("logistic", dimension=2, l2=2 * sigma**2)
    for a, b in plane_pairs("logistic"):
        p, q = exact_pair(target, Gaussian(sigma), a, b, 401)
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            claim = gaussian_delta(epsilon, 2 / sigma)
            assert hockey_stick(p, q, epsilon) <= claim * (1 + GRID_ERROR)


@pytest.mark.slow
@pytest.mark.parametrize("analysis", ["separate", "kst"])
@every_loss
def test_published_analyses_hold_too(name, analysis):
    pairs = list(add_remove_pairs(name))
    largest_loss(objective(name), Pure(1), ADD, pairs, analysis)
    largest_delta(objective(name), Approx(1, 1e-4), ADD, pairs, analysis)


@pytest.mark.parametrize("name", ["logistic", "huberized-hinge", "huber"])
@pytest.mark.parametrize(
    "extra",
    [
        {"penalty": L1(0.7)},
        {"constraint": Box(-0.4, 0.8)},
        {"penalty": L1(0.3), "constraint": Box(-0.5, 0.5)},
    ],
    ids=["l1", "box", "l1-box"],
)
def test_kinks_and_constraints_keep_the_guarantee(name, extra):
    target = objective(name, **extra)
    pairs = list(add_remove_pairs(name))
    largest_loss(target, Pure(1), ADD, pairs)
    largest_delta(target, Approx(1, 1e-3), ADD, pairs)


@pytest.mark.parametrize(
    ("loss", "bound", "labels"),
    [(Squared(), 1.0, (-1.0, 1.0)), (Poisson(), 2.0, (0.0, 2.0))],
    ids=["squared", "poisson"],
)
def test_losses_bounded_by_a_constraint_keep_the_guarantee(loss, bound, labels):
    target = Objective(loss, 1, 1.0, constraint=Box(-0.8, 0.8), target_bound=bound)
    base = Records.of([[1.0], [0.5]], list(labels))
    more = [base.plus([x], y) for x in (1.0, -1.0, 0.3) for y in labels]
    pairs = [("in", m, base) for m in more] + [("out", base, m) for m in more]
    largest_loss(target, Pure(1), ADD, pairs)
    largest_delta(target, Approx(1, 1e-3), ADD, pairs)
    swaps = [("swap", a, b) for a in more for b in more]
    largest_loss(target, Pure(1), REPLACE, swaps)


@pytest.mark.slow
def test_grids_integrate_to_one():
    for name in LOSSES:
        calibration = ObjectivePerturbation().calibrate(objective(name), Pure(1), ADD)
        for _, a, b in add_remove_pairs(name):
            p, _ = exact_pair(calibration.objective, calibration.noise, a, b)
            assert np.isclose(p.mass, 1, atol=GRID_ERROR)


@pytest.mark.slow
@every_loss
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
def test_zcdp_holds_at_every_order(name, relation):
    pairs = list((add_remove_pairs if relation is ADD else replace_pairs)(name))
    orders = (1.01, 1.5, 2.0, 8.0, 64.0)
    largest_renyi(objective(name), Zcdp(0.05), relation, pairs, orders)
    wide = objective(name, l2=80 * objective(name).smoothness)
    assert largest_renyi(wide, Zcdp(0.05), relation, pairs, orders) > 0.05


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("part", [0.32, 0.45, 0.5])
def test_zcdp_holds_for_gaussian_noise_at_small_ridges(part, relation):
    """The log-determinant alone exceeds rho here: the sharper bound near order 1 counts."""
    rho, orders = 0.05, (1.01, 1.5, 2.0, 8.0, 64.0)
    target = objective("logistic", l2=part * relation.shifts / math.sqrt(2 * rho))
    assert math.log1p(target.smoothness / target.strong_convexity) > rho
    fixed = ObjectivePerturbation().calibrate(target, Zcdp(rho), relation)
    assert fixed.noise.kind == "gaussian"
    pairs = list((add_remove_pairs if relation is ADD else replace_pairs)("logistic"))
    assert largest_renyi(target, Zcdp(rho), relation, pairs, orders) > 0.15


ORDERS = (1.01, 1.5, 3.0, 10.0)


@pytest.mark.parametrize(("l2", "least"), [(4.0, 0.3), (16.0, 0.9)])
def test_counting_a_record_alpha_times_bounds_divergences(l2, least):
    """Clipped squares have curvature where they are steep; of a large ridge nearly all
    of rho is noise."""
    pairs = list(add_remove_pairs("huber"))
    target = objective("huber", l2=l2)
    assert largest_renyi(target, Zcdp("0.05"), ADD, pairs, ORDERS) > least


def test_forgetting_curvature_in_divergences_would_be_noticed(monkeypatch):
    def noise_alone(target, sigma):
        return [rules.ORDERS * target.lipschitz**2 / sigma**2 / 2] * 2

    monkeypatch.setattr(rules, "_tilted_renyi", noise_alone)
    rules.zcdp.cache_clear()
    pairs = list(add_remove_pairs("huber"))
    with pytest.raises(AssertionError):
        largest_renyi(objective("huber", l2=4.0), Zcdp("0.05"), ADD, pairs, ORDERS)
    rules.zcdp.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize("budget", [Zcdp("0.125"), Approx(1, 1e-6)], ids=repr)
def test_noise_grows_without_jumps_as_the_ridge_shrinks(budget, relation):
    noises = []
    for ridge in np.geomspace(20.0, 1.4, 40):
        target = objective("logistic", dimension=105, l2=float(ridge))
        noises.append(ObjectivePerturbation().calibrate(target, budget, relation).noise)
    lengths = np.array([noise.deviation(105) for noise in noises])
    assert len({noise.kind for noise in noises}) == 1
    assert np.all(np.diff(lengths) >= -1e-3 * lengths[1:])
    assert np.all(lengths[1:] <= 1.25 * lengths[:-1])


def test_a_ridge_that_changes_the_kind_of_noise_is_named_beforehand():
    budget, relation, mechanism = Zcdp("0.125"), REPLACE, ObjectivePerturbation()
    small = objective("logistic", dimension=50, l2=0.42)
    with pytest.warns(NoiseChanged, match=r"l2 = 0\.42 .* 'auto'"):
        found = mechanism.calibrate(small, budget, relation)
    assert found.noise.kind == "spherical-laplace"
    usual = mechanism.calibrate(objective("logistic", dimension=50), budget, relation)
    assert usual.noise.kind == "gaussian"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "huberized-hinge"])
def test_two_objectives_on_the_same_records_share_the_budget(name):
    """One-vs-rest: the record enters one coding as positive, the other as negative."""
    base = Records.of([[1.0], [0.5]], [1.0, -1.0])
    empty = Records.of(np.zeros((0, 1)), [])
    pairs = []
    for ground in (empty, base):
        more = (ground.plus([1.0], 1.0), ground.plus([1.0], -1.0))
        pairs += [(more, (ground, ground)), ((ground, ground), more)]
    joint_delta(objective(name), Approx(1, 1e-3), ADD, pairs)
    worst = joint_delta(objective(name, l2=8.0), Approx(1, 1e-3), ADD, pairs)
    assert worst > 1e-3


@pytest.mark.parametrize("name", ["logistic", "huberized-hinge", "huber"])
def test_replace_one_also_covers_a_record_replaced_by_none(name):
    """A row whose target goes missing is dropped: its neighbour has one record less."""
    pairs = list(add_remove_pairs(name))
    largest_loss(objective(name), Pure(1), REPLACE, pairs)
    largest_delta(objective(name), Approx(1, 1e-3), REPLACE, pairs)


@pytest.mark.parametrize("ridge", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("copies", [1, 3])
def test_the_second_noise_pays_for_the_tolerance_it_is_solved_to(ridge, copies):
    budget = Zcdp(40)
    mechanism = ObjectivePerturbation()
    found = mechanism.calibrate(
        objective("logistic", dimension=3, l2=ridge), budget, ADD, copies=copies
    )
    share = 2.5e-11 * min(max(1, ridge), 40) * found.objective.lipschitz
    finest = certain_tolerance(found.objective)
    assert finest <= found.tolerance <= share / min(ridge, 1) * (1 + 1e-12)
    reach = 2 * (1 + LINEAR_SHARE) * found.tolerance
    rho = copies * (reach / found.solver_noise.scale) ** 2 / 2
    paid = float(budget.rho * mechanism.precision_share)
    assert rho < paid * (1 + 1e-6)
    assert rho == pytest.approx(paid) or found.solver_noise.scale == LEAST_NOISE


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize(
    "budget",
    [Approx(e, d) for e in (0.3, 1, 4) for d in (1e-6, 1e-3)]
    + [Zcdp(r) for r in ("0.005", "0.1", "2")],
    ids=repr,
)
def test_the_automatic_ridge_of_the_logistic_loss_costs_little_noise(budget, relation):
    """Noise near to what a shift alone would need, without the theorem's ridge.

    Within 1 %; under zCDP within 11 %, for half of the ridge that would cost 3 %.
    """
    mechanism = ObjectivePerturbation(coef_norm_guess=1e6, noise="gaussian")
    fixed = mechanism.calibrate(objective("logistic", dimension=3), budget, relation)
    main = budget.share(1 - mechanism.precision_share)
    if isinstance(main, Zcdp):
        mu = math.sqrt(2 * float(main.rho))
    else:
        mu = gaussian_mu(float(main.epsilon), float(main.delta))
    least = relation.shifts * fixed.objective.lipschitz / mu
    assert fixed.noise.kind == "gaussian"
    assert fixed.noise.scale <= (1.11 if isinstance(main, Zcdp) else 1.01) * least


@pytest.mark.parametrize("seed", range(40))
def test_a_record_moves_the_determinant_with_a_subgradient_no_more_than_without(seed):
    """det(ΛI + (A + φ″xxᵀ)J)/det(ΛI + AJ) for derivatives J of proximal maps."""
    rng = np.random.default_rng(seed)
    size, ridge, curvature = 6, float(rng.uniform(0.1, 3)), float(rng.uniform(0, 0.25))
    kink = (None, L1(0.4), GroupL2(0.5, ((0, 1, 2), (4, 5))))[seed % 3]
    constraint = (None, L2Ball(1.0), L1Ball(1.5), Box(-0.3, 0.5), Nonnegative())[seed % 5]
    bend = prox_jacobian(kink, constraint, 2 * rng.normal(size=size), ridge)
    if bend is None:
        bend = np.eye(size)
    rows = rng.normal(size=(20, size))
    row = rng.normal(size=size)
    before = rows.T @ (rng.uniform(0, 0.25, (20, 1)) * rows)
    after = before + curvature * np.outer(row, row)
    ratio = np.linalg.det(ridge * np.eye(size) + after @ bend) / np.linalg.det(
        ridge * np.eye(size) + before @ bend
    )
    assert 1 - 1e-9 <= ratio <= 1 + curvature * row @ row / ridge + 1e-9
