"""mpADMM: linearised ADMM whose model is perturbed after every sweep over the rows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

from confide._types import Array
from confide.data.rows.in_memory import Rows
from confide.errors import InvalidParameter, Unproved
from confide.mechanisms.base import (
    CONVEX_PENALTY,
    EXACT_PROX,
    MECHANISMS,
    SEVERAL_RESPONSES,
    Need,
    check_needs,
    checked_copies,
    make_release,
)
from confide.mechanisms.gradient.calibration import (
    GradientCalibration,
    GradientSettings,
    calibrate_gradients,
    check_gradient_settings,
)
from confide.mechanisms.gradient.iterations import (
    Admm,
    StepRule,
    Steps,
    check_averaged,
    least_scale,
)
from confide.mechanisms.gradient.mpadmm_published import (
    ThreeNoises,
    published_verdict,
    refusal,
)
from confide.mechanisms.gradient.noisy_gradient import clipped_gradient, noisy_gradient
from confide.mechanisms.gradient.ssadmm import PAGE, SUM, check_rho
from confide.mechanisms.release import Release
from confide.noise import Entropy
from confide.objectives import Objective
from confide.privacy import Budget, Neighbours, Status, effective_status

Noised = Literal["x", "all"]
Sensitivity = Literal["corrected", "published"]


@MECHANISMS.register("mpadmm")
@dataclass(frozen=True, slots=True)
class MpAdmm:
    """Linearised ADMM over all rows; after every step the model gets noise.

    Guarantee    (epsilon, delta) or zCDP; add-remove or replace-one.
    Public       loss, penalty, constraint, bounds, budget, and every setting below; under
                 replace-one the number of rows.
    Private      rows and targets, and under add-remove their number.
    Noise        Gaussian; with ``noise`` = "x" on x alone, which is noise on the sum of
                 gradients, for the step to x is a public affine map of that sum; z and y
                 are computed from the noisy x. With "all", as published, on x, z and y.
    Sensitivity  of x, with N rows: clip/(N/step + N·rho + l2), twice that under
                 replace-one.
    Proof        docs/proofs/gradient-mechanisms.md

    ``sensitivity`` = "published" leaves the factor step out, for the three noises. That is
    too little noise where step > 1: REFUTED, and refused without ``accept_unproved``. The
    published ``rho`` is `mpadmm_published.PUBLISHED_RHO`, the published rule a "constant"
    step. The other settings are those of `SsAdmm`.
    """

    steps: int = 300
    rho: float = 0.02
    step: float | None = None
    rule: StepRule | None = None
    noise: Noised = "x"
    sensitivity: Sensitivity = "corrected"
    clip: float | None = None
    averaged: float = 0.0
    return_z: bool | None = None
    ridge: float | None = None
    count_share: Fraction = Fraction(1, 50)
    accept_unproved: bool = False

    name: ClassVar[str] = "mpadmm"
    needs: ClassVar[tuple[Need, ...]] = (EXACT_PROX, SEVERAL_RESPONSES)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        PAGE + "noisy-gradient",
        PAGE + "mpadmm-sensitivity",
    )

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        check_rho(self.rho)
        Steps(self.rule, self.step)
        check_averaged(self.averaged)
        if self.noise not in ("x", "all"):
            raise InvalidParameter("noise", "'x' or 'all'", self.noise)
        if self.sensitivity not in ("corrected", "published"):
            must = "'corrected' or 'published'"
            raise InvalidParameter("sensitivity", must, self.sensitivity)
        if self.sensitivity == "published" and (self.noise == "x" or self.step is None):
            raise InvalidParameter(
                "sensitivity",
                "'corrected' unless noise='all' and step is given",
                "published",
            )
        if self.status is Status.REFUTED and not self.accept_unproved:
            raise Unproved(refusal(self.step or 0.0))

    @property
    def status(self) -> Status:
        """That of its theorem, or REFUTED where the published sensitivity is too small."""
        found = Status.PROVED
        if self.sensitivity == "published":
            found = published_verdict(self.step or 0.0)
        return effective_status(self.theorem, found)[0]

    @property
    def theorem(self) -> str:
        """What proves it: noise on x alone is noise on gradients."""
        return PAGE + ("mpadmm-sensitivity" if self.noise == "all" else "noisy-gradient")

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> GradientCalibration:
        """Choose the noise of every step from public facts alone."""
        check_needs(type(self).__name__, self.needs, objective)
        whole = self.noise == "all"
        if whole:
            check_needs(
                "MpAdmm(noise='all')", (CONVEX_PENALTY, SEVERAL_RESPONSES), objective
            )
        Steps(self.rule, self.step).longest(objective)
        settings = GradientSettings.of(
            self, self.theorem, 2 + self.rho**2 if whole else 1.0
        )
        found = calibrate_gradients(settings, objective, budget, neighbours, copies)
        if self.status is not Status.REFUTED:
            return found
        return replace(found, status=self.status, events=())

    def release(
        self, calibration: GradientCalibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Iterate every task under its own noise and release the results together."""
        values: list[Array] = []
        scale = 0.0
        for rows in checked_copies(tasks, calibration.copies):
            least = least_scale(calibration.objective, 1 / self.rho)
            scale = scale or calibration.scale(rows, entropy, least)
            values.append(self._one(calibration, rows, entropy, scale))
        where = SUM if self.noise == "x" else SUM + ", carried over to x, z and y"
        return make_release(calibration, values, entropy, where)

    def _one(
        self,
        calibration: GradientCalibration,
        rows: Rows,
        entropy: Entropy,
        scale: float,
    ) -> Array:
        objective = calibration.objective
        admm = Admm(objective, self.rho, self.averaged, self.return_z)
        rule = Steps(self.rule, self.step)
        sizes = rule.of(calibration, scale)
        if self.noise == "x":
            gradient = noisy_gradient(calibration, rows, entropy)
            return admm.run(gradient, sizes, scale)
        exact = clipped_gradient(objective.loss, rows, calibration.clip)
        published = self.sensitivity == "published"
        noises = ThreeNoises(admm, calibration.noise, published=published)
        return noises.run(exact, sizes, scale, entropy)
