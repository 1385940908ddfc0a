"""Black-box audits in twenty dimensions: claims hold, and wrong ones are refuted."""

import numpy as np
import pytest

from confide.attacks import gaussian_audit, threshold_audit
from confide.data import bound_rows
from confide.mechanisms import ObjectivePerturbation, OutputPerturbation
from confide.noise import Entropy, Gaussian
from confide.objectives import Logistic, Objective
from confide.privacy import Approx, Neighbours, Pure

DIMENSION = 20
RECORD = np.eye(DIMENSION)[:1]
NOBODY = np.zeros((1, DIMENSION))
ADD = Neighbours.ADD_REMOVE


def runs(mechanism, calibration, features, count, seed):
    """Release many times; report how far the record's direction was pulled."""
    rows = bound_rows(features, np.ones(1), 1.0, 0.0)
    entropy = Entropy.seeded(seed)
    values = [calibration.release([rows], entropy).value for _ in range(count)]
    return np.array(values) @ RECORD[0]


def worst_pair(mechanism, calibration, count):
    present = runs(mechanism, calibration, RECORD, count, 1)
    absent = runs(mechanism, calibration, NOBODY, count, 2)
    return present, absent


@pytest.mark.slow
def test_gaussian_objective_perturbation_in_twenty_dimensions():
    """False alarm 1 %: the bound may exceed the claim with that probability."""
    budget = Approx(1, 1e-6)
    mechanism = ObjectivePerturbation()
    calibration = mechanism.calibrate(Objective(Logistic(), DIMENSION), budget, ADD)
    present, absent = worst_pair(mechanism, calibration, 40_000)
    audit = gaussian_audit(present, absent, 1e-6, error=0.01)
    assert 0.5 < audit.epsilon <= 1.0


@pytest.mark.slow
def test_pure_output_perturbation_is_not_refuted():
    mechanism = OutputPerturbation()
    objective = Objective(Logistic(), DIMENSION, l2=1.0)
    calibration = mechanism.calibrate(objective, Pure(1), ADD)
    present, absent = worst_pair(mechanism, calibration, 10_000)
    assert threshold_audit(present, absent).epsilon <= 1.0


@pytest.mark.slow
def test_an_audit_refutes_noise_that_is_too_small():
    """The same audit with the claim overstated threefold, on the noise alone."""
    entropy = Entropy.seeded(5)
    noise = Gaussian(1.0)
    present = np.array([noise.draw(1, entropy)[0] for _ in range(20_000)]) + 1.0
    absent = np.array([noise.draw(1, entropy)[0] for _ in range(20_000)])
    truth = gaussian_audit(present, absent, 1e-6)
    assert 3.5 < truth.epsilon < 4.89  # a unit shift is (4.89, 1e-6)-DP at best
    assert threshold_audit(present, absent, 1e-6).epsilon > 1.0
