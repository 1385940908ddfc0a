"""The law of linear functions: tests and regions against their exact distributions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from confide.inference import CoefficientLaw, TableLines, TermLines
from confide.mechanisms.release import PlainLaw, Uncertainty


def law_of(sampling, privacy, kind="gaussian", dimension=None, shift=None, pull=0.0):
    size = len(sampling)
    error = Uncertainty(sampling, privacy, kind, dimension or size)
    plain = PlainLaw(
        np.zeros(size) if shift is None else shift,
        error,
        np.zeros((size, 0)),
        np.zeros((size, 0)),
        pull,
    )
    return CoefficientLaw(np.zeros(size), error, plain, held=False)


def test_a_wald_test_of_normal_errors_is_a_chi_square():
    covariance = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    law = law_of(covariance / 2, covariance / 2)
    offsets = np.array([1.0, -2.0, 1.5])
    found = law.wald(np.eye(3), offsets)
    expected = offsets @ np.linalg.solve(covariance, offsets)
    assert found.statistic == pytest.approx(expected)
    assert found.p_value == pytest.approx(chi2.sf(expected, 3))
    twice = np.vstack([np.eye(3), np.eye(3)[:1] - np.eye(3)[1:2]])
    again = law.wald(twice, np.append(offsets, 3.0))
    assert again.degrees == 3
    assert again.statistic == pytest.approx(expected)


def test_weak_directions_cost_degrees_of_freedom():
    law = law_of(np.eye(3), np.eye(3))
    weak = replace(law.plain, weak=np.eye(3)[:, 2:])
    law = replace(law, plain=weak)
    found = law.wald(np.eye(3), np.ones(3))
    assert (found.degrees, found.rank) == (2, 3)
    assert law.wald(np.eye(3)[2:], np.ones(1)).statistic is None
    held = replace(law, held=True)
    assert held.wald(np.eye(3), np.ones(3)).statistic is None


def test_the_size_of_tests_with_spherical_noise():
    """100,000 drawn errors; a size of 5 % is off by more than 0.3 % once in 10,000."""
    from confide.noise import Entropy, SphericalLaplace

    entropy = Entropy.seeded(3)
    size, count = 5, 100_000
    root = np.diag([1.0, 0.5, 2.0, 1.5, 1.0])
    noise = SphericalLaplace(1.0).draw_many(count, size, entropy) @ root
    noise += entropy.normal(count * size).reshape(count, size)
    law = law_of(np.eye(size), root @ root, "spherical-laplace")
    for directions in (np.eye(5)[:1], np.eye(5)[1:4], np.eye(5)):
        inverse = np.linalg.inv(law.covariance(directions))
        drawn = noise @ directions.T
        statistics = np.einsum("ij,jk,ik->i", drawn, inverse, drawn)
        limits = np.quantile(statistics, 0.95)
        place = int(np.argmin(np.abs(statistics - limits)))
        found = law.wald(directions, drawn[place])
        assert found.p_value == pytest.approx(0.05, abs=0.004)
    joint = law.joint_quantile(np.eye(size), 0.95)
    scores = np.abs(noise) / law.standard_errors(np.eye(size))
    assert (scores.max(axis=1) <= joint).mean() == pytest.approx(0.95, abs=0.006)


def test_a_bias_of_the_shift_is_allowed_for():
    law = law_of(np.eye(2), np.eye(2) * 1e-12, shift=np.array([4.0, 0.0]), pull=0.2)
    line = np.eye(2)[:1]
    half = law.half_lengths(line, 0.95)[0]
    assert law.p_values(line, np.array([half]))[0] == pytest.approx(0.05)
    assert law.wald(line, np.array([half])).p_value == pytest.approx(0.05)
    assert law.wald(line, np.array([0.3])).p_value == pytest.approx(1.0)


NAMES = st.sampled_from(["age", "education-num", "a b", "region=x - y", "u", "(intercept)"])
WEIGHTS = st.integers(-9, 9).filter(bool)


@given(st.lists(st.tuples(NAMES, WEIGHTS), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_contrasts_are_read_as_they_are_written(parts):
    lines = ("age", "education-num", "a b", "region=x - y", "u", "(intercept)")
    terms = TableLines(
        lines, tuple(TermLines(name, (k,)) for k, name in enumerate(lines[:-1]))
    )
    text = " ".join(f"{'-' if w < 0 else '+'} {abs(w)}*{name}" for name, w in parts)
    expected = np.zeros(len(lines))
    for name, weight in parts:
        expected[lines.index(name)] += weight
    np.testing.assert_allclose(terms.weights(text), expected)
