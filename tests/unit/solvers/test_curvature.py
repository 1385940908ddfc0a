"""Curvature that steps teach: the compact form of BFGS against the update itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.solvers.curvature import BfgsCurvature

SIZE = 7


def taught(seed, steps):
    """Return a curvature that has seen steps on a quadratic, and the updates one by one."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(SIZE, SIZE))
    truth = half @ half.T + np.eye(SIZE)
    diagonal = np.diag(truth).copy()
    none = np.empty((0, SIZE))
    found, plain = BfgsCurvature(diagonal, none, none), np.diag(diagonal)
    for _ in range(steps):
        step = rng.normal(size=SIZE)
        change = truth @ step
        found, gradient = found.renew(None, None, (step, change), slow=False)
        assert gradient is None
        moved = plain @ step
        plain = plain - np.outer(moved, moved) / (step @ moved)
        plain += np.outer(change, change) / (step @ change)
    return found, plain, (step, change) if steps else None


@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_compact_form_is_the_update(seed, steps):
    found, plain, last = taught(seed, steps)
    product = np.column_stack([found @ column for column in np.eye(SIZE)])
    np.testing.assert_allclose(product, plain, rtol=1e-6, atol=1e-8 * np.abs(plain).max())
    if last is not None:
        np.testing.assert_allclose(found @ last[0], last[1], rtol=1e-6, atol=1e-6)


@given(st.integers(0, 10_000), st.integers(0, 6))
def test_the_scale_is_nowhere_smaller(seed, steps):
    found, plain, _ = taught(seed, steps)
    left = np.linalg.eigvalsh(np.diag(found.scale) - plain)
    assert left[0] >= -1e-9 * found.steepest
    assert found.steepest >= np.linalg.eigvalsh(plain)[-1] * (1 - 1e-9)


@pytest.mark.parametrize(
    "change", [np.zeros(SIZE), -np.ones(SIZE), 1e-12 * np.arange(SIZE)]
)
def test_a_step_without_curvature_teaches_nothing(change):
    found, _, _ = taught(1, 2)
    step = np.ones(SIZE) - np.arange(SIZE) * (change @ np.ones(SIZE) != 0)
    step = step if change @ step <= 0 else -step
    assert found.renew(None, None, (step, change), slow=True)[0] is found
