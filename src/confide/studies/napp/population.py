"""The simulated tables of the NAPP paper (its table 4), and their public bounds.

Eight of the sixteen columns have nonzero coefficients. All methods use the same public
bounds, so they share the bound L on the gradient of a record and the bound on its
curvature. In the following list, slopes are derivatives of the loss with respect to the
linear predictor:

linear     rows of norm at most 1, |y| <= 1.7, slopes clipped at 1
Poisson    rows of norm at most 1, counts above 20 recorded as 20, slopes clipped at 10
logistic   rows of norm at most 2; slopes are at most 1 without clipping

The paper does not say how it bounds the slopes of linear and Poisson regression. Here 0.2 %
of the linear slopes are clipped at θ = 0, and none at the true coefficients. Of the counts,
2.7 % are recorded as 20, and 1.2 % of the Poisson slopes are clipped at the true
coefficients.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr, ndtri

from confide._types import Array
from confide.noise import Generator
from confide.objectives import Clipped, Logistic, Loss, Objective, Poisson, Squared

COLUMNS = 16
MATTER = 8
MOST_COUNT = 20.0
TEST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Setting:
    """One regression of the paper's table 4.

    ``reach`` bounds the absolute values of the 16 features, so rows have norm at most
    4·reach. ``first`` and ``last`` are the largest and the smallest nonzero coefficient,
    and ``sizes`` are the numbers of records.
    """

    loss: Loss
    reach: float
    first: float
    last: float
    sizes: tuple[int, int]
    target_bound: float | None = None

    @property
    def truth(self) -> Array:
        """The true coefficients."""
        return np.append(
            np.linspace(self.first, self.last, MATTER), np.zeros(COLUMNS - MATTER)
        )

    @property
    def objective(self) -> Objective:
        """The objective with its public bounds, without a penalty or ridge."""
        norm = float(np.sqrt(COLUMNS)) * self.reach
        return Objective(self.loss, COLUMNS, norm, target_bound=self.target_bound)

    @property
    def strengths(self) -> Array:
        """The grid of Λ, from 0.1 to 40 times the gradient bound L."""
        return self.objective.lipschitz * STRENGTHS

    def simulate(self, rows: int, rng: Generator) -> tuple[Array, Array]:
        """Simulate features and targets."""
        x = rng.uniform(-self.reach, self.reach, (rows, COLUMNS))
        margin = x @ self.truth
        match self.loss.targets:
            case "numbers":
                level = rng.uniform(ndtr(-2.0), ndtr(2.0), rows)
                return x, margin + 0.25 * ndtri(level)
            case "counts":
                counts = rng.poisson(np.exp(margin)).astype(float)
                return x, np.minimum(counts, MOST_COUNT)
            case _:
                return x, np.where(rng.random(rows) < expit(-margin), 1.0, -1.0)

    def errors(self, thetas: Array, x: Array, y: Array) -> Array:
        """Return the test error of each fit: mean squared error, or share misclassified."""
        margin = thetas @ x.T
        match self.loss.targets:
            case "numbers":
                return np.asarray(np.square(margin - y).mean(axis=1))
            case "counts":
                means = np.exp(np.minimum(margin, np.log(MOST_COUNT)))
                return np.asarray(np.square(means - y).mean(axis=1))
            case _:
                return np.asarray(((margin > 0) != (y > 0)).mean(axis=1))


STRENGTHS = np.geomspace(0.1, 40.0, 10)
SETTINGS = {
    "linear": Setting(Clipped(Squared(), 1.0), 0.25, 1.0, 0.2, (200, 500), 1.7),
    "Poisson": Setting(Clipped(Poisson(), 10.0), 0.25, 4.0, 3.5, (500, 1000), MOST_COUNT),
    "logistic": Setting(Logistic(), 0.5, 4.0, 3.5, (500, 1000)),
}
EPSILONS = (0.4, 0.6, 0.8, 1.0)
DELTA = 0.001
REPEATS = 500


def selection_rates(thetas: Array) -> tuple[Array, Array]:
    """Return the true and the false positive rate of each fit's selection of columns."""
    chosen = thetas != 0
    return chosen[:, :MATTER].mean(axis=1), chosen[:, MATTER:].mean(axis=1)
