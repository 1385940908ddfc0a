"""Sources of randomness and noise: the only package that draws random numbers."""

from confide.noise.entropy import Entropy, Generator, RandomState, generator
from confide.noise.noise import Noise, RoundNoise
from confide.noise.place_coins import PlaceCoins
from confide.noise.random_choice import (
    SignedWeights,
    choose,
    choose_several,
    largest,
)
from confide.noise.real_vector import DoubleVector
from confide.noise.repetition_counts import TruncatedNegativeBinomial
from confide.noise.samplers import (
    NOISES,
    Gaussian,
    Gumbel,
    Laplace,
    SphericalLaplace,
)
from confide.noise.subsets import (
    assign_groups,
    fixed_size_subsets,
    poisson_subsets,
    shuffle,
)
from confide.noise.truncated import truncated_gaussian, truncated_spherical_laplace

__all__ = [
    "NOISES",
    "DoubleVector",
    "Entropy",
    "Gaussian",
    "Generator",
    "Gumbel",
    "Laplace",
    "Noise",
    "PlaceCoins",
    "RandomState",
    "RoundNoise",
    "SignedWeights",
    "SphericalLaplace",
    "TruncatedNegativeBinomial",
    "assign_groups",
    "choose",
    "choose_several",
    "fixed_size_subsets",
    "generator",
    "largest",
    "poisson_subsets",
    "shuffle",
    "truncated_gaussian",
    "truncated_spherical_laplace",
]
