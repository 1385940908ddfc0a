"""The interface of noise distributions."""

from typing import ClassVar, Protocol

from confide._types import Array
from confide.noise.entropy import Entropy
from confide.noise.real_vector import RealVector


class Noise(Protocol):
    """A noise distribution over vectors, with a public scale.

    Examples
    --------
    All noise distributions have the same methods, such as the standard deviation:

    >>> from confide.noise import NOISES
    >>> [round(NOISES[kind](2.0).deviation(1), 2) for kind in sorted(NOISES)]
    [2.0, 2.57, 2.83, 2.83]
    """

    kind: ClassVar[str]

    @property
    def scale(self) -> float:
        """The scale parameter, which is published with a release."""
        ...

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers, exactly from the distribution in the proofs.

        Parameters
        ----------
        dimension : int
            The number of coordinates.
        entropy : Entropy
            The source of randomness.
        stretch : float or array, default 1.0
            A factor by which the scale is multiplied, or one factor per coordinate.

        Returns
        -------
        RealVector
            Numbers that can be computed to any precision.
        """
        ...

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector in doubles, for simulations; the result is not private.

        Parameters
        ----------
        dimension : int
            The number of coordinates.
        entropy : Entropy
            The source of randomness.

        Returns
        -------
        array
            The vector.
        """
        ...

    def expected_norm(self, dimension: int) -> float:
        """Return the mean Euclidean norm, or an upper bound close to it.

        Parameters
        ----------
        dimension : int
            The number of coordinates.

        Returns
        -------
        float
            The norm, in units of the quantity that receives the noise.
        """
        ...

    def deviation(self, dimension: int) -> float:
        """Return the standard deviation of one coordinate of a vector.

        Parameters
        ----------
        dimension : int
            The number of coordinates of the vector.

        Returns
        -------
        float
            The standard deviation.
        """
        ...


class RoundNoise(Noise, Protocol):
    """A noise distribution whose density depends only on the norm, such as `Gaussian`.

    A coordinate almost never exceeds ``reach`` times the scale in absolute value.

    Examples
    --------
    >>> from confide.noise import Gaussian, SphericalLaplace
    >>> [noise(1.0).chance_below(0.0) for noise in (Gaussian, SphericalLaplace)]
    [0.5, 0.5]
    """

    reach: ClassVar[float]

    def chance_below(self, value: float) -> float:
        """Return the distribution function in one dimension.

        Parameters
        ----------
        value : float
            The argument.

        Returns
        -------
        float
            The probability of a smaller value.
        """
        ...

    def draw_above(self, floor: float, dimension: int, entropy: Entropy) -> Array:
        """Draw a vector with all coordinates above ``floor``; the result is not private.

        Parameters
        ----------
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
        """
        ...

    def log_density(self, squared_norm: Array, dimension: int) -> Array:
        """Return the log density at points with given squared norms.

        Parameters
        ----------
        squared_norm : array
            The squared Euclidean norms.
        dimension : int
            The number of coordinates.

        Returns
        -------
        array
            One log density for each squared norm.
        """
        ...

    def variance_mixture(self, dimension: int) -> tuple[Array, Array]:
        """Return the distribution as a mixture of normals with different variances.

        Parameters
        ----------
        dimension : int
            The number of coordinates.

        Returns
        -------
        tuple of two arrays
            Variances divided by scale², and their probabilities.
        """
        ...

    def draw_many(self, count: int, dimension: int, entropy: Entropy) -> Array:
        """Draw vectors in doubles, one per row, for simulations.

        Parameters
        ----------
        count : int
            The number of vectors.
        dimension : int
            The number of coordinates.
        entropy : Entropy
            The source of randomness.

        Returns
        -------
        array
            One vector in each row.
        """
        ...
