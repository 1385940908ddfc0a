"""Entropy and noise: the only room that draws random numbers."""

from confide.noise.entropy import Entropy, Generator, generator
from confide.noise.samplers import (
    Gaussian,
    Laplace,
    Noise,
    RoundNoise,
    SphericalLaplace,
    truncated_gaussian,
    truncated_spherical_laplace,
)

__all__ = [
    "Entropy",
    "Gaussian",
    "Generator",
    "Laplace",
    "Noise",
    "RoundNoise",
    "SphericalLaplace",
    "generator",
    "truncated_gaussian",
    "truncated_spherical_laplace",
]
