"""Entropy and noise: the only room that draws random numbers."""

from confide.noise.entropy import Entropy, Generator, generator
from confide.noise.samplers import (
    Gaussian,
    Noise,
    SphericalLaplace,
    truncated_gaussian,
    truncated_spherical_laplace,
)
from confide.noise.subsets import each_by_chance, of_equal_size

__all__ = [
    "Entropy",
    "Gaussian",
    "Generator",
    "Noise",
    "SphericalLaplace",
    "each_by_chance",
    "generator",
    "of_equal_size",
    "truncated_gaussian",
    "truncated_spherical_laplace",
]
