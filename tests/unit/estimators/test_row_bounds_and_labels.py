"""Ways in which a release once could have said more than it promised."""

import numpy as np
import pytest
from scipy import sparse

from confide import Approx, MultiResponseRegression, Pure, SparseLinearRegression
from confide.data import EntryBounds, bound_entries
from confide.errors import ConfideError, UnmetNeeds
from confide.mechanisms import MECHANISMS
from confide.noise import Entropy, TruncatedNegativeBinomial, generator
from confide.objectives import Clipped, Objective, Squared
from confide.privacy import Neighbours
from confide.selection import HardThresholding, ScreeningSelector, SelectThenFit

SEVERAL = {"momentum", "sgd", "ssadmm", "mpadmm", "mpadmm-published", "dp-admm"}
CONFIGURED = {
    "select": SelectThenFit(ScreeningSelector(2)),
    "thresholding": HardThresholding(2),
}


def mechanism(name):
    return CONFIGURED.get(name) or MECHANISMS[name]()


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - SEVERAL))
def test_noise_for_one_target_is_not_shared_by_several(name):
    objective = Objective(Clipped(Squared(), 1.0), 8, target_bound=1.0, responses=2)
    for budget in (Pure(1), Approx(1, 1e-6)):
        with pytest.raises(ConfideError) as refusal:
            mechanism(name).calibrate(objective, budget, Neighbours.ADD_REMOVE)
        one_target = "a single target per record" in str(refusal.value)
        assert one_target or not isinstance(refusal.value, UnmetNeeds)
    with pytest.raises(ConfideError):
        MultiResponseRegression(
            Approx(1, 1e-6), target_bound=1.0, mechanism=mechanism(name), row_norm=1.0
        ).fit(np.eye(4), np.ones((4, 2)))


@pytest.mark.parametrize("name", ["ssp", "adassp", "momentum"])
def test_a_table_with_one_target_is_that_target(name):
    draw = generator(3)
    rows = draw.uniform(-0.5, 0.5, (300, 3))
    target = rows @ np.array([[0.5], [0.2], [-0.4]])
    model = MultiResponseRegression(
        Approx(1, 1e-6), target_bound=1.0, mechanism=name, random_state=1, row_norm=1.0
    ).fit(rows, target)
    assert model.coef_.shape == (1, 3)
    assert model.predict(rows).shape == (300, 1)


def doubled():
    """Return a matrix that holds a thousand ones at one place."""
    places = np.zeros(1000, dtype=int)
    return sparse.csr_array(
        (np.ones(1000), places, np.array([0, 1000, 1000])), shape=(2, 3)
    )


@pytest.mark.parametrize(
    "bounds", [EntryBounds(1.0), EntryBounds.scaled(2, 1.0)], ids=["clipped", "scaled"]
)
def test_entries_held_twice_are_bounded_by_their_sum(bounds):
    matrix = doubled()
    features, _ = bound_entries(matrix, np.zeros(2), bounds, 0.0).plain()
    assert np.abs(np.asarray(features.todense())).max() <= bounds.most * (1 + 1e-12)
    assert len(matrix.data) == 1000


def test_a_fit_does_not_tell_how_often_an_entry_is_held():
    draw = generator(5)
    dense = draw.uniform(-1, 1, (200, 6))
    target = np.clip(dense[:, 0], -1, 1)
    dense[0] = 0.0
    heavy = sparse.csr_array(
        (
            np.append(sparse.csr_array(dense[1:]).data, np.ones(5000)),
            np.append(sparse.csr_array(dense[1:]).indices, np.full(5000, 3)),
            np.append(sparse.csr_array(dense[1:]).indptr, 199 * 6 + 5000),
        ),
        shape=(200, 6),
    )
    once = heavy.todense()
    once[-1, 3] = 1.0
    fits = [
        SparseLinearRegression(Pure(5), size=2, target_bound=1.0, random_state=2)
        .fit(rows, np.roll(target, -1))
        .coef_
        for rows in (heavy, sparse.csr_array(once))
    ]
    np.testing.assert_allclose(*fits, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("shape", "mean"), [(100, 100), (20, 1000), (1, 5), (0, 3)])
def test_the_number_of_runs_has_its_mean(shape, mean):
    """400 draws: the average is within five standard errors (a chance of 1e-6)."""
    law = TruncatedNegativeBinomial.of_mean(shape, mean)
    entropy = Entropy.seeded(4)
    drawn = np.array([law.draw(entropy) for _ in range(400)])
    assert abs(drawn.mean() - mean) < 5 * drawn.std() / 20
