"""Which table made this double? An attacker who knows all rows but one asks the sampler.

The noise of a theorem reaches every number from every table. Noise in doubles does not:
from a centre c the sampler reaches fl(c + z) for its own doubles z alone. A release that
can be reached from the table with a row, and not from the table without it, gives the row
away (Mironov 2012; Haney and others 2022). All draws are seeded, so a test that passes
goes on passing; with fresh draws each would fail by chance as often as it says.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri
from sklearn.base import BaseEstimator

from confide import Approx, LogisticRegression, Pure, Zcdp
from confide.data import bound_rows
from confide.data.matrix.sums import MAX_ROWS
from confide.mechanisms import (
    AdaptiveObjectivePerturbation,
    AdmmObjectivePerturbation,
    MomentRelease,
    MomentumDescent,
    ObjectivePerturbation,
    OutputPerturbation,
)
from confide.mechanisms.gradient.clipped_gradient import clipped_gradient
from confide.mechanisms.gradient.noisy_gradient import noisy_gradient
from confide.mechanisms.intervals.moments import sensitivity, sums
from confide.mechanisms.objective.minimiser import perturbed_minimiser
from confide.noise import Entropy
from confide.noise.lattice import grid_for
from confide.objectives import L1, Logistic, Objective
from confide.privacy import Neighbours, Status
from confide.solvers import minimise
from confide.tuning.random_stopping import RandomStopping
from confide.tuning.scores import Score, SearchTable

ADD = Neighbours.ADD_REMOVE
BUDGET = Approx(1, 1e-6)
NEAR = np.arange(-150, 151)
"""Uniforms so many doubles away from the right one are tried: rounding moved it."""
DEVIATIONS = 5
"""Two counts that differ by more are not chance: false alarm 6e-7."""


def near(uniform):
    inside = np.clip(uniform, 2.0**-60, 1 - 2.0**-53)
    around = (inside[..., None].view(np.int64) + NEAR).view(np.float64)
    return np.minimum(around, 1 - 2.0**-53)


def normals(noise, scale):
    """Return what the sampler can draw next to some noise, a line for each number."""
    sign = np.where(noise >= 0, -1.0, 1.0)[..., None]
    return scale * (sign * ndtri(near(2 * ndtr(-np.abs(noise) / scale)) / 2))


def exponentials(noise, scale):
    """The same for the length of spherical Laplace noise on a line, with its sign."""
    sizes = scale * -np.log(near(np.exp(-np.abs(noise) / scale)))
    return np.where(noise >= 0, 1.0, -1.0)[..., None] * sizes


def reached(value, centre, scale, draws=normals):
    """Return for every number whether some draw of the sampler takes the centre to it."""
    return ((centre[..., None] + draws(value - centre, scale)) == value[..., None]).any(-1)


def two_tables(count, columns):
    rng = np.random.default_rng(5)
    features = rng.normal(size=(count, columns))
    features /= 1.001 * np.linalg.norm(features, axis=1, keepdims=True)
    target = np.where(features[:, 0] + rng.normal(size=count) / 3 > 0, 1.0, -1.0)
    return (features, target), (features[1:], target[1:])


def rows_of(table):
    return bound_rows(*table, 1.0, 0.0)


def accusations(draw, tables, accuses, count):
    """Return how often "the row is there" is said: of releases with it, and without."""
    return [sum(bool(accuses(draw(table))) for _ in range(count)) for table in tables]


def has_advantage(said, count):
    return abs(said[0] - said[1]) > DEVIATIONS * math.sqrt(count / 2)


def by_centres(centres, scale):
    """Accuse where all of a value is reached from the first centre, not from the second."""

    def accuses(value):
        first, second = (reached(value, centre, scale).all() for centre in centres)
        return first and not second

    return accuses


def test_the_attack_works_where_doubles_are_added_to_doubles():
    rng = np.random.default_rng(1)
    centres = [rng.normal(size=10), rng.normal(size=10)]

    def draw(centre):
        uniform = (rng.integers(0, 2**64, 10, dtype=np.uint64) + 0.5) * 2.0**-64
        return centre + 2.0 * (rng.choice([-1.0, 1.0], 10) * ndtri(uniform / 2))

    assert accusations(draw, centres, by_centres(centres, 2.0), 40) == [40, 0]


def test_whoever_can_be_read_off_the_output_is_not_promised_more():
    """An attack on the default way to fit with mechanism="output", from outside."""
    tables = two_tables(300, 9)
    seeds = iter(range(1000))

    def model():
        return LogisticRegression(
            BUDGET,
            classes=[-1.0, 1.0],
            mechanism="output",
            random_state=next(seeds),
            row_norm=1.0,
        )

    def centre(table):
        ready = model()._prepare(*table)
        plan = ready.calibration
        start = np.zeros(plan.objective.dimension)
        found = minimise(plan.objective, *ready.tasks, start, plan.tolerance)
        return found.theta, plan.noise

    (with_row, noise), (without, _) = map(centre, tables)
    accuses = by_centres([with_row, without], noise.scale)
    said = accusations(lambda t: model().fit(*t).release_.value, tables, accuses, 40)
    status = model().fit(*tables[0]).release_.guarantee.status
    assert status is not Status.PROVED or not has_advantage(said, 40)


def test_moments_give_nobody_away():
    tables = two_tables(20, 10)
    point = np.zeros(10)
    moments = MomentRelease()
    plan = moments.calibrate(Objective(Logistic(), 10, l2=1.0), BUDGET, ADD)
    scale = plan.parts[0].scale * sensitivity(plan, 0.0)
    centres = [np.diag(sums(plan.objective, rows_of(t), point)[0]) for t in tables]
    entropy = Entropy.seeded(3)

    def draw(table):
        (found,) = plan.release([point], [rows_of(table)], entropy)
        return np.diag(found.curvature)

    said = accusations(draw, tables, by_centres(centres, scale), 40)
    features, target = two_tables(300, 3)[0]
    model = LogisticRegression(BUDGET, classes=[-1.0, 1.0], intervals=True, row_norm=1.0)
    assert model.rehearse(features, target).guarantee.status is Status.PROVED
    assert not has_advantage(said, 40)


def pull(table, value):
    features, target = table
    return features.T @ (-target * expit(-target * (features @ value)))


def by_linear_term(tables, needed, scale, draws=normals):
    """Accuse where more of the linear term that a table needs is the sampler's own.

    Objective perturbation has no centre: the minimiser moves with its noise. What a table
    needs to have made a value is read off the gradient there.
    """

    def accuses(value):
        terms = [needed(table, value) for table in tables]
        hits = [reached(term, np.zeros_like(term), scale, draws).sum() for term in terms]
        return hits[0] > hits[1]

    return accuses


@pytest.mark.parametrize("budget", [BUDGET, Zcdp(0.1), Pure(1)], ids=str)
def test_the_default_gives_nobody_away(budget):
    """False alarm 6e-7. On a line the noise of a pure budget is one exponential."""
    columns = 1 if isinstance(budget, Pure) else 10
    draws = exponentials if isinstance(budget, Pure) else normals
    tables = two_tables(300, columns)
    mechanism, entropy = ObjectivePerturbation(), Entropy.seeded(7)
    plan = mechanism.calibrate(Objective(Logistic(), columns), budget, ADD)
    assert plan.status is Status.PROVED

    def needed(table, value):
        return -(pull(table, value) + plan.objective.l2 * value)

    accuses = by_linear_term(tables, needed, plan.noise.scale, draws)
    said = accusations(
        lambda t: plan.release([rows_of(t)], entropy).value, tables, accuses, 200
    )
    assert not has_advantage(said, 200)


def test_objective_perturbation_in_a_turn_of_admm_gives_nobody_away():
    """False alarm 6e-7."""
    tables = two_tables(300, 10)
    mechanism, entropy = AdmmObjectivePerturbation(turns=1), Entropy.seeded(8)
    plan = mechanism.calibrate(Objective(Logistic(), 10), BUDGET, ADD)
    assert plan.status is Status.PROVED

    def needed(table, value):
        return -(pull(table, value) + plan.inner.objective.l2 * value)

    accuses = by_linear_term(tables, needed, plan.noise.scale)
    said = accusations(
        lambda t: plan.release([rows_of(t)], entropy).value, tables, accuses, 200
    )
    assert not has_advantage(said, 200)


def test_a_second_look_gives_nobody_away():
    """False alarm 6e-7, though the attacker is handed the first look as well."""
    tables = two_tables(300, 10)
    mechanism, entropy = AdaptiveObjectivePerturbation(), Entropy.seeded(9)
    objective = Objective(Logistic(), 10, penalty=L1(1.0))
    plan = mechanism.calibrate(objective, BUDGET, ADD)
    assert plan.status is Status.PROVED

    def draw(table):
        rows = rows_of(table)
        rough = perturbed_minimiser(plan.first, rows, entropy)
        weights, tilt = mechanism.weights(plan, rough), mechanism.tilt(plan, rough)
        final = replace(plan.objective, penalty=L1(tuple(weights.tolist())))
        second = replace(plan, objective=final)
        return perturbed_minimiser(second, rows, entropy, tilt), weights, tilt

    def accuses(found):
        value, weights, tilt = found
        kept = value != 0
        fixed = plan.objective.l2 * value + tilt + weights * np.sign(value)
        terms = [-(pull(table, value) + fixed)[kept] for table in tables]
        scale = plan.noise.scale
        hits = [reached(term, np.zeros_like(term), scale).sum() for term in terms]
        return hits[0] > hits[1]

    assert not has_advantage(accusations(draw, tables, accuses, 200), 200)


def test_an_advantage_would_be_noticed():
    assert has_advantage([40, 0], 40)
    assert has_advantage([150, 60], 200)
    assert not has_advantage([105, 95], 200)


def test_output_perturbation_on_a_line_is_not_promised_more():
    """Spherical Laplace noise, rounded once more where it is given its direction."""
    tables = two_tables(300, 1)
    mechanism, entropy = OutputPerturbation(), Entropy.seeded(11)
    plan = mechanism.calibrate(Objective(Logistic(), 1), Pure(1), ADD)
    start = np.zeros(1)
    centres = [
        minimise(plan.objective, rows_of(t), start, plan.tolerance).theta for t in tables
    ]

    def accuses(value):
        scale = plan.noise.scale
        first, second = (reached(value, c, scale, exponentials)[0] for c in centres)
        return first and not second

    said = accusations(
        lambda t: plan.release([rows_of(t)], entropy).value, tables, accuses, 400
    )
    assert plan.status is not Status.PROVED or not has_advantage(said, 400)


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_a_noisy_gradient_gives_nobody_away(relation):
    """The first sum that leaves the rows; in doubles it would name the row every time."""
    first, second = two_tables(300, 10)
    if relation is Neighbours.REPLACE_ONE:
        second = first[0] * np.where(np.arange(300) == 0, -1.0, 1.0)[:, None], first[1]
    start, entropy = np.zeros(10), Entropy.seeded(12)
    plan = MomentumDescent(1).calibrate(Objective(Logistic(), 10), BUDGET, relation)
    assert plan.status is Status.PROVED
    rows = [rows_of(first), rows_of(second)]
    centres = [clipped_gradient(Logistic(), one, plan.clip)(start) for one in rows]
    accuses = by_centres(centres, plan.noise.scale)

    def draw(one):
        return noisy_gradient(plan, one, entropy)(start)

    assert not has_advantage(accusations(draw, rows, accuses, 200), 200)

    def in_doubles(centre):
        return centre + plan.noise.draw(10, entropy)

    assert has_advantage(accusations(in_doubles, centres, accuses, 200), 200)


def released_scores(plan, table, entropy, count):
    """Run a search whose candidates do nothing; return its scores and their lattice."""
    score = Score(0.3, lambda model, features, actual: features[:, 0])
    candidates = [Idle(), Idle()]
    found = [plan.run(candidates, table, score, ADD, entropy).score for _ in range(count)]
    return np.array(found), grid_for(plan.noise(0.3).scale, MAX_ROWS * 0.3)


class Idle(BaseEstimator):
    """A candidate that takes no notice of its rows."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, features, target):
        return self


@pytest.mark.parametrize("budget", [Pure(9), Approx(4, 1e-6)], ids=str)
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_scores_of_a_search_lie_on_one_lattice(budget, relation):
    """Also those of no rows at all, of one, and of losses that add up to no short sum."""
    plan = RandomStopping(runs=3).plan(budget, 2, 1)
    losses = np.random.default_rng(1).uniform(0, 0.3, (40, 1))
    other = losses if relation is ADD else np.vstack([[[0.0]], losses[1:]])
    entropy = Entropy.seeded(21)
    for rows in (losses, other[1:] if relation is ADD else other, losses[:1], losses[:0]):
        table = SearchTable(rows, np.zeros(len(rows)))
        scores, grid = released_scores(plan, table, entropy, 40)
        assert (scores / grid == np.rint(scores / grid)).all()


@pytest.mark.parametrize("budget", [Pure(9), Approx(4, 1e-6)], ids=str)
def test_the_score_of_a_search_gives_nobody_away(budget):
    """False alarm 6e-7."""
    plan = RandomStopping(runs=3).plan(budget, 2, 1)
    draws = exponentials if isinstance(budget, Pure) else normals
    losses = np.array([[0.29], [1e-5]])
    tables = [SearchTable(rows, np.zeros(len(rows))) for rows in (losses, losses[1:])]
    centres = [np.array([-math.fsum(rows)]) for rows in (losses[:, 0], losses[1:, 0])]
    entropy, scale = Entropy.seeded(22), plan.noise(0.3).scale

    def accuses(value):
        first, second = (reached(value, c, scale, draws)[0] for c in centres)
        return first and not second

    def draw(table):
        return released_scores(plan, table, entropy, 1)[0]

    assert not has_advantage(accusations(draw, tables, accuses, 200), 200)


@pytest.mark.parametrize("budget", [Pure(9), Approx(4, 1e-6)], ids=str)
def test_scores_with_noise_in_doubles_would_give_people_away(budget, monkeypatch):
    monkeypatch.setattr(
        "confide.tuning.random_stopping.publish",
        lambda centre, noise, entropy, _: centre + noise.draw(len(centre), entropy),
    )
    with pytest.raises(AssertionError):
        test_scores_of_a_search_lie_on_one_lattice(budget, ADD)
    with pytest.raises(AssertionError):
        test_the_score_of_a_search_gives_nobody_away(budget)
