"""Planning of noisy gradient steps: the required noise and the cost in epsilon."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from confide.accounting import Method, epsilon_for, multiplier_for, sampling_for
from confide.accounting.loss_lattice import smallest_delta
from confide.errors import Described, InvalidParameter
from confide.privacy import Approx, Budget, Guarantee, Neighbours, Status, Zcdp
from confide.privacy.budgets import exact


@dataclass(frozen=True, slots=True)
class StepsPlan:
    """Noise required for a number of noisy gradient steps within a budget.

    Use `StepsPlan.of` to create a plan.

    Parameters
    ----------
    budget : Approx
        Budget of all steps together.
    steps : int
        Number of steps.
    rate : Fraction
        Share of the rows in each step.
    neighbours : Neighbours
        Neighbour relation to protect.
    multiplier : float
        Standard deviation of the noise, as a multiple of the sensitivity of a step's
        gradient.

    Examples
    --------
    A hundred steps over all rows at (1, 1e-6) need noise of 42 times the gradient norm:

    >>> from confide import Approx
    >>> from confide.planning import StepsPlan
    >>> plan = StepsPlan.of(Approx(1, 1e-6), 100, "1", "add-remove")
    >>> round(plan.multiplier)
    42
    """

    budget: Approx
    steps: int
    rate: Fraction
    neighbours: Neighbours
    multiplier: float

    @classmethod
    def of(cls, budget: Budget, steps: int, rate: str, neighbours: str) -> "StepsPlan":
        """Calibrate the noise for a number of steps.

        Parameters
        ----------
        budget : Approx
            Budget of all steps together.
        steps : int
            Number of steps.
        rate : str
            Share of the rows in each step, such as "0.01".
        neighbours : {"add-remove", "replace-one"}
            Neighbour relation to protect.

        Returns
        -------
        StepsPlan
            The plan.

        Raises
        ------
        InvalidParameter
            The budget has no delta, or a setting is not valid.
        """
        relation = Neighbours.of(neighbours)
        if not isinstance(budget, Approx):
            must = "an epsilon with a delta, to plan steps of gradient descent"
            got = "rho" if isinstance(budget, Zcdp) else "epsilon without delta"
            raise InvalidParameter("budget", must, Described(got))
        part = exact(rate, "rate")
        multiplier = multiplier_for(budget, steps, rate=part, neighbours=relation)
        return cls(budget, steps, part, relation, multiplier)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a fit with these steps."""
        kind = "noisy" if self.rate == 1 else "sampled"
        theorem = f"gradient-mechanisms.md#{kind}-gradient-exact"
        return Guarantee(self.budget, self.neighbours, Status.PROVED, theorem)

    def methods(self) -> tuple[Method, ...]:
        """Return the applicable accounting methods, with the tightest first.

        Returns
        -------
        tuple of str
            Names of the methods.
        """
        if self.rate == 1:
            return "gaussian", "renyi"
        found: tuple[Method, ...] = ("renyi",)
        if self.budget.delta >= smallest_delta(10 * self.steps):
            found = ("pld", *found)
        replacing = self.neighbours is Neighbours.REPLACE_ONE
        return (*found, "renyi-general") if replacing else found

    def grid(self, points: int) -> list[int]:
        """Return numbers of steps, evenly spaced on a log scale, for a plot.

        They range from 1 to ten times the planned number, which is included.

        Parameters
        ----------
        points : int
            Approximate number of points.

        Returns
        -------
        list of int
            Numbers of steps.
        """
        spread = np.geomspace(1, 10 * self.steps, points)
        return sorted({*(round(count) for count in spread), self.steps})

    def epsilon(self, steps: int, method: Method) -> float:
        """Return epsilon for a number of steps with the planned noise.

        Parameters
        ----------
        steps : int
            Number of steps.
        method : {"gaussian", "pld", "renyi", "renyi-general"}
            Accounting method.

        Returns
        -------
        float
            Epsilon at the planned delta.
        """
        return epsilon_for(
            self.multiplier,
            steps,
            self.budget.delta,
            rate=self.rate,
            sampling=sampling_for(self.neighbours),
            method=method,
        )
