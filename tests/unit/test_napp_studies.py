"""The NAPP studies compute what `mechanisms.Napp` would, for many fits at once."""

import math

import numpy as np
import pytest

from confide.data import enclose
from confide.mechanisms import Napp, NappTarget
from confide.mechanisms.napp_path import settled
from confide.mechanisms.napp_retrieval import Shares
from confide.noise import Entropy, generator
from confide.privacy import Approx, Neighbours, Pure
from confide.studies.napp_batch import Fits, Table, retrieved
from confide.studies.napp_population import SETTINGS
from confide.studies.napp_trial import VARIANTS, draw_above

STRENGTHS = (0.3, 3.0, 12.0)


def batch_of(setting, budget, variant, seed, data):
    """Return fits whose noise is the one that a seeded release draws."""
    mechanism = variant.mechanism
    plan = mechanism.calibrate(setting.objective, budget, Neighbours.ADD_REMOVE)
    size, entropy = setting.objective.dimension, Entropy.seeded(seed)
    if variant.truncated:
        linear = draw_above(plan.noise, size, entropy)
    else:
        linear = plan.noise.draw(size, entropy)
    floor = plan.objective.strong_convexity / 2
    scaled = setting.objective.lipschitz * np.array(STRENGTHS)
    fits = Fits.of(scaled, floor, linear, moor=variant.moor, folded=variant.selection)
    return plan, fits, Table(setting.loss, *data)


def one_by_one(setting, plan, variant, fits, seed, rows, retrieval):
    for strength in fits.strength:
        alone = Napp(
            NappTarget("lasso", float(strength)),
            moor=variant.moor,
            selection=variant.selection,
            truncation=0.0 if variant.truncated else -math.inf,
            retrieval=retrieval,
            accept_unproved=True,
        )
        yield alone.release(plan, [rows], Entropy.seeded(seed))


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("regression", SETTINGS)
def test_fits_together_are_fits_one_by_one(regression, name):
    setting, variant, seed = SETTINGS[regression], VARIANTS[name], 7
    budget = Pure(1) if regression == "logistic" else Approx("0.6", "0.001")
    data = setting.simulate(200, generator(3))
    rows = enclose(*data, setting.objective.row_norm, 0.0)
    plan, fits, table = batch_of(setting, budget, variant, seed, data)
    path = table.follow(fits)
    values = settled(path, 1e-8)
    half = float(budget.epsilon) / 2
    shares = retrieved(fits, Shares(half, half), path)
    again, gained = table.recycle(fits, Shares(half, half), path)
    recycled = settled(again, 1e-8)
    returns = one_by_one(setting, plan, variant, fits, seed, rows, "return")
    for k, release in enumerate(returns):
        np.testing.assert_allclose(values[k], release.value, atol=1e-6)
        assert shares[k] == pytest.approx(release.extras["retrieved"][0], abs=1e-6)
    rounds = one_by_one(setting, plan, variant, fits, seed, rows, "recycle")
    for k, release in enumerate(rounds):
        np.testing.assert_allclose(recycled[k], release.value, atol=1e-6)
        assert gained[k] == pytest.approx(release.extras["retrieved"][0], abs=1e-6)
