"""What is fixed before the first of two looks."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from confide.data.rows.in_memory import Rows
from confide.mechanisms.base import Calibration
from confide.mechanisms.release import NoiseRecord
from confide.noise import Noise
from confide.objectives import Objective
from confide.privacy import Approx, Budget, Pure, Zcdp, gaussian_epsilon

FIRST = " of the first look"


@dataclass(frozen=True, slots=True)
class AdaptiveCalibration(Calibration):
    """The second look, with the first, and with what both cost together.

    ``alone`` is what the second look may spend on its own, ``precise`` the share of every
    budget that pays for solvers; ``alone`` is None where only the sum of both looks is
    known.
    """

    first: Calibration = field(kw_only=True)
    alone: Budget | None = field(kw_only=True)
    precise: Fraction = field(kw_only=True)

    def records(self, added_to: str) -> tuple[NoiseRecord, ...]:
        """Describe the noises of both looks, the second first."""
        before = [
            NoiseRecord(one.kind, one.scale, one.added_to + FIRST)
            for one in self.first.records(added_to)
        ]
        return (*Calibration.records(self, added_to), *before)

    def check_rows(self, rows: Rows) -> None:
        """Refuse by shape, before anything is spent, what no solver could certify."""
        self.first.check_rows(rows)
        Calibration.check_rows(self, rows)

    def retrieved(self, noise: Noise) -> float:
        """Return how much of a half set aside for the log-determinant noise got back.

        Half of what the second look may spend (both looks, where only their sum is known)
        is what a split in advance sets aside; the cost of the noise alone is compared with
        the other half. It is 1 if the log-determinant costs nothing, 0 if it costs a half.
        """
        pairs: list[tuple[Objective, Noise]] = [(self.objective, noise)]
        if self.alone is None:
            pairs.append((self.first.objective, self.first.noise))
        whole = self.budget if self.alone is None else self.alone
        main = whole.share(1 - self.precise)
        reach = [self.neighbours.shifts * one.lipschitz / n.scale for one, n in pairs]
        shift = math.sqrt(self.copies) * math.hypot(*reach)
        match main:
            case Pure(epsilon=epsilon):
                used = self.copies * reach[0] / float(epsilon)
            case Zcdp(rho=rho):
                used = shift**2 / (2 * float(rho))
            case Approx(epsilon=epsilon, delta=delta):
                used = gaussian_epsilon(shift, float(delta)) / float(epsilon)
        return min(1.0, max(0.0, 2 * used - 1))
