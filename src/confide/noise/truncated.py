"""Truncated noise from published studies, which gives no privacy guarantee."""

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from confide._types import Array
from confide.errors import InvalidParameter
from confide.noise.entropy import Entropy


def truncated_gaussian(
    scale: float, floor: float, dimension: int, entropy: Entropy
) -> Array:
    """Draw a Gaussian vector conditioned on every coordinate exceeding ``floor`` <= 0.

    This perturbation is not private, because a change of one record shifts its support. It
    serves only to reproduce published work.

    Parameters
    ----------
    scale : float
        The standard deviation before truncation.
    floor : float
        The lower limit of the coordinates, at most 0.
    dimension : int
        The number of coordinates.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    array
        The vector.

    Examples
    --------
    >>> from confide.noise import Entropy, truncated_gaussian
    >>> noise = truncated_gaussian(1.0, -0.5, 100, Entropy.system())
    >>> bool((noise > -0.5).all())
    True
    """
    _check_floor(floor)
    below = ndtr(floor / scale)
    tail = 1 - below
    return np.asarray(-scale * ndtri(tail * entropy.uniform(dimension)))


def truncated_spherical_laplace(
    scale: float, floor: float, dimension: int, entropy: Entropy
) -> Array:
    """Draw a spherical Laplace vector with every coordinate above ``floor`` <= 0.

    A spherical Laplace vector is Gaussian with a random variance that is distributed as
    Gamma((p+1)/2, 2·scale²). Given the variance, the coordinates are independent, so the
    condition only reweights the distribution of the variance. The variance is drawn by
    inversion on a fine grid. The perturbation is not private; see `truncated_gaussian`.

    Parameters
    ----------
    scale : float
        The scale before truncation.
    floor : float
        The lower limit of the coordinates, at most 0.
    dimension : int
        The number of coordinates.
    entropy : Entropy
        The source of randomness.

    Returns
    -------
    array
        The vector.

    Examples
    --------
    >>> from confide.noise import Entropy, truncated_spherical_laplace
    >>> noise = truncated_spherical_laplace(1.0, -0.5, 20, Entropy.system())
    >>> bool((noise > -0.5).all())
    True
    """
    _check_floor(floor)
    shape = (dimension + 1) / 2
    span = np.linspace(-12.0, 4.0, 20_001) + np.log(2 * scale**2 * shape)
    variance = np.exp(span)
    log_weight = (
        shape * span
        - variance / (2 * scale**2)
        + dimension * log_ndtr(-floor / np.sqrt(variance))
    )
    mass = np.cumsum(np.exp(log_weight - log_weight.max()))
    level = float(entropy.uniform(1)[0])
    drawn = float(np.exp(np.interp(level * mass[-1], mass, span)))
    return truncated_gaussian(np.sqrt(drawn), floor, dimension, entropy)


def _check_floor(floor: float) -> None:
    if not floor <= 0:
        raise InvalidParameter("floor", "at most 0", floor)
