"""Entropy and noise: the only room that draws random numbers."""

from confide.noise.entropy import Entropy, Generator, RandomState, generator
from confide.noise.random_choice import (
    Gumbel,
    assigned,
    choose,
    each_by_chance,
    largest,
    of_equal_size,
    shuffled,
)
from confide.noise.repetition_counts import TruncatedNegativeBinomial
from confide.noise.samplers import (
    NOISES,
    Gaussian,
    Laplace,
    Noise,
    RoundNoise,
    SphericalLaplace,
    truncated_gaussian,
    truncated_spherical_laplace,
)

__all__ = [
    "NOISES",
    "Entropy",
    "Gaussian",
    "Generator",
    "Gumbel",
    "Laplace",
    "Noise",
    "RandomState",
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
