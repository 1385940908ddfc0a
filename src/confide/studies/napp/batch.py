"""NAPP's iterations for many fits to the same rows at once.

`mechanisms.published.Napp` makes a single fit. A study makes dozens of fits to every
simulated table, one per variant and Λ. As all of them use the same rows, their linear
predictors and gradients are computed as products of two matrices. Fits that have converged
are not iterated further.
"""

from dataclasses import dataclass, replace

import numpy as np

from confide._types import AnyArray, Array
from confide.errors import NotSolved
from confide.mechanisms.published import NappTarget
from confide.mechanisms.published.napp.iterations import NappPath
from confide.mechanisms.published.napp.rows import NOTHING, Shares, retrievable
from confide.objectives import Loss

LASSO = NappTarget("lasso", 1.0)
ITERATIONS = 80
REST = 1e-9
"""Largest relative change of a coefficient over two iterations in a converged fit."""
GONE = 1e-10
"""Coefficients below this absolute value that still shrink are treated as converged."""
TOLERANCE = 1e-7
STALE, STALE_IF_WIDE = 0.01, 0.5
"""A Hessian is outdated if a step is longer than this multiple of the previous step.

The second value is for many columns, for which Hessians are expensive.
"""
MOST_STEPS = 500
FEW_COLUMNS = 32


@dataclass(frozen=True, slots=True)
class Fits:
    """A batch of lasso fits by NAPP; every array has one entry or row per fit.

    ``strength`` is Λ, ``floor`` is Λ₀, and ``linear`` is the noise b. ``moor`` tells
    whether a weight is the maximum of Λ/|θ| and Λ₀ (MOOR) instead of their sum, and
    ``folded`` whether the linear term is ⟨b,|θ|⟩ instead of ⟨b,θ⟩. ``least`` is a lower
    bound on the weights after recycling, as in `Weighting`.
    """

    strength: Array
    floor: Array
    moor: AnyArray
    folded: AnyArray
    linear: Array
    least: Array

    @classmethod
    def of(
        cls, strengths: Array, floor: float, linear: Array, *, moor: bool, folded: bool
    ) -> "Fits":
        """Return the fits of one variant over a grid of Λ, with the same noise."""
        count = len(strengths)
        return cls(
            np.asarray(strengths, dtype=np.float64),
            np.full(count, floor),
            np.full(count, moor),
            np.full(count, folded),
            np.tile(linear, (count, 1)),
            np.zeros(count),
        )

    def __len__(self) -> int:
        return len(self.strength)

    def take(self, chosen: AnyArray) -> "Fits":
        """Return the selected fits."""
        return Fits(*(getattr(self, name)[chosen] for name in FIELDS))

    def first(self) -> Array:
        """Return the initial weights wⱼ of the penalties wⱼθⱼ²."""
        return self._over(np.full(self.linear.shape, LASSO.first()))

    def after(self, theta: Array) -> Array:
        """Return the weights wⱼ for the iteration after the coefficients ``theta``."""
        return self._over(self.strength[:, None] * LASSO.at(theta))

    def _over(self, weight: Array) -> Array:
        floor, least = self.floor[:, None], self.least[:, None]
        alone = np.maximum(weight, floor)
        return np.maximum(np.where(self.moor[:, None], alone, weight + floor), least)


FIELDS = ("strength", "floor", "moor", "folded", "linear", "least")


def together(parts: list[Fits]) -> Fits:
    """Combine several batches of fits into one."""
    return Fits(*(np.concatenate([getattr(p, name) for p in parts]) for name in FIELDS))


class BatchTable:
    """A table and a loss, with methods that compute batches of fits."""

    def __init__(self, loss: Loss, features: Array, target: Array) -> None:
        self._loss, self._x, self._y = loss, np.ascontiguousarray(features), target
        self._t = np.ascontiguousarray(self._x.T)
        size = self._x.shape[1]
        self._upper = np.triu_indices(size)
        self._products: Array | None = None
        self._stale = STALE_IF_WIDE
        if size <= FEW_COLUMNS:
            self._stale = STALE
            self._products = self._x[:, self._upper[0]] * self._x[:, self._upper[1]]

    def follow(self, fits: Fits, iterations: int = ITERATIONS) -> NappPath:
        """Iterate all fits; the arrays of the returned path have one row per fit.

        With the linear term ⟨b,|θ|⟩, the signs of coefficients may alternate for ever. The
        problem of an iteration then resembles the one two iterations earlier, and is solved
        from that solution. For this reason, odd and even iterations have separate Hessians.
        """
        count, size = fits.linear.shape
        theta, before = np.zeros((count, size)), np.zeros((count, size))
        weights = fits.first()
        grams = np.zeros((2 * count, size, size))
        live = np.arange(count)
        for done in range(1, iterations + 1):
            some, here, last = fits.take(live), theta[live], before[live]
            pull = some.linear
            if done > 1:
                weights[live] = some.after(here)
                pull = np.where(some.folded[:, None], np.sign(here) * pull, pull)
                flips = some.folded & (here * last < 0).any(axis=1)
                here = np.where(flips[:, None], last, here)
            slots = live + count * (done % 2) * some.folded
            found = self._solve(grams, slots, weights[live], pull, here, fresh=done == 1)
            if done == 1:
                grams[:count] = grams[slots]
            before[live], theta[live] = theta[live], found
            if (iterations - done) % 2 == 0:
                live = live[~_at_rest(found, last)]
                if not live.size:
                    break
        return NappPath(theta, before, weights, iterations)

    def recycle(self, fits: Fits, shares: Shares, path: NappPath) -> tuple[NappPath, Array]:
        """Do one round of recycling (Algorithm 2); return the new path, and Δε by fit."""
        found = retrieved(fits, shares, path)
        again = np.flatnonzero(found > NOTHING * shares.curvature)
        if not again.size:
            return path, np.zeros(len(fits))
        some = fits.take(again)
        smaller = shares.noise / (shares.noise + found[again])
        fresh = self.follow(
            replace(
                some,
                linear=some.linear * smaller[:, None],
                least=path.weights[again].min(axis=1),
            )
        )
        whole = [path.theta.copy(), path.before.copy(), path.weights.copy()]
        parts = (fresh.theta, fresh.before, fresh.weights)
        for held, new in zip(whole, parts, strict=True):
            held[again] = new
        total = np.zeros(len(fits))
        total[again] = found[again]
        return NappPath(whole[0], whole[1], whole[2], path.iterations), total

    def _solve(
        self,
        grams: Array,
        which: AnyArray,
        weights: Array,
        pull: Array,
        start: Array,
        *,
        fresh: bool,
    ) -> Array:
        """Minimise Σφ + ⟨b,θ⟩ + Σ wⱼθⱼ² for every fit by Newton's method.

        The Hessian of the losses is reused until the steps no longer shrink fast enough,
        and steps are halved while they overshoot.
        """
        theta, double = start.copy(), 2 * weights
        todo = np.arange(len(which))
        gradient, margin, slope = self._gradient(theta, double, pull)
        if fresh:
            grams[which] = self._grams(margin, slope)
        old, shortened = np.full(len(which), np.inf), np.full(len(which), fresh)
        for _ in range(MOST_STEPS):
            move = _newton(grams[which[todo]], weights[todo], -gradient)
            length = np.abs(move).max(axis=1)
            stale = (length > self._stale * old) & ~shortened
            if stale.any():
                grams[which[todo[stale]]] = self._grams(margin[stale], slope[stale])
                again = grams[which[todo[stale]]]
                move[stale] = _newton(again, weights[todo[stale]], -gradient[stale])
                length = np.abs(move).max(axis=1)
            far = length > TOLERANCE * (1 + np.abs(theta[todo]).max(axis=1))
            theta[todo[~far]] += move[~far]
            if not far.any():
                return theta
            todo, move, old = todo[far], move[far], length[far]
            limit = -0.5 * (gradient[far] * move).sum(axis=1)
            gradient, margin, slope = self._gradient(
                theta[todo] + move, double[todo], pull[todo]
            )
            while True:
                over = (gradient * move).sum(axis=1) > limit
                if not over.any():
                    break
                move[over] /= 2
                gradient[over], margin[over], slope[over] = self._gradient(
                    theta[todo[over]] + move[over], double[todo[over]], pull[todo[over]]
                )
            theta[todo] += move
            shortened = np.zeros(len(todo), dtype=bool)
        raise NotSolved("a reweighted ridge problem of the study could not be solved")

    def _gradient(
        self, theta: Array, double: Array, pull: Array
    ) -> tuple[Array, Array, Array]:
        margin = theta @ self._t
        slope = self._loss.slope(margin, self._y)
        return slope @ self._x + pull + double * theta, margin, slope

    def _grams(self, margin: Array, slope: Array) -> Array:
        """Return the Hessian of the summed loss for each row of linear predictors."""
        curvature = self._loss.curvature_from_slope(slope, margin, self._y)
        if self._products is None:
            return np.stack([(self._t * one) @ self._x for one in curvature])
        sums = curvature @ self._products
        size = self._x.shape[1]
        stack = np.empty((len(curvature), size, size))
        first, second = self._upper
        stack[:, first, second] = sums
        stack[:, second, first] = sums
        return stack


def retrieved(fits: Fits, shares: Shares, path: NappPath) -> Array:
    """Return the budget Δε retrieved by each fit after a path, by the corrected Eq. 13."""
    pairs = zip(fits.floor, path.weights, strict=True)
    return np.array([retrievable(shares.curvature, floor, line) for floor, line in pairs])


def _at_rest(theta: Array, two_ago: Array) -> AnyArray:
    """Return for each fit whether it has converged, or alternates with period two."""
    size, earlier = np.abs(theta), np.abs(two_ago)
    settled = np.abs(theta - two_ago) <= REST * size
    return np.asarray((settled | ((size <= GONE) & (size <= earlier))).all(axis=1))


def _newton(grams: Array, weights: Array, right: Array) -> Array:
    """Solve (gram + 2·diag(w))·u = right, scaled to be stable for very large weights w."""
    scale = np.sqrt(0.5 / weights)
    matrix = grams * (scale[:, :, None] * scale[:, None, :])
    diagonal = np.arange(scale.shape[1])
    matrix[:, diagonal, diagonal] += 1.0
    return np.asarray(scale * np.linalg.solve(matrix, (scale * right)[:, :, None])[:, :, 0])
