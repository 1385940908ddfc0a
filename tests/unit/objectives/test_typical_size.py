"""The public guess of ‖θ‖ behind automatic ridges."""

import numpy as np
import pandas as pd
import pytest

from confide import Approx, LinearRegression, LogisticRegression, Pure, Schema
from confide.errors import InvalidParameter
from confide.mechanisms import ObjectivePerturbation
from confide.noise import generator
from confide.objectives import Clipped, Logistic, Objective, Squared
from confide.privacy import Neighbours

LINEAR = Objective(Clipped(Squared(), 1.0), 9, target_bound=1.0)


@pytest.mark.parametrize("budget", [Pure(1), Approx(1, 1e-6)], ids=str)
def test_an_automatic_ridge_does_not_depend_on_the_unit_of_the_rows(budget):
    draw = generator(1)
    rows = draw.uniform(-0.5, 0.5, (500, 3))
    labels = rows[:, 0] + draw.normal(0, 0.3, 500) > 0
    fits = [
        LogisticRegression(budget, row_norm=unit, random_state=0, classes=[False, True])
        .fit(unit * rows, labels)
        .coef_
        * unit
        for unit in (1.0, 100.0)
    ]
    np.testing.assert_allclose(fits[0], fits[1], rtol=1e-2)


def test_predictions_of_a_target_need_no_long_coefficients():
    assert LINEAR.typical_norm == pytest.approx(0.8 * 3)
    assert Objective(Logistic(), 9).typical_norm == 20
    assert Objective(Logistic(), 9, 4.0).typical_norm == 5


def test_many_levels_make_long_coefficients():
    seen = []

    class Watched(ObjectivePerturbation):
        def calibrate(self, objective, budget, neighbours, *, copies=1):
            seen.append(objective)
            return super().calibrate(objective, budget, neighbours, copies=copies)

    adult = Schema.bundled("adult")
    names = [column.name for column in adult.columns]
    table = pd.DataFrame([dict.fromkeys(names) | {adult.target.column: ">50K"}])
    LogisticRegression(Approx(1, 1e-6), schema=adult, mechanism=Watched()).rehearse(table)
    reach = np.linalg.norm(1 / adult.weights)
    assert seen[0].typical_norm == pytest.approx(np.log(2) * reach)
    assert 22 < np.log(2) * reach < 32


def test_a_guess_of_the_mechanism_comes_first():
    given = ObjectivePerturbation(coef_norm_guess=100.0)
    usual = ObjectivePerturbation()
    budget, relation = Approx(1, 1e-6), Neighbours.ADD_REMOVE
    bold = given.calibrate(LINEAR, budget, relation)
    plain = usual.calibrate(LINEAR, budget, relation)
    assert bold.objective.l2 < plain.objective.l2
    assert bold.noise.scale > plain.noise.scale


def test_a_small_linear_fit_is_not_drowned_by_a_bold_guess():
    """500 rows, 16 columns, noise of the fit against its signal; seeds 0 to 9."""
    errors = {}
    for guess in (None, 20.0):
        mechanism = ObjectivePerturbation(coef_norm_guess=guess)
        found = []
        for seed in range(10):
            draw = generator(seed)
            rows = draw.uniform(-0.25, 0.25, (500, 16))
            truth = np.linspace(1, -1, 16)
            target = rows @ truth + draw.normal(0, 0.1, 500)
            model = LinearRegression(
                Approx(1, 1e-6),
                target_bound=1.0,
                mechanism=mechanism,
                random_state=seed,
                row_norm=1.0,
            )
            fitted = model.fit(rows, target).predict(rows)
            found.append(np.mean((fitted - rows @ truth) ** 2))
        errors[guess] = np.mean(found)
    assert errors[None] < 0.5 * errors[20.0]


@pytest.mark.parametrize("guess", [0.0, -1.0, np.inf, np.nan])
def test_a_guess_is_a_length(guess):
    with pytest.raises(InvalidParameter, match="coef_norm_guess"):
        ObjectivePerturbation(coef_norm_guess=guess)
    with pytest.raises(InvalidParameter, match="coef_norm_guess"):
        Objective(Logistic(), 2, coef_norm_guess=guess)
