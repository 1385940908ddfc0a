"""Model inversion of private warfarin models: better models betray more."""

import numpy as np
import pytest

from confide import LinearRegression, Pure, Schema
from confide.attacks import evaluate_inversion
from confide.data import load_warfarin
from confide.studies.regression.population import dose_bands
from confide.tuning import PrivateSearch


@pytest.fixture(scope="module")
def halves(data_folder):
    frame = load_warfarin()
    order = np.random.default_rng(0).permutation(len(frame))
    return frame.iloc[order[:3000]], frame.iloc[order[3000:]]


def outcomes(halves, epsilon, seeds=5):
    train, test = halves
    schema = Schema.bundled("warfarin")
    found = []
    for seed in range(seeds):
        model = LinearRegression(Pure(epsilon), schema=schema, random_state=seed).fit(train)
        report = evaluate_inversion(model, test, "vkorc1")
        bands = dose_bands(model.predict(test), test["dose"].to_numpy())
        found.append((report.attack, report.constant, report.without_model, bands.within))
    return np.mean(found, axis=0)


def test_accuracy_of_attack_and_dose_grow_with_the_budget(halves):
    weak, strong = outcomes(halves, 0.1), outcomes(halves, 100)
    assert weak[1:3] == pytest.approx([0.369, 0.518], abs=0.002)
    assert weak[0] < 0.48
    assert strong[0] == pytest.approx(0.588, abs=0.01)
    assert strong[3] == pytest.approx(0.448, abs=0.01)
    assert weak[3] < 0.38


def test_a_search_avoids_the_ridge_that_ruins_the_model(halves):
    train, test = halves
    model = LinearRegression(schema=Schema.bundled("warfarin"))
    search = PrivateSearch(model, {"l2": [60.0, 1e5]}, Pure(2), random_state=0)
    search.fit(train)
    assert search.best_params_ == {"l2": 60.0}
    assert search.score(test, test["dose"]) > 0.1
