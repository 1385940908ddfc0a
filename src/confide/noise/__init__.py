"""Entropy and noise: the only room that draws random numbers."""

from confide.noise.entropy import Entropy, Generator, generator
from confide.noise.random_choice import (
    Gumbel,
    assigned,
    choose,
    largest,
    shuffled,
)
from confide.noise.repetition_counts import TruncatedNegativeBinomial
from confide.noise.samplers import (
    Gaussian,
    Laplace,
    Noise,
    RoundNoise,
    SphericalLaplace,
    truncated_gaussian,
    truncated_spherical_laplace,
)
from confide.noise.subsampling import each_by_chance, of_equal_size

__all__ = [
    "Entropy",
    "Gaussian",
    "Generator",
    "Gumbel",
    "Laplace",
    "Noise",
    "RoundNoise",
    "SphericalLaplace",
    "TruncatedNegativeBinomial",
    "assigned",
    "choose",
    "each_by_chance",
    "generator",
    "largest",
    "of_equal_size",
    "shuffled",
    "truncated_gaussian",
    "truncated_spherical_laplace",
]
