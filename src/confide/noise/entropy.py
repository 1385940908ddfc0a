"""Sources of randomness: the operating system, or a seed for tests and studies.

This is the only module that uses a random number generator. Every draw is computed from
64-bit words. In a private release, each word comes directly from the operating system, so
there is no generator whose state could be recovered from published results.
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
    """Return a NumPy generator for simulated data and studies, never for a release.

    Anybody who knows or guesses the seed can repeat the draws.

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
    """A source of 64-bit random words, made with `system`, `seeded` or `of`.

    A source can be neither copied nor pickled: if two releases used the same words, their
    noise could be cancelled by subtraction.

    Parameters
    ----------
    words : callable
        A function that returns a requested number of random words, as an array of uint64.
    secret : bool
        False if the words can be reproduced from a seed; a release made from them is then
        not private.

    Examples
    --------
    Words from the operating system are secret, and words from a seed are not:

    >>> from confide.noise import Entropy
    >>> Entropy.system().secret, Entropy.seeded(1).secret
    (True, False)
    """

    words: Callable[[int], AnyArray]
    secret: bool

    @classmethod
    def system(cls) -> "Entropy":
        """Return a source of words from the operating system, after checking that it works.

        Returns
        -------
        Entropy
            A secret source.

        Raises
        ------
        NoRandomness
            If the operating system provides no random bits.
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
        """Return a reproducible source for tests and studies, never for a release.

        Parameters
        ----------
        seed : int, sequence of int or numpy.random.Generator
            Any seed that NumPy accepts.

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
        """Interpret ``random_state`` as scikit-learn does; None means the operating system.

        Parameters
        ----------
        random_state : int, sequence of int, generator, Entropy or None
            A seed or a source of randomness; None for a private release.

        Returns
        -------
        Entropy
            The source.

        Raises
        ------
        InvalidParameter
            If ``random_state`` is none of these.
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
            The number of draws.

        Returns
        -------
        array
            The numbers, as doubles.
        """
        drawn = (self.words(count).astype(np.float64) + 0.5) * 2.0**-64
        return np.minimum(drawn, 1 - 2.0**-53)

    def signs(self, count: int) -> Array:
        """Draw signs, +1 and −1 with equal probabilities.

        Parameters
        ----------
        count : int
            The number of draws.

        Returns
        -------
        array
            The signs.
        """
        return np.where(self.words(count) & np.uint64(1), 1.0, -1.0)

    def normal(self, count: int) -> Array:
        """Draw standard normal numbers, from half-normal quantiles and random signs.

        Parameters
        ----------
        count : int
            The number of draws.

        Returns
        -------
        array
            The numbers, as doubles.
        """
        return self.signs(count) * ndtri(self.uniform(count) / 2)

    def below(self, limit: int, count: int) -> AnyArray:
        """Draw integers from 0 to limit − 1 with exactly equal probabilities.

        Parameters
        ----------
        limit : int
            The number of possible results.
        count : int
            The number of draws.

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
"""Accepted types of ``random_state``. A seed or a generator makes a release not private."""
