"""Pseudorandom coins for rows or names, with the same result in every pass over a table.

A secret key of 256 bits is drawn once. SHAKE-256, applied to the key and the index of a
row, yields 64 bits for the row. Its coin shows heads if these bits, as a fraction, are
below the probability of heads: docs/proofs/evaluation.md#coins.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide._types import AnyArray
from confide.errors import InvalidParameter
from confide.noise.entropy import Entropy

KEY_WORDS = 4
BLOCK = 4096
"""The number of consecutive rows whose bits come from one hash."""


@dataclass(frozen=True, slots=True, repr=False)
class PlaceCoins:
    """Coins for rows or names, each with a probability of heads of ``limit``·2⁻⁶⁴.

    An object is created with `drawn`, and can be sent to other processes.

    Parameters
    ----------
    key : bytes
        A secret key of 256 bits.
    limit : int
        The probability of heads, times 2⁶⁴.

    Examples
    --------
    A row has the same coin in every pass, so it is always assigned to the same sample:

    >>> from confide.noise import Entropy, PlaceCoins
    >>> coins = PlaceCoins.drawn(0.25, Entropy.system())
    >>> first, second = (coins.heads(part=0, start=0, count=1000) for _ in range(2))
    >>> bool((first == second).all())
    True
    """

    key: bytes
    limit: int

    @classmethod
    def drawn(cls, share: float, entropy: Entropy) -> "PlaceCoins":
        """Draw a key for coins that show heads with a given probability.

        Parameters
        ----------
        share : float
            The probability of heads, between 0 and 1.
        entropy : Entropy
            The source of randomness.

        Returns
        -------
        PlaceCoins
            The coins.

        Raises
        ------
        InvalidParameter
            If the share is not between 0 and 1.
        """
        if not 0 < share < 1:
            raise InvalidParameter("share", "between 0 and 1", share)
        return cls(entropy.words(KEY_WORDS).tobytes(), int(share * 2.0**64))

    def heads(self, part: int, start: int, count: int) -> AnyArray:
        """Return whether each of several consecutive rows in a part of a table shows heads.

        Parameters
        ----------
        part : int
            The index of the part.
        start : int
            The index of the first row in the part.
        count : int
            The number of rows.

        Returns
        -------
        array of bool
            True for heads.
        """
        first, last = start // BLOCK, (start + max(count, 1) - 1) // BLOCK
        words = np.concatenate(
            [self._words(b"place", part, block) for block in range(first, last + 1)]
        )
        begin = start - first * BLOCK
        return np.asarray(words[begin : begin + count] < np.uint64(self.limit))

    def heads_of(self, names: Sequence[str]) -> AnyArray:
        """Return whether each name shows heads; equal names have the same coin.

        Parameters
        ----------
        names : sequence of str
            Names, such as identifiers of persons.

        Returns
        -------
        array of bool
            True for heads.
        """
        known: dict[str, bool] = {}
        for name in names:
            if name not in known:
                text = self.key + b"name" + name.encode("utf-8", "surrogatepass")
                word = int.from_bytes(hashlib.shake_256(text).digest(8), "little")
                known[name] = word < self.limit
        return np.array([known[name] for name in names], dtype=bool)

    def _words(self, kind: bytes, part: int, block: int) -> AnyArray:
        text = self.key + kind + part.to_bytes(8, "little") + block.to_bytes(8, "little")
        return np.frombuffer(hashlib.shake_256(text).digest(8 * BLOCK), dtype="<u8")
