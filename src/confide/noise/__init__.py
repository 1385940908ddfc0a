"""Entropy and noise: the only room that draws random numbers."""

from confide.noise.coins import poisson_subsets
from confide.noise.entropy import Entropy, Generator, RandomState, generator
from confide.noise.random_choice import (
    Gumbel,
    assign_groups,
    choose,
    fixed_size_subsets,
    largest,
    permutation,
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
    "assign_groups",
    "choose",
    "fixed_size_subsets",
    "generator",
    "largest",
    "permutation",
    "poisson_subsets",
    "truncated_gaussian",
    "truncated_spherical_laplace",
]
