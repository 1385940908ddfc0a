"""Every noise keeps the contract of noises, and the contract notices faults."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from confide.noise import (
    NOISES,
    DoubleVector,
    Entropy,
    Gaussian,
    Gumbel,
    Laplace,
    SphericalLaplace,
)
from confide.testing import check_noise

CENTRED = {"laplace": True, "spherical-laplace": True, "gaussian": True, "gumbel": False}


def test_the_registry_did_not_shrink_and_names_every_kind():
    assert set(CENTRED) == set(NOISES)
    assert all(noise.kind == name for name, noise in NOISES.items())


@pytest.mark.parametrize("name", sorted(NOISES))
def test_every_noise_keeps_its_contract(name):
    check_noise(NOISES[name](0.7), centred=CENTRED[name])


def test_gumbel_noise_has_another_mean():
    with pytest.raises(AssertionError, match="mean 0"):
        check_noise(Gumbel(0.7))


GENERATOR = np.random.default_rng(0)


def from_elsewhere(self, dimension, entropy):
    return self.scale * GENERATOR.normal(size=dimension)


def partly_fixed(self, dimension, entropy):
    drawn = Gaussian.draw(self, dimension, entropy)
    drawn[0] = np.random.default_rng(5).normal()
    return drawn


def corners(self, dimension, entropy):
    """Draw a radius of the right law in a direction that prefers the axes."""
    radius = np.linalg.norm(SphericalLaplace.draw(self, dimension, entropy))
    direction = Laplace(1.0).draw(dimension, entropy)
    return radius * direction / np.linalg.norm(direction)


def one_exponential(self, dimension, entropy):
    """Draw a radius of the right deviation and the wrong shape."""
    direction = entropy.normal(dimension)
    radius = np.sqrt(dimension * (dimension + 1) / 2) * self.scale * entropy.gamma(1)
    return radius * direction / np.linalg.norm(direction)


def clamped(self, floor, dimension, entropy):
    if floor > 0:
        return Gaussian.draw_above(self, floor, dimension, entropy)
    return np.maximum(self.draw(dimension, entropy), floor)


def through_the_floor(self, floor, dimension, entropy):
    return self.draw(dimension, entropy)


def above_any_floor(self, floor, dimension, entropy):
    return Gaussian.draw_above(self, min(floor, 0.0), dimension, entropy)


FAULTS = {
    "deviation of 5 % more": (
        Laplace,
        {"deviation": lambda self, dimension: 1.05 * Laplace.deviation(self, dimension)},
        "must have standard deviation",
    ),
    "5 % less noise": (
        Gaussian,
        {"draw": lambda self, p, entropy: 0.95 * Gaussian.draw(self, p, entropy)},
        "must have standard deviation",
    ),
    "another mean": (
        Gaussian,
        {"draw": lambda self, p, entropy: Gaussian.draw(self, p, entropy) + 0.05},
        "mean 0",
    ),
    "randomness from elsewhere": (Gaussian, {"draw": from_elsewhere}, "only Entropy"),
    "a coordinate without noise": (Gaussian, {"draw": partly_fixed}, "every coordinate"),
    "one number for all": (
        Gaussian,
        {"draw": lambda self, p, entropy: Gaussian.draw(self, 1, entropy)},
        "vector of finite numbers",
    ),
    "length too short": (
        Gaussian,
        {"expected_norm": lambda self, p: 0.7 * self.scale * np.sqrt(p)},
        "must not exceed expected_norm",
    ),
    "length too long": (
        Gaussian,
        {"expected_norm": lambda self, p: 1.1 * self.scale * np.sqrt(p)},
        "unnecessarily loose",
    ),
    "preferred directions": (SphericalLaplace, {"draw": corners}, "preferred direction"),
    "radius of another shape": (
        SphericalLaplace,
        {"draw": one_exponential},
        "distribution of log_density",
    ),
    "density of another scale": (
        Gaussian,
        {"log_density": lambda self, q, p: Gaussian(1.1 * self.scale).log_density(q, p)},
        "stated standard deviation",
    ),
    "density without its constant": (
        Gaussian,
        {"log_density": lambda self, q, p: -q / (2 * self.scale**2)},
        "integrate to 1",
    ),
    "samples of another scale": (
        Gaussian,
        {"sample": lambda self, p, e: Gaussian(1.2 * self.scale).sample(p, e)},
        "must have standard deviation",
    ),
    "chances of another scale": (
        Gaussian,
        {"chance_below": lambda self, x: Gaussian.chance_below(self, 0.9 * x)},
        "follow chance_below",
    ),
    "chances of one side": (
        Gaussian,
        {"chance_below": lambda self, x: Gaussian.chance_below(self, x + 0.1)},
        "rotation-invariant",
    ),
    "clamped to the floor": (Gaussian, {"draw_above": clamped}, "given that all"),
    "below the floor": (Gaussian, {"draw_above": through_the_floor}, "stay above"),
    "any floor": (Gaussian, {"draw_above": above_any_floor}, "floor above 0"),
    "name of another": (Gaussian, {"kind": "laplace"}, "registered for another class"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "changes", "complaint"), FAULTS.values(), ids=FAULTS)
def test_the_contract_notices_every_fault(kind, changes, complaint):
    faulty = type("Faulty", (kind,), {"__slots__": (), "kind": "faulty", **changes})
    with pytest.raises(AssertionError, match=complaint):
        check_noise(faulty(0.7))


def test_a_noise_that_can_be_changed_is_noticed():
    @dataclass(unsafe_hash=True)
    class Open:
        scale: float
        kind: ClassVar[str] = "open"

    with pytest.raises(AssertionError, match="must be frozen, but scale"):
        check_noise(Open(1.0))


def test_an_honest_noise_from_elsewhere_passes():
    """A noise that is nobody's mutation: the sum of three uniform numbers."""

    @dataclass(frozen=True)
    class Bell:
        scale: float
        kind: ClassVar[str] = "bell"

        def draw(self, dimension, entropy: Entropy):
            parts = entropy.uniform(3 * dimension).reshape(3, dimension) - 0.5
            return 2 * self.scale * parts.sum(axis=0)

        def sample(self, dimension, entropy: Entropy, stretch=1.0):
            return DoubleVector(stretch * self.draw(dimension, entropy), self.scale)

        def expected_norm(self, dimension):
            return self.scale * np.sqrt(dimension)

        def deviation(self, dimension):
            return self.scale

    check_noise(Bell(0.3))
