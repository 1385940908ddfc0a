"""The smallest eigenvalue of a Gram matrix, to the distance that docs/proofs states."""

import mpmath
import numpy as np
import pytest

from confide.mechanisms.statistics import adassp
from confide.mechanisms.statistics.adassp import eigenvalue_sensitivity, smallest_eigenvalue
from support.sums import squares

STATED = 13
UNIT = 2.0**-53
RNG = np.random.default_rng(0)


def gram_of(rows):
    rows = np.array(rows, dtype=float)
    return rows.T @ rows


def graded(size):
    return gram_of(RNG.normal(size=(20, size)) * 10.0 ** -np.arange(size))


GRAMS = {
    "nothing": np.zeros((3, 3)),
    "one": np.array([[0.7]]),
    "identity": 3.3 * np.eye(4),
    "of rank one": gram_of([[0.3, -0.4, 0.5, 0.1]]),
    "of rank two": gram_of(RNG.normal(size=(2, 5))),
    "graded": graded(6),
    "nearly singular": gram_of([[1, 1], [1, 1 + 2.0**-26]]),
    "many rows": gram_of(RNG.normal(size=(5000, 7))),
    "tiny": 1e-300 * graded(3),
    "below normal doubles": np.diag([5e-320, 3e-322]),
    "huge": 1e140 * graded(3),
}


def exact_smallest(gram):
    with mpmath.workdps(60):
        return min(mpmath.eigsy(mpmath.matrix(gram.tolist()), eigvals_only=True))


def check(gram):
    size = len(gram)
    with mpmath.workdps(60):
        off = abs(mpmath.mpf(smallest_eigenvalue(gram)) - exact_smallest(gram))
        allowed = STATED * (size + 8) * UNIT * mpmath.mpf(float(np.trace(gram)))
        assert off <= allowed + mpmath.mpf(10) ** -320, (float(off), float(allowed))


every_gram = pytest.mark.parametrize("gram", GRAMS.values(), ids=GRAMS)


@every_gram
def test_the_computed_eigenvalue_is_as_near_as_stated(gram):
    check(gram)


def failing(gram):
    raise np.linalg.LinAlgError


WRONG = {
    "zero": lambda gram: np.zeros(1),
    "the trace": lambda gram: [np.trace(gram)],
    "far below": lambda gram: [-1e9],
    "no number": lambda gram: [np.nan],
    "infinite": lambda gram: [np.inf],
    "no answer": failing,
}


@every_gram
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_it_is_so_whatever_a_library_says(monkeypatch, gram, wrong):
    monkeypatch.setattr(adassp.np.linalg, "eigvalsh", wrong)
    check(gram)


def test_believing_a_library_would_be_seen(monkeypatch):
    monkeypatch.setattr(adassp, "_guess", lambda gram: 0.5)
    answers = iter([True, False])
    monkeypatch.setattr(adassp, "_is_definite", lambda gram, shift: next(answers))
    with pytest.raises(AssertionError):
        check(GRAMS["identity"])


def test_a_bisection_that_ends_too_early_would_be_seen(monkeypatch):
    monkeypatch.setattr(adassp, "CERTIFIED", 1e6)
    monkeypatch.setattr(adassp, "_guess", lambda gram: 0.0)
    with pytest.raises(AssertionError):
        check(GRAMS["many rows"])


@pytest.mark.parametrize("size", [1, 2, 6])
def test_no_row_moves_the_computed_eigenvalue_further(size):
    objective = squares(size, 1.3)
    rows = RNG.normal(size=(4000, size))
    rows *= 1.3 / np.linalg.norm(rows, axis=1, keepdims=True)
    for k in range(30):
        with_row, without = gram_of(rows[k:]), gram_of(rows[k + 1 :])
        moved = smallest_eigenvalue(with_row) - smallest_eigenvalue(without)
        assert abs(moved) <= eigenvalue_sensitivity(objective)
    assert eigenvalue_sensitivity(objective) < 1.3**2 * 1.002
