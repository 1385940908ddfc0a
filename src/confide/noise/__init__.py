"""Entropy and noise: the only room that draws random numbers."""

from confide.noise.choice import (
    Gumbel,
    Laplace,
    assigned,
    choose,
    largest,
    shuffled,
)
from confide.noise.entropy import Entropy, Generator, generator
from confide.noise.samplers import (
    Gaussian,
    Noise,
    Spherical,
    SphericalLaplace,
    truncated_gaussian,
    truncated_spherical_laplace,
)

__all__ = [
    "Entropy",
    "Gaussian",
    "Generator",
    "Gumbel",
    "Laplace",
    "Noise",
    "Spherical",
    "SphericalLaplace",
    "assigned",
    "choose",
    "generator",
    "largest",
    "shuffled",
    "truncated_gaussian",
    "truncated_spherical_laplace",
]
