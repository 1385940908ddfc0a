"""The contract of a noise distribution: draws must follow the stated distribution.

Draws come from a fixed seed, so that results never change. With another seed, a correct
distribution would be rejected with a probability of about 1e-6 per comparison. A standard
deviation that is wrong by 5 % is detected.
"""

import math
from typing import cast

import numpy as np
from scipy import integrate, special, stats

from confide._types import AnyArray, Array
from confide.errors import InvalidParameter
from confide.noise import NOISES, Entropy, Noise, RoundNoise
from confide.testing._expect import check_frozen, expect

FALSE_ALARM = 1e-6
DIMENSIONS = (1, 4)
VECTORS = 20_000
SAMPLES = 5_000
VECTORS_ABOVE = 1500
FARTHEST = 60.0
"""Limit of integration in standard deviations; the mass beyond is negligible."""
ROUND = ("chance_below", "draw_above", "log_density")


def check_noise(noise: Noise, *, centred: bool = True) -> None:
    """Assert that a noise satisfies the contract of `confide.noise.Noise`.

    If the noise has methods of `confide.noise.RoundNoise`, it must satisfy that contract
    too. Draws from fixed seeds are compared with the distribution; this takes some seconds.

    Parameters
    ----------
    noise : Noise
        The noise to check.
    centred : bool, default True
        False for noise whose mean is not 0, such as `confide.noise.Gumbel`.

    Raises
    ------
    AssertionError
        If a property of the contract fails; the message states which one, and where.

    Examples
    --------
    No error means that the contract is satisfied:

    >>> from confide.noise import Laplace
    >>> from confide.testing import check_noise
    >>> check_noise(Laplace(1.0))  # doctest: +SKIP
    """
    check_frozen(noise, "a noise")
    expect(0 < noise.scale < math.inf, "the scale must be positive", at=noise.scale)
    expect(
        NOISES.get(noise.kind, type(noise)) is type(noise),
        "the kind of a noise must not be registered for another class",
        at=noise.kind,
    )
    is_round = any(hasattr(noise, method) for method in ROUND)
    for dimension in DIMENSIONS:
        _check_source(noise, dimension)
        vectors = _draws(noise, dimension)
        _check_moments(noise, vectors, centred=centred)
        _check_moments(noise, _samples(noise, dimension), centred=centred)
        if is_round:
            _check_round(cast("RoundNoise", noise), vectors)


def _draws(noise: Noise, dimension: int) -> Array:
    entropy = Entropy.seeded(0)
    return np.array([noise.draw(dimension, entropy) for _ in range(VECTORS)])


def _samples(noise: Noise, dimension: int) -> Array:
    entropy = Entropy.seeded(0)
    return np.array([noise.sample(dimension, entropy).values for _ in range(SAMPLES)])


def _check_source(noise: Noise, dimension: int) -> None:
    """Check that the random words of ``Entropy`` are the only source of randomness."""
    first = noise.draw(dimension, Entropy.seeded(1))
    expect(
        first.shape == (dimension,) and np.isfinite(first).all(),
        "a draw must be a vector of finite numbers",
        at=first,
    )
    again, other = (noise.draw(dimension, Entropy.seeded(seed)) for seed in (1, 2))
    expect(
        np.array_equal(first, again),
        "the same random words must give the same draw: only Entropy may be random",
        at=(first, again),
    )
    expect(
        first != other,
        "different random words must change every coordinate of a draw",
        at=(first, other),
    )


def _check_moments(noise: Noise, vectors: Array, *, centred: bool) -> None:
    dimension = vectors.shape[1]
    deviation = noise.deviation(dimension)
    expect(
        0 < deviation < math.inf, "the standard deviation must be positive", at=deviation
    )
    for place, line in enumerate(vectors.T):
        if centred:
            expect(
                abs(_score(line, 0.0)) < _threshold(dimension),
                f"coordinate {place} of {dimension} must have mean 0",
                at=float(line.mean()),
            )
        squares = (line - (0.0 if centred else line.mean())) ** 2
        expect(
            abs(_score(squares, deviation**2)) < _threshold(dimension),
            f"coordinate {place} of {dimension} must have standard deviation {deviation:g}",
            at=float(np.sqrt(squares.mean())),
        )
    lengths, stated = np.linalg.norm(vectors, axis=1), noise.expected_norm(dimension)
    expect(
        _score(lengths, stated) < _threshold(1),
        f"the mean norm in {dimension} dimensions must not exceed expected_norm",
        at=(stated, float(lengths.mean())),
    )
    expect(
        _score(lengths**2, stated**2) > -_threshold(1),
        f"expected_norm in {dimension} dimensions must not exceed the root of the mean "
        "squared norm: a larger bound is unnecessarily loose",
        at=(stated, float(np.sqrt((lengths**2).mean()))),
    )


def _score(values: Array, mean: float) -> float:
    """Return the z-score of an average: its distance from a mean in standard errors."""
    error = float(values.std()) / math.sqrt(len(values))
    return (float(values.mean()) - mean) / max(error, 1e-300)


def _threshold(comparisons: int) -> float:
    return float(stats.norm.isf(FALSE_ALARM / (2 * comparisons)))


def _check_round(noise: RoundNoise, vectors: Array) -> None:
    dimension = vectors.shape[1]
    _check_density(noise, dimension)
    if dimension == 1:
        _check_line(noise, vectors[:, 0])
    else:
        _check_directions(vectors)
    _check_radii(noise, vectors)
    _check_above(noise, vectors)


def _check_radii(noise: RoundNoise, vectors: Array) -> None:
    dimension = vectors.shape[1]
    radii = np.linalg.norm(vectors, axis=1)
    grid = noise.deviation(dimension) * np.linspace(0, FARTHEST, 60_001)
    shells = _shell(noise, grid, dimension)
    chances = integrate.cumulative_trapezoid(shells, grid, initial=0.0)
    _expect_law(
        radii,
        lambda radius: np.interp(radius, grid, chances),
        f"norms in {dimension} dimensions must have the distribution of log_density",
    )


def _check_density(noise: RoundNoise, dimension: int) -> None:
    deviation = noise.deviation(dimension)

    def moment(power: int) -> float:
        def inside(ratio: float) -> float:
            shell = _shell(noise, np.array(ratio * deviation), dimension)
            return float(shell) * deviation * ratio**power

        return float(integrate.quad(inside, 0, FARTHEST, limit=400)[0])

    expect(
        math.isclose(moment(0), 1.0, rel_tol=1e-6),
        f"the density in {dimension} dimensions must integrate to 1",
        at=moment(0),
    )
    expect(
        math.isclose(moment(2), dimension, rel_tol=1e-6),
        f"the density in {dimension} dimensions must have the stated standard deviation",
        at=math.sqrt(moment(2) / dimension) * deviation,
    )


def _shell(noise: RoundNoise, radius: Array, dimension: int) -> Array:
    """Return the density of the norm of a draw at ``radius``."""
    sphere = 2 * math.pi ** (dimension / 2) / float(special.gamma(dimension / 2))
    density = np.exp(noise.log_density(radius**2, dimension))
    return np.asarray(sphere * radius ** (dimension - 1) * density)


def _check_line(noise: RoundNoise, drawn: Array) -> None:
    places = noise.deviation(1) * np.linspace(-8, 8, 161)
    chances = np.array([noise.chance_below(float(place)) for place in places])
    expect(
        (np.diff(chances) >= 0).all() and 0 <= chances[0] <= chances[-1] <= 1,
        "chance_below must rise from 0 to 1",
    )
    expect(
        np.abs(chances + chances[::-1] - 1) < 1e-12,
        "chance_below must be symmetric, because the noise is rotation-invariant",
    )
    _expect_law(drawn, np.vectorize(noise.chance_below), "draws must follow chance_below")


def _check_directions(vectors: Array) -> None:
    """Check that squared coordinates of normalised draws have a beta distribution."""
    dimension = vectors.shape[1]
    lengths = np.linalg.norm(vectors, axis=1)
    law = stats.beta(0.5, (dimension - 1) / 2)
    for axis in (np.eye(dimension)[0], np.full(dimension, dimension**-0.5)):
        _expect_law(
            (vectors @ axis / lengths) ** 2,
            law.cdf,
            "a RoundNoise must have no preferred direction",
        )


def _check_above(noise: RoundNoise, vectors: Array) -> None:
    """Compare ``draw_above`` with ordinary draws above the same lower bound."""
    dimension = vectors.shape[1]
    floor = -noise.deviation(dimension)
    entropy = Entropy.seeded(3)
    above = np.array(
        [noise.draw_above(floor, dimension, entropy) for _ in range(VECTORS_ABOVE)]
    )
    expect(
        above.shape == (VECTORS_ABOVE, dimension) and (above >= floor).all(),
        "draw_above must stay above its floor",
        at=floor,
    )
    kept = vectors[(vectors > floor).all(axis=1)]
    for mine, theirs in (
        (above[:, 0], kept[:, 0]),
        (np.linalg.norm(above, axis=1), np.linalg.norm(kept, axis=1)),
    ):
        expect(
            stats.ks_2samp(mine, theirs).pvalue > FALSE_ALARM,
            f"draw_above in {dimension} dimensions must have the distribution of the "
            "noise given that all coordinates exceed the floor",
            at=floor,
        )
    try:
        noise.draw_above(1.0, dimension, entropy)
    except InvalidParameter:
        return
    raise AssertionError("draw_above must reject a floor above 0")


def _expect_law(values: AnyArray, cdf: object, promise: str) -> None:
    chance = float(stats.kstest(values, cdf).pvalue)
    expect(chance > FALSE_ALARM, promise, at=f"a p-value of {chance:.1g}")
