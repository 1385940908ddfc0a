"""`confide plan --steps`: what many noisy sums cost, before any of them is made."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from confide.accounting import Method, epsilon_for, multiplier_for, sampling_for
from confide.accounting.subsampling import smallest_delta
from confide.cli.output import console, print_json, print_table
from confide.errors import InvalidParameter
from confide.planning import plot_steps
from confide.privacy import Approx, Budget, Guarantee, Neighbours, Status, Zcdp
from confide.privacy.budgets import exact
from confide.reporting import guarantee_record

POINTS, DRAWN = 7, 13
NAMES: dict[Method, str] = {
    "gaussian": "exact",
    "pld": "loss distribution",
    "renyi": "Renyi, tight",
    "renyi-general": "Renyi, any mechanism",
}


@dataclass(frozen=True, slots=True)
class StepsPlan:
    """The noise that a number of steps needs, and what other numbers would cost with it."""

    budget: Approx
    steps: int
    rate: Fraction
    neighbours: Neighbours
    multiplier: float

    @classmethod
    def of(cls, budget: Budget, steps: int, rate: str, neighbours: str) -> "StepsPlan":
        """Calibrate; a table against steps needs a delta, so the budget has one."""
        relation = Neighbours.of(neighbours)
        if not isinstance(budget, Approx):
            kind = "zCDP" if isinstance(budget, Zcdp) else "pure"
            must = "--epsilon and --delta for a plan of steps"
            raise InvalidParameter("the budget", must, kind)
        part = exact(rate, "--rate")
        multiplier = multiplier_for(budget, steps, rate=part, neighbours=relation)
        return cls(budget, steps, part, relation, multiplier)

    @property
    def guarantee(self) -> Guarantee:
        """What a fit by such steps would promise."""
        kind = "noisy-gradient" if self.rate == 1 else "sampled-gradient"
        theorem = f"gradient-mechanisms.md#{kind}"
        return Guarantee(self.budget, self.neighbours, Status.PROVED, theorem)

    def methods(self) -> tuple[Method, ...]:
        """Return the methods that apply, the tightest first."""
        if self.rate == 1:
            return "gaussian", "renyi"
        found: tuple[Method, ...] = ("renyi",)
        if self.budget.delta >= smallest_delta(10 * self.steps):
            found = ("pld", *found)
        replacing = self.neighbours is Neighbours.REPLACE_ONE
        return (*found, "renyi-general") if replacing else found

    def grid(self, points: int) -> list[int]:
        """Return numbers of steps from 1 to ten times the planned one, it included."""
        spread = np.geomspace(1, 10 * self.steps, points)
        return sorted({*(round(count) for count in spread), self.steps})

    def epsilon(self, steps: int, method: Method) -> float:
        """Return what so many steps cost with the planned noise."""
        return epsilon_for(
            self.multiplier,
            steps,
            self.budget.delta,
            rate=self.rate,
            sampling=sampling_for(self.neighbours),
            method=method,
        )


def plan_steps(plan: StepsPlan, plot: Path | None, *, as_json: bool) -> None:
    """Print the multiplier and a table of epsilon against steps; draw it if wished."""
    table = [(count, plan.epsilon(count, "best")) for count in plan.grid(POINTS)]
    if plot is not None:
        _draw(plan, plot)
    if as_json:
        print_json(
            {
                "multiplier": plan.multiplier,
                "sampling": sampling_for(plan.neighbours),
                "guarantee": guarantee_record(plan.guarantee),
                "epsilon_by_steps": [
                    {"steps": count, "epsilon": epsilon} for count, epsilon in table
                ],
            }
        )
        return
    console.print(_words(plan), markup=False)
    console.print(f"\nThe same noise, at δ = {float(plan.budget.delta):g}:\n")
    print_table(
        ("steps", "ε"), [(f"{count:,}", f"{epsilon:.4g}") for count, epsilon in table]
    )
    if plot is not None:
        console.print(f"\nPicture written to {plot}.", markup=False)


def _words(plan: StepsPlan) -> str:
    records = "twice " if plan.neighbours is Neighbours.REPLACE_ONE else ""
    each = "sums over all rows"
    if plan.rate < 1:
        drawn = sampling_for(plan.neighbours).replace("poisson", "Poisson")
        each = f"batches of {float(plan.rate):.4g} of the rows ({drawn})"
    return (
        f"{plan.guarantee}\n"
        f"Steps        {plan.steps:,}, {each}\n"
        f"Noise        {plan.multiplier:.6g} times {records}the longest gradient, on every "
        "sum"
    )


def _draw(plan: StepsPlan, plot: Path) -> None:
    counts = plan.grid(DRAWN)
    curves = {
        NAMES[method]: [plan.epsilon(count, method) for count in counts]
        for method in plan.methods()
    }
    title = (
        f"noise {plan.multiplier:.4g}, rate {float(plan.rate):.4g}, "
        f"δ = {float(plan.budget.delta):g}, {plan.neighbours} neighbours"
    )
    axes = plot_steps(counts, curves, planned=plan.steps, title=title)
    axes.axhline(float(plan.budget.epsilon), color="0.5", lw=1, ls=":")
    axes.figure.savefig(plot, dpi=150)
