"""What every kind of noise offers."""

from typing import ClassVar, Protocol

from confide._types import Array
from confide.noise.entropy import Entropy
from confide.noise.real_vector import RealVector


class Noise(Protocol):
    """A distribution over vectors with a public scale: what every kind of noise offers.

    Examples
    --------
    Every kind answers the same questions, here for the standard deviation at a scale of 2:

    >>> from confide.noise import NOISES
    >>> [round(NOISES[kind](2.0).deviation(1), 2) for kind in sorted(NOISES)]
    [2.0, 2.57, 2.83, 2.83]
    """

    kind: ClassVar[str]

    @property
    def scale(self) -> float:
        """The number that a release publishes: a scale, or a standard deviation."""
        ...

    def sample(
        self, dimension: int, entropy: Entropy, stretch: float | Array = 1.0
    ) -> RealVector:
        """Draw one vector of real numbers from the distribution in the theorems.

        Parameters
        ----------
        dimension : int
            The number of coordinates.
        entropy : Entropy
            The source of randomness.
        stretch : float or array, default 1.0
            Factors of the scale, one for all coordinates or one for each.

        Returns
        -------
        RealVector
            Numbers that are known as closely as they are asked for.
        """
        ...

    def draw(self, dimension: int, entropy: Entropy) -> Array:
        """Draw one vector in doubles: for simulations, not private.

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
        """Return the mean Euclidean length, or a bound just above it.

        Parameters
        ----------
        dimension : int
            The number of coordinates.

        Returns
        -------
        float
            The length, in units of what the noise is added to.
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
    """A noise whose density depends on the length alone, such as `Gaussian`.

    ``reach`` is the number of scales from 0 that a coordinate hardly ever exceeds.

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
            A number.

        Returns
        -------
        float
            The probability of a smaller number.
        """
        ...

    def draw_above(self, floor: float, dimension: int, entropy: Entropy) -> Array:
        """Draw a vector whose coordinates all exceed ``floor`` <= 0: not private.

        Parameters
        ----------
        floor : float
            The least value of a coordinate, at most 0.
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
        """Return the log density at points with given squared lengths.

        Parameters
        ----------
        squared_norm : array
            The squared Euclidean lengths.
        dimension : int
            The number of coordinates.

        Returns
        -------
        array
            One logarithm for each length.
        """
        ...

    def variance_mixture(self, dimension: int) -> tuple[Array, Array]:
        """Return variances over scale² with probabilities, for a mixture of normals.

        Parameters
        ----------
        dimension : int
            The number of coordinates.

        Returns
        -------
        tuple of two arrays
            Variances and their probabilities.
        """
        ...

    def draw_many(self, count: int, dimension: int, entropy: Entropy) -> Array:
        """Draw vectors in doubles, one in every row: for simulations.

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
