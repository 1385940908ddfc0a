"""Sources of randomness: the operating system, or a seed that leaves a mark.

This is the only file that touches a random number generator. Every draw is made from
64-bit words; in release mode each word comes straight from the operating system, so
there is no generator whose state could be recovered from what was published.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtri

from confide._types import AnyArray, Array
from confide.errors import InvalidParameter, NoRandomness, PrivacyLeak

Generator: TypeAlias = np.random.Generator


def generator(seed: int) -> Generator:
    """Return NumPy's generator: for simulated data and studies, never for a release.

    What is drawn from it can be drawn again by anybody who knows or guesses the seed.

    Parameters
    ----------
    seed : int
        The seed.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Examples
    --------
    Simulated data are the same in every run:

    >>> from confide.noise import generator
    >>> float(generator(0).normal()) == float(generator(0).normal())
    True
    """
    return np.random.default_rng(seed)


def _system_words(count: int) -> AnyArray:
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Entropy:
    """A source of 64-bit random words. Make one with `system`, `seeded` or `of`.

    A source can be neither copied nor pickled: two users of the same words could subtract
    their noise from each other.

    Parameters
    ----------
    words : callable
        Returns as many random words as it is asked for, as an array of uint64.
    secret : bool
        False if a seed can replay the words; a release made from them is not private.

    Examples
    --------
    Words of the operating system are secret, words from a seed are not:

    >>> from confide.noise import Entropy
    >>> Entropy.system().secret, Entropy.seeded(1).secret
    (True, False)
    """

    words: Callable[[int], AnyArray]
    secret: bool

    @classmethod
    def system(cls) -> "Entropy":
        """Take words from the operating system; if it has none, this fails at once.

        Returns
        -------
        Entropy
            A secret source.

        Raises
        ------
        NoRandomness
            If the operating system has no random bits.
        """
        try:
            os.urandom(1)
        except (NotImplementedError, OSError) as error:
            raise NoRandomness(
                "the operating system provides no random bits, and nothing can be "
                f"released without them ({error}). Nothing was drawn and nothing was "
                "spent."
            ) from error
        return cls(_system_words, secret=True)

    @classmethod
    def seeded(cls, seed: Any) -> "Entropy":
        """Take words that can be replayed: for tests and studies, never for a release.

        Parameters
        ----------
        seed : int, sequence of int or numpy.random.Generator
            What NumPy accepts as a seed.

        Returns
        -------
        Entropy
            A source that is not secret.
        """
        generator = np.random.default_rng(seed)

        def words(count: int) -> AnyArray:
            return generator.integers(0, 2**64, size=count, dtype=np.uint64)

        return cls(words, secret=False)

    @classmethod
    def of(cls, random_state: Any) -> "Entropy":
        """Read scikit-learn's ``random_state``; None means the operating system.

        Parameters
        ----------
        random_state : int, sequence of int, generator, Entropy or None
            A seed, or None for a private release.

        Returns
        -------
        Entropy
            The source.

        Raises
        ------
        InvalidParameter
            If it is none of these.
        """
        if random_state is None:
            return cls.system()
        if isinstance(random_state, Entropy):
            return random_state
        if isinstance(random_state, np.random.RandomState):
            return cls.seeded(random_state.randint(0, 2**31, size=8))
        try:
            return cls.seeded(random_state)
        except (TypeError, ValueError):
            raise InvalidParameter(
                "random_state",
                "None, a whole number or a NumPy generator",
                random_state,
                "Leave it at None for a private release.",
            ) from None

    def uniform(self, count: int) -> Array:
        """Draw numbers from the open interval (0, 1), with a fine resolution near 0.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        array
            The numbers, as doubles.
        """
        drawn = (self.words(count).astype(np.float64) + 0.5) * 2.0**-64
        return np.minimum(drawn, 1 - 2.0**-53)

    def signs(self, count: int) -> Array:
        """Draw +1 or −1, both equally likely.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        array
            The signs.
        """
        return np.where(self.words(count) & np.uint64(1), 1.0, -1.0)

    def normal(self, count: int) -> Array:
        """Draw standard normal numbers, by inversion of a half-normal and a fair sign.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        array
            The numbers, as doubles.
        """
        return self.signs(count) * ndtri(self.uniform(count) / 2)

    def below(self, limit: int, count: int) -> AnyArray:
        """Draw whole numbers from 0 to limit − 1, each exactly as likely as the others.

        Parameters
        ----------
        limit : int
            The number of possible results.
        count : int
            How many to draw.

        Returns
        -------
        array
            The numbers, as int64.
        """
        fair = 2**64 - 2**64 % limit
        words = self.words(count)
        while fair < 2**64 and (unfair := words >= np.uint64(fair)).any():
            words = np.where(unfair, self.words(count), words)
        return (words % np.uint64(limit)).astype(np.int64)

    def gamma(self, shape: int) -> float:
        """Draw one number from Gamma(shape, 1), with an integer shape.

        Parameters
        ----------
        shape : int
            The shape, 1 or more.

        Returns
        -------
        float
            The number.
        """
        return float(-np.log(self.uniform(shape)).sum())

    def __reduce__(self) -> tuple[Any, ...]:
        raise PrivacyLeak("a source of randomness cannot be copied or stored")


RandomState: TypeAlias = (
    int | Sequence[int] | Generator | np.random.RandomState | Entropy | None
)
"""What ``random_state`` may be; all but None make a release not private."""
